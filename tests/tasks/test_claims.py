"""Texts that a season had first, hidden: a season of others that came later follows it until staff decide."""

import datetime as dt
from dataclasses import dataclass

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.core.instants import format_day
from scoring.results.board.visibility import (
    Audience,
    BoardVisibility,
    determine_board_visibility,
)
from tasks.delivery.notifications.wording import write_notification_text
from tasks.gold.content import compute_missing_gold_digests
from tasks.gold.gold_files import delete_gold
from tasks.gold.publishing import (
    MIN_SHARED_INSTANCES_TO_NOTIFY,
    compare_new_publications,
)
from tasks.gold.secrecy import (
    are_inputs_free_of_embargo,
    are_own_scores_visible_to_teams,
)
from tasks.models import (
    Claim,
    Gold,
    GoldOverlap,
    GoldPublication,
    Notification,
    Phase,
    Season,
)
from tasks.seasons.claims import decide_claim
from tasks.seasons.organisers import add_organiser
from tests import factories
from tests.api.conftest import API
from tests.api.sending import check, score
from tests.tasks.test_waiting_for_locks import while_waiting  # noqa: F401  (a fixture)
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

HOUR = dt.timedelta(hours=1)
SENTENCE = "shares texts with a season of another organiser; staff can say more"


def texts(first: int, last: int, answer: str = "1") -> list[list]:
    return [
        [f"D05-{number:04}", "3", [answer], "Method_Citation"]
        for number in range(first, last)
    ]


TEXTS = texts(0, MIN_SHARED_INSTANCES_TO_NOTIFY)
#: The same by somebody who guesses, and nothing is right.
GUESSES = texts(0, MIN_SHARED_INSTANCES_TO_NOTIFY, "4")


def make(title: str, *, is_public: bool = True, **fields) -> Phase:
    """A running phase without gold yet, in a season of its own organiser."""
    season = factories.make_season(
        organiser=factories.make_user(), title=title, is_public=is_public
    )
    task = factories.make_task(season=season, title=f"Task of {title}")
    return factories.make_phase(task=task, with_gold=False, **fields)


def publish(phase: Phase, citances) -> Gold:
    """As a site does it once the upload is committed."""
    gold = factories.make_gold(phase=phase, citances=citances, topics=["D01-0001"])
    compare_new_publications()
    return gold


def hiding(title: str, **fields) -> Phase:
    return make(title, **{"board": "nobody", "own_scores": "nothing", **fields})


def showing(title: str, **fields) -> Phase:
    return make(title, **{"board": "everyone", "own_scores": "scores", **fields})


def is_bound(phase: Phase) -> bool:
    phase = Phase.objects.select_related("task__season").get(pk=phase.pk)
    shows = determine_board_visibility(phase, Audience.PUBLIC) == BoardVisibility.SCORES
    assert shows == are_own_scores_visible_to_teams(phase)
    return not shows


@dataclass
class Pair:
    earlier: Phase
    later: Phase

    @property
    def claim(self) -> Claim:
        return Claim.objects.get(
            season=self.earlier.task.season, later=self.later.task.season
        )


@pytest.fixture
def pair() -> Pair:
    """The earlier one hides its gold; the later one shows all of the same texts, answered otherwise."""
    earlier, later = hiding("Earlier"), showing("Later")
    publish(earlier, TEXTS)
    publish(later, GUESSES)
    return Pair(earlier, later)


class TestWhatIsClaimed:
    def test_hidden_gold_of_a_public_season_claims_its_texts(self, pair):
        assert (pair.claim.state, is_bound(pair.later)) == ("binding", True)

    def test_the_earlier_season_is_not_bound(self):
        earlier, later = showing("Earlier", shows_instances=False), hiding("Later")
        publish(earlier, TEXTS)
        publish(later, TEXTS)
        assert not is_bound(earlier)

    def test_gold_that_is_given_out_claims_nothing(self):
        earlier = showing("Earlier", shows_instances=True, gold_is_public=True)
        later = showing("Later")
        publish(earlier, TEXTS)
        publish(later, TEXTS)
        assert not Claim.objects.exists()

    def test_a_draft_claims_nothing(self):
        draft, later = hiding("Draft", is_public=False), showing("Later")
        publish(draft, TEXTS)
        publish(later, TEXTS)
        assert not Claim.objects.exists()
        assert not is_bound(later)

    def test_a_draft_that_is_made_public_afterwards_is_the_later_one(self):
        draft, other = (
            hiding("Draft", is_public=False),
            showing("Other", shows_instances=False),
        )
        publish(draft, TEXTS)
        publish(other, TEXTS)
        Season.objects.update(is_public=True)
        compare_new_publications()
        assert not is_bound(other)
        assert list(Claim.objects.values_list("season__title", "later__title")) == [
            ("Other", "Draft")
        ]

    @pytest.mark.parametrize(
        ("shared", "is_claimed"),
        [
            (MIN_SHARED_INSTANCES_TO_NOTIFY - 1, False),
            (MIN_SHARED_INSTANCES_TO_NOTIFY, True),
        ],
    )
    def test_fewer_than_twenty_texts_are_not_claimed(self, shared, is_claimed):
        earlier, later = hiding("Earlier"), showing("Later")
        publish(earlier, texts(0, 30))
        publish(later, texts(30 - shared, 60))
        assert is_bound(later) == is_claimed

    @pytest.mark.parametrize(("size", "is_claimed"), [(401, False), (400, True)])
    def test_less_than_five_per_cent_of_the_smaller_set_is_not_claimed(
        self, size, is_claimed
    ):
        earlier, later = hiding("Earlier"), showing("Later")
        publish(earlier, texts(0, 500))
        publish(
            later,
            texts(
                500 - MIN_SHARED_INSTANCES_TO_NOTIFY,
                500 - MIN_SHARED_INSTANCES_TO_NOTIFY + size,
            ),
        )
        assert is_bound(later) == is_claimed

    def test_texts_that_another_season_had_given_out_before_are_not_claimed(self):
        public, earlier, later = showing("Public"), hiding("Earlier"), showing("Later")
        publish(public, texts(0, 30))
        publish(earlier, TEXTS)
        publish(later, TEXTS)
        assert not Claim.objects.filter(season=earlier.task.season).exists()

    def test_texts_that_somebody_gives_out_afterwards_stay_claimed(self, pair):
        """Else whoever has the texts would take a claim away."""
        leak, third = showing("Leak"), showing("Third")
        publish(leak, TEXTS)
        publish(third, TEXTS)
        assert is_bound(third)

    def test_what_is_claimed_is_the_same_whatever_is_answered(self):
        earlier, right, wrong = hiding("Earlier"), showing("Right"), showing("Wrong")
        publish(earlier, TEXTS)
        publish(right, TEXTS)
        publish(wrong, GUESSES)
        assert (is_bound(right), is_bound(wrong)) == (True, True)

    def test_seasons_of_the_same_organisers_claim_nothing_of_each_other(self):
        earlier = hiding("Earlier")
        season = factories.make_season(
            organiser=earlier.task.season.organisers.get().user
        )
        later = factories.make_phase(
            task=factories.make_task(season=season), with_gold=False
        )
        publish(earlier, TEXTS)
        publish(later, TEXTS)
        assert not Claim.objects.exists()

    def test_seasons_that_come_to_be_of_different_organisers_claim_what_is_hidden(
        self, django_capture_on_commit_callbacks
    ):
        earlier = hiding("Earlier")
        season = factories.make_season(
            organiser=earlier.task.season.organisers.get().user
        )
        fields = {"board": "everyone", "own_scores": "scores"}
        task = factories.make_task(season=season)
        later = factories.make_phase(task=task, with_gold=False, **fields)
        publish(earlier, TEXTS)
        publish(later, TEXTS)
        with django_capture_on_commit_callbacks(execute=True):
            add_organiser(season=season, user=factories.make_user(), by=None)
        assert Claim.objects.get().season == earlier.task.season
        assert is_bound(later)

    def test_gold_of_another_key_is_compared_once_all_is_read_by_the_present_one(
        self, settings
    ):
        earlier, later = hiding("Earlier"), showing("Later")
        publish(earlier, TEXTS)
        settings.SECRET_KEY = "another key " * 6
        publish(later, TEXTS)
        assert not is_bound(later)
        compute_missing_gold_digests()
        compare_new_publications()
        assert is_bound(later)


class TestWhoeverComesWithGuesses:
    """Somebody who has the texts before their season, or wants to be taken for the first."""

    def test_a_published_season_stays_as_it_is_when_they_publish_its_texts(self):
        published, rival = showing("Published", shows_instances=False), hiding("Rival")
        publish(published, TEXTS)
        publish(rival, TEXTS)
        assert not is_bound(published)

    def test_nor_does_new_gold_of_a_published_season_bind_it_whose_texts_they_had_published(
        self,
    ):
        published, rival = showing("Published"), hiding("Rival")
        publish(published, texts(100, 130))
        publish(rival, TEXTS)
        publish(published, [*texts(100, 130), *TEXTS])
        claim = Claim.objects.get(season=rival.task.season)
        assert (claim.state, is_bound(published)) == ("open", False)

    def test_nor_a_new_task_of_a_published_season(self):
        published, rival = showing("Published"), hiding("Rival")
        publish(published, texts(100, 130))
        publish(rival, TEXTS)
        task = factories.make_task(season=published.task.season)
        new = factories.make_phase(task=task, with_gold=False, board="everyone")
        publish(new, TEXTS)
        assert (Claim.objects.get().state, is_bound(new)) == ("open", False)

    def test_nor_once_its_first_version_is_deleted(self):
        published, rival = showing("Published"), hiding("Rival")
        first = publish(published, texts(100, 130))
        publish(rival, TEXTS)
        publish(published, texts(100, 131))
        delete_gold(gold=first, reason="An error.", by=factories.make_user())
        publish(published, [*texts(100, 131), *TEXTS])
        assert not is_bound(published)

    def test_a_draft_of_theirs_binds_nobody_even_once_it_was_public(self):
        rival, later = hiding("Rival"), showing("Later")
        publish(rival, TEXTS)
        publish(later, TEXTS)
        assert is_bound(later)
        Season.objects.filter(pk=rival.task.season_id).update(is_public=False)
        assert not is_bound(later)

    def test_a_running_board_keeps_its_rows_and_a_check_its_answer(self):
        published = showing("Published", shows_instances=False)
        publish(published, TEXTS)
        lead = factories.make_user()
        team = factories.make_team(season=published.task.season, lead=lead)
        answers = factories.run_bytes(topics=["D01-0001"], citances=TEXTS)
        score(factories.make_submission(phase=published, team=team, content=answers))
        rival = hiding(
            "Rival",
            opens=timezone.now() + 99 * HOUR,
            closes=timezone.now() + 999 * HOUR,
        )
        publish(rival, TEXTS)
        assert (
            len(
                Client().get(f"{API}/phases/{published.pk}/leaderboard/").json()["rows"]
            )
            == 1
        )
        client = Client()
        client.force_login(lead)
        assert check(client, published, answers).status_code == 200


class TestWhatTheLaterSeasonFollows:
    def test_board_and_own_scores_are_as_the_earlier_one_has_them(self, pair):
        assert is_bound(pair.later)
        Phase.objects.filter(pk=pair.earlier.pk).update(
            board="everyone", own_scores="scores"
        )
        assert not is_bound(pair.later)

    def test_nothing_is_kept_back_once_the_earlier_one_is_over(self, pair):
        Phase.objects.filter(pk=pair.earlier.pk).update(closes=timezone.now() - HOUR)
        assert not is_bound(pair.later)

    def test_its_inputs_are_given_out_when_those_of_the_earlier_one_are(self):
        opens = timezone.now() + 99 * HOUR
        earlier, later = (
            hiding("Earlier", opens=opens, closes=opens + HOUR),
            showing("Later"),
        )
        publish(earlier, TEXTS)
        publish(later, TEXTS)
        assert not are_inputs_free_of_embargo(
            Phase.objects.select_related("task__season").get(pk=later.pk)
        )
        lead = factories.make_user()
        factories.make_team(season=later.task.season, lead=lead)
        client = Client()
        client.force_login(lead)
        answer = check(
            client, later, factories.run_bytes(topics=["D01-0001"], citances=TEXTS)
        )
        assert (answer.status_code, answer.json()["detail"]) == (
            409,
            "The inputs are not released yet; runs are checked once they are.",
        )

    def test_a_version_without_the_texts_frees_its_board(self, pair):
        publish(pair.later, texts(100, 130))
        assert not is_bound(pair.later)

    def test_a_version_that_is_not_compared_yet_is_bound_as_the_one_before_it(
        self, pair
    ):
        factories.make_gold(
            phase=pair.later, citances=texts(100, 130), topics=["D01-0001"]
        )
        assert is_bound(pair.later)

    def test_its_organiser_cannot_let_out_what_is_claimed(self, pair):
        earlier = [
            [kind, pair.earlier.task_id, pair.earlier.split]
            for kind in ("own", "others")
        ]
        Phase.objects.filter(pk=pair.later.pk).update(let_out=earlier)
        assert is_bound(pair.later)

    def test_no_page_says_whose_texts_they_are_or_until_when_scores_are_kept_back(
        self, pair
    ):
        task, closes = pair.later.task, pair.earlier.closes + dt.timedelta(days=9)
        Phase.objects.filter(pk=pair.earlier.pk).update(closes=closes)
        page = text_of(
            Client().get(
                reverse("board", args=[task.season.slug, task.slug, pair.later.slug])
            )
        )
        assert "scores are withheld until the site's staff have decided" in page
        assert format_day(closes) not in page
        assert "Earlier" not in page

    def test_gold_read_anew_is_claimed_as_before(self, pair, settings):
        settings.SECRET_KEY = "another key " * 6
        assert compute_missing_gold_digests() == 2
        assert is_bound(pair.later)

    def test_a_kept_page_follows_a_decision(self, pair):
        task, client = pair.later.task, Client()
        where = reverse("board", args=[task.season.slug, task.slug, pair.later.slug])
        assert "withheld" in text_of(client.get(where))
        decide_claim(
            claim=pair.claim,
            decision="release",
            reason="Agreed.",
            by=factories.make_user(),
        )
        assert "withheld" not in text_of(client.get(where))


class TestWhatStaffDecide:
    @pytest.fixture
    def staff(self) -> Client:
        client = Client()
        client.force_login(factories.make_user(is_staff=True))
        return client

    def decide(self, staff, claim: Claim, decision: str, reason: str = "They agreed."):
        where = reverse("operate-claim-decide", args=[claim.pk])
        return staff.post(where, {"decision": decision, "reason": reason}, follow=True)

    def test_a_released_season_goes_by_its_own_settings(self, staff, pair):
        assert "Later is released" in text_of(self.decide(staff, pair.claim, "release"))
        assert not is_bound(pair.later)

    def test_it_stays_released_whatever_it_publishes(self, staff, pair):
        self.decide(staff, pair.claim, "release")
        publish(pair.later, [*GUESSES, *texts(50, 60)])
        assert not is_bound(pair.later)

    def test_a_season_can_be_bound_again(self, staff, pair):
        self.decide(staff, pair.claim, "release")
        self.decide(staff, pair.claim, "bind")
        assert is_bound(pair.later)

    def test_of_two_decisions_at_once_the_one_that_waited_holds(
        self,
        pair,
        while_waiting,  # noqa: F811
    ):
        by = factories.make_user(is_staff=True)

        def decide(decision: str) -> None:
            decide_claim(claim=pair.claim, decision=decision, reason="Agreed.", by=by)

        while_waiting(Claim, lambda: decide("release"))
        decide("bind")
        assert (pair.claim.state, is_bound(pair.later)) == ("binding", True)
        actions = find_history_of_place(pair.later.task.season).order_by("pk")
        assert list(actions.values_list("action", flat=True)) == [
            "claim-released",
            "claim-bound",
        ]

    def test_both_histories_have_the_reason_and_neither_names_the_other_season(
        self, staff, pair
    ):
        self.decide(staff, pair.claim, "release")
        for phase, other in ((pair.earlier, "Later"), (pair.later, "Earlier")):
            entry = find_history_of_place(phase.task.season).latest("pk")
            assert "They agreed." in entry.words
            assert other not in f"{entry.words} {entry.subject}"

    def test_nothing_is_decided_without_a_reason(self, staff, pair):
        self.decide(staff, pair.claim, "release", " ")
        assert pair.claim.state == "binding"

    def test_a_program_of_staff_decides_too(self, staff, pair):
        where = f"{API}/site/claims/{pair.claim.pk}/"
        made = staff.post(where, {"decision": "release", "reason": "They agreed."})
        assert (made.status_code, made.json()["state"]) == (200, "released")
        assert staff.get(f"{API}/site/claims/").json()["results"] == [made.json()]

    @pytest.mark.parametrize(
        "sent", [{"decision": "maybe", "reason": "x"}, {"decision": "bind"}]
    )
    def test_what_is_no_decision_is_refused(self, staff, pair, sent):
        assert (
            staff.post(f"{API}/site/claims/{pair.claim.pk}/", sent).status_code == 400
        )

    def test_the_page_has_the_whole_comparison(self, staff, pair):
        page = text_of(staff.get(reverse("operate-claims")))
        assert "Earlier, then Later" in page
        assert (
            f"shown alike and answered otherwise: {MIN_SHARED_INSTANCES_TO_NOTIFY}"
            in page
        )


class TestWhoIsTold:
    def told(self, phase: Phase) -> list[str]:
        person = phase.task.season.organisers.get().user
        return [
            write_notification_text(one).text
            for one in Notification.objects.filter(user=person, kind="texts-shared")
        ]

    def test_both_organisers_are_told_once_and_neither_of_the_other_season(self, pair):
        for phase, other in ((pair.earlier, "Later"), (pair.later, "Earlier")):
            [text] = self.told(phase)
            assert SENTENCE in text
            assert other not in text
            assert str(MIN_SHARED_INSTANCES_TO_NOTIFY) not in text

    def test_another_version_tells_nobody_anew(self, pair):
        publish(pair.later, [*GUESSES, *texts(50, 60)])
        assert [len(self.told(phase)) for phase in (pair.earlier, pair.later)] == [1, 1]

    def test_staff_are_told_that_they_may_decide(self):
        person = factories.make_user(is_staff=True)
        earlier, later = hiding("Earlier"), showing("Later")
        publish(earlier, TEXTS)
        publish(later, TEXTS)
        [message] = Notification.objects.filter(user=person)
        assert "Later came after Earlier" in write_notification_text(message).text

    def test_both_organisers_are_told_of_a_decision(self, pair):
        decide_claim(
            claim=pair.claim,
            decision="release",
            reason="Agreed.",
            by=factories.make_user(),
        )
        for phase in (pair.earlier, pair.later):
            assert "Agreed." in self.told(phase)[0]


class TestWhatOverlapsAtTheUpgrade:
    @pytest.fixture
    def upgraded(self) -> Pair:
        """Two seasons of before, as the migration leaves them."""
        earlier, later = hiding("Earlier"), showing("Later")
        for phase in (earlier, later):
            publish(phase, TEXTS if phase is earlier else GUESSES)
        Claim.objects.all().delete()
        Notification.objects.all().delete()
        GoldOverlap.objects.update(is_claimed=False)
        GoldPublication.objects.update(is_of_before=True, compared_at=None)
        assert compare_new_publications() == 2
        return Pair(earlier, later)

    def test_binds_nobody_until_staff_decide(self, upgraded):
        assert (upgraded.claim.state, is_bound(upgraded.later)) == ("open", False)
        decide_claim(
            claim=upgraded.claim,
            decision="bind",
            reason="They do.",
            by=factories.make_user(),
        )
        assert is_bound(upgraded.later)

    def test_is_told_to_both_organisers(self, upgraded):
        told = Notification.objects.filter(kind="texts-shared")
        people = [
            phase.task.season.organisers.get().user
            for phase in (upgraded.earlier, upgraded.later)
        ]
        assert {one.user for one in told} == set(people)

    def test_leaves_the_version_of_boards_as_it_is(self, upgraded):
        before = list(Phase.objects.values_list("version", "updated_at"))
        GoldPublication.objects.update(compared_at=None)
        compare_new_publications()
        assert list(Phase.objects.values_list("version", "updated_at")) == before

    def test_a_season_that_comes_after_the_upgrade_is_bound_by_one_of_before(
        self, upgraded
    ):
        new = showing("New")
        publish(new, TEXTS)
        assert is_bound(new)
