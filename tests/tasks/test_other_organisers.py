"""Seasons of other organisers that hold the same texts: neither reads the other's gold off anything."""

import datetime as dt
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.core.cache import caches
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from citeboard.ops.accounts import delete_account
from tasks.gold.content import compute_missing_gold_digests
from tasks.gold.secrecy import (
    ContentKind,
    are_own_scores_visible_to_teams,
    get_embargoes_of_phase,
)
from tasks.models import GoldOverlap, Phase, Season, Submission
from tasks.seasons.organisers import add_organiser, hand_over_season, remove_organiser
from tests import factories
from tests.api.conftest import API
from tests.api.sending import check, content, score
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

LATER = dt.datetime(2090, 1, 1, tzinfo=dt.UTC)
COUNT = 24
FACETS = ("Method_Citation", "Results_Citation")
#: A's gold: of every text the sentence and a facet that alternates.
SECRET = [
    [f"D05-{number:04}", "3", ["1"], FACETS[number % 2]] for number in range(COUNT)
]
#: The same texts by somebody who does not know the answers.
WRONG = [[*one[:2], ["4"], "Aim_Citation"] for one in SECRET]


def guessed(right: int) -> list[list]:
    """The same texts, the first ones answered as A has it."""
    return SECRET[:right] + WRONG[right:]


@dataclass
class Sides:
    """Two running phases with open boards, each of a season of its own organiser; `own` has a scored run."""

    own: Phase
    theirs: Phase
    run: Submission
    victim: Client
    rival: Client
    member: Client

    def rival_publishes(self, citances, tmp_path, address="", **fields):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        factories.write_corpus(
            folder / "corpus", citances=citances, topics=["D01-0001"]
        )
        archive = shutil.make_archive(str(folder / "gold"), "zip", folder / "corpus")
        upload = SimpleUploadedFile("gold.zip", Path(archive).read_bytes())
        where = f"{API}/tasks/{self.theirs.task.pk}/gold/{address}"
        return self.rival.post(
            where, {"file": upload, "reason": "A version.", **fields}
        )

    def page(self, client: Client, name: str):
        return client.get(reverse(name, args=[self.theirs.task.season.slug]))

    def board(self, client: Client):
        return client.get(f"{API}/phases/{self.own.pk}/leaderboard/")


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def sides() -> Sides:
    phases = []
    people = []
    for name in ("A", "B"):
        organiser = factories.make_user(name=f"Organiser of {name}")
        season = factories.make_season(organiser=organiser, title=f"Season {name}")
        task = factories.make_task(season=season, title=f"Task {name}")
        own_scores = {"board": "everyone", "own_scores": "scores"}
        phases.append(factories.make_phase(task=task, with_gold=False, **own_scores))
        people.append(organiser)
    own, theirs = phases
    factories.make_gold(phase=own, citances=SECRET, topics=["D01-0001"])
    lead = factories.make_user()
    team = factories.make_team(season=own.task.season, lead=lead)
    answers = factories.run_bytes(topics=["D01-0001"], citances=SECRET)
    run = factories.make_submission(phase=own, team=team, content=answers)
    score(run)
    return Sides(
        own, theirs, run, signed_in(people[0]), signed_in(people[1]), signed_in(lead)
    )


def told(sides: Sides, tmp_path, right: int) -> dict[str, str]:
    """All that the rival reads once so many guesses are right, without what differs with each version."""
    dry = sides.rival_publishes(guessed(right), tmp_path, address="?dry_run=true")
    assert dry.status_code == 200, dry.content
    made = sides.rival_publishes(guessed(right), tmp_path)
    assert made.status_code == 201, made.content
    found = {
        "dry run": str([step["shared"] for step in dry.json()["gold"]]),
        "json": str(
            [
                (one["shared"], one["known"])
                for one in sides.page(sides.rival, "organise-secrecy-json").json()[
                    "contents"
                ]
            ]
        ),
        "withheld": str(
            sides.rival.get(f"{API}/phases/{sides.theirs.pk}/").json()["kept_back"]
        ),
    }
    for name in ("organise-secrecy", "organise-gold", "organise"):
        page = text_of(sides.page(sides.rival, name))
        assert "in common" not in page
        assert "another season" not in page
        found[name] = str("withholds" in page)
    return found


def test_what_a_rival_reads_is_the_same_however_many_guesses_are_right(sides, tmp_path):
    """Sixty of sixty labels were read off the count in *Secrecy*, its JSON and a dry run by halving."""
    assert (
        told(sides, tmp_path, 0)
        == told(sides, tmp_path, 1)
        == told(sides, tmp_path, COUNT)
    )


def test_a_right_guess_hides_nothing_of_the_rival_s_own_season(sides):
    """A board that went dark told of each guess whether it was right."""
    Phase.objects.filter(pk=sides.own.pk).update(board="nobody", own_scores="nothing")
    factories.make_gold(phase=sides.theirs, citances=guessed(1), topics=["D01-0001"])
    theirs = Phase.objects.get(pk=sides.theirs.pk)
    assert [
        kind
        for kind in ContentKind
        if not get_embargoes_of_phase(theirs).is_free_of_embargo(kind)
    ] == []
    board = text_of(
        Client().get(
            reverse(
                "board", args=[theirs.task.season.slug, theirs.task.slug, theirs.slug]
            )
        )
    )
    assert "withholds scores" not in board


class TestSwitchingOff:
    @pytest.fixture
    def attacked(self, sides) -> Sides:
        """B hides everything, is a draft and opens in 2090, on gold with every right answer of A."""
        factories.make_gold(
            phase=sides.theirs, citances=guessed(COUNT), topics=["D01-0001"]
        )
        hidden = {
            "board": "nobody",
            "own_scores": "nothing",
            "opens": LATER,
            "closes": LATER + dt.timedelta(1),
        }
        Phase.objects.filter(pk=sides.theirs.pk).update(**hidden)
        Season.objects.filter(pk=sides.theirs.task.season_id).update(is_public=False)
        for cache in ("pages", "boards", "results"):
            caches[cache].clear()
        return sides

    def test_the_board_of_a_running_season_keeps_its_rows(self, attacked):
        board = attacked.board(Client()).json()
        assert (board["shows"], len(board["rows"])) == ("scores", 1)

    def test_a_team_goes_on_reading_its_own_scores(self, attacked):
        run = attacked.member.get(f"{API}/submissions/{attacked.run.pk}/").json()
        assert run["scores"]

    def test_a_check_of_a_run_goes_on_being_answered(self, attacked):
        answer = check(
            attacked.member,
            attacked.own,
            factories.run_bytes(topics=["D01-0001"], citances=SECRET),
        )
        assert (answer.status_code, b"2090" in answer.content) == (200, False)

    def test_the_inputs_go_on_being_given_out(self, attacked):
        task = attacked.own.task
        answer = Client().get(
            reverse("inputs", args=[task.season.slug, task.slug, attacked.own.slug])
        )
        assert answer.status_code == 200
        content(answer)

    def test_the_description_of_the_data_goes_on_being_there(self, attacked):
        task = attacked.own.task
        answer = Client().get(reverse("croissant", args=[task.season.slug, task.slug]))
        assert answer.status_code == 200

    def test_no_page_says_that_somebody_keeps_scores_back(self, attacked):
        task = attacked.own.task
        page = text_of(
            Client().get(
                reverse("board", args=[task.season.slug, task.slug, attacked.own.slug])
            )
        )
        assert "withholds scores" not in page

    def test_the_validator_of_a_kept_page_does_not_follow_what_the_rival_does(
        self, sides
    ):
        where = reverse(
            "board",
            args=[sides.own.task.season.slug, sides.own.task.slug, sides.own.slug],
        )
        before = Client().get(where)["ETag"]
        factories.make_gold(
            phase=sides.theirs, citances=guessed(COUNT), topics=["D01-0001"]
        )
        Phase.objects.filter(pk=sides.theirs.pk).update(board="nobody", version=9)
        assert Client().get(where)["ETag"] == before

    def test_runs_to_the_rival_s_phase_use_up_no_try(self, attacked):
        Phase.objects.filter(pk=attacked.own.pk).update(shares_tries=True)
        own = Phase.objects.get(pk=attacked.own.pk)
        assert list(Phase.objects.sharing_gold_with(own)) == [own]


def test_staff_read_the_whole_comparison_and_the_organiser_none(sides):
    factories.make_gold(phase=sides.theirs, citances=guessed(4), topics=["D01-0001"])
    words = "v1 has in common with Season A, Task A, test, v1: scored instances: 4"
    for name in ("organise-secrecy", "organise-gold"):
        assert words in text_of(
            sides.page(signed_in(factories.make_user(is_staff=True)), name)
        )
        assert "has in common" not in text_of(sides.page(sides.rival, name))


def test_who_organises_both_seasons_reads_the_comparison(sides):
    person = factories.make_user()
    for phase in (sides.own, sides.theirs):
        add_organiser(season=phase.task.season, user=person, by=None)
    factories.make_gold(phase=sides.theirs, citances=guessed(4), topics=["D01-0001"])
    assert "Season A, Task A" in text_of(
        sides.page(signed_in(person), "organise-secrecy")
    )
    # The other organiser of B may not read A's gold, and a file of JSON goes from hand to hand.
    assert (
        "Task A"
        not in sides.page(signed_in(person), "organise-secrecy-json").content.decode()
    )


class TestTheSameOrganisers:
    @pytest.fixture
    def hidden(self) -> Phase:
        organiser = factories.make_user()
        task = factories.make_task(season=factories.make_season(organiser=organiser))
        return factories.make_phase(task=task, board="nobody", own_scores="nothing")

    @pytest.fixture
    def shown(self, hidden) -> Phase:
        """An open board in another season of the organiser, on the same gold."""
        organiser = hidden.task.season.organisers.get().user
        task = factories.make_task(season=factories.make_season(organiser=organiser))
        return factories.make_phase(task=task, board="everyone")

    def is_free(self, phase: Phase) -> bool:
        return are_own_scores_visible_to_teams(Phase.objects.get(pk=phase.pk))

    def test_what_one_of_their_seasons_hides_no_other_shows(self, hidden, shown):
        assert not self.is_free(shown)

    def test_with_another_organiser_in_one_of_them_neither_has_an_effect_on_the_other(
        self, hidden, shown
    ):
        add_organiser(season=shown.task.season, user=factories.make_user(), by=None)
        assert self.is_free(shown)
        assert not GoldOverlap.objects.filter(binds=True).exists()

    def test_nor_once_that_organiser_has_gone(self, hidden, shown):
        stranger = factories.make_user()
        add_organiser(season=shown.task.season, user=stranger, by=None)
        remove_organiser(
            organiser=shown.task.season.organisers.get(user=stranger), by=None
        )
        assert self.is_free(shown)

    def test_a_helper_makes_no_difference(self, hidden, shown):
        add_organiser(
            season=shown.task.season, user=factories.make_user(), by=None, role="helper"
        )
        assert not self.is_free(shown)

    def test_gold_read_anew_binds_whom_it_bound(self, hidden, shown, settings):
        settings.SECRET_KEY = "another key " * 6
        assert compute_missing_gold_digests() == 2
        assert not self.is_free(shown)


class TestAGuessThatItsMakerLeavesToOthers:
    """A season that is handed over would tell by its board what the gold of its new organisers answers."""

    @pytest.fixture
    def guess(self, sides) -> Phase:
        factories.make_gold(
            phase=sides.theirs, citances=guessed(COUNT), topics=["D01-0001"]
        )
        Phase.objects.filter(pk=sides.own.pk).update(
            board="nobody", own_scores="nothing"
        )
        return sides.theirs

    def hidden_after_new_gold(self, sides, guess) -> bool:
        factories.make_gold(
            phase=sides.own,
            citances=[*SECRET, ["D09-0001", "3", ["1"], FACETS[0]]],
            topics=["D01-0001"],
        )
        return not are_own_scores_visible_to_teams(Phase.objects.get(pk=guess.pk))

    def test_is_not_compared_with_the_gold_of_who_is_given_the_season(
        self, sides, guess
    ):
        [rival] = [row.user for row in guess.task.season.organisers.all()]
        victim = sides.own.task.season.organisers.get().user
        hand_over_season(season=guess.task.season, to=victim, by=rival)
        assert are_own_scores_visible_to_teams(Phase.objects.get(pk=guess.pk))
        assert not self.hidden_after_new_gold(sides, guess)

    def test_is_not_compared_with_gold_of_staff_once_the_account_is_deleted(
        self, sides, guess
    ):
        delete_account(guess.task.season.organisers.get().user)
        sides.own.task.season.organisers.all().delete()
        assert not self.hidden_after_new_gold(sides, guess)

    def test_gold_of_both_that_came_while_its_maker_was_there_never_binds(
        self, sides, guess, settings
    ):
        [rival] = [row.user for row in guess.task.season.organisers.all()]
        hand_over_season(
            season=guess.task.season,
            to=sides.own.task.season.organisers.get().user,
            by=rival,
        )
        settings.SECRET_KEY = "another key " * 6
        compute_missing_gold_digests()
        assert not GoldOverlap.objects.filter(binds=True).exists()
