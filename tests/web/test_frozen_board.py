"""A frozen board shows others than organisers what stood on it then, and nothing that came later."""

import datetime as dt

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.core.refusals import ActionRefused
from scoring.models import Evaluation, FrozenBoard, ManualMeasure, ManualScore, Snapshot
from scoring.results.board.open_gold import may_download_gold
from scoring.results.board.snapshots import save_due_snapshots, save_frozen_boards
from scoring.worker.rescoring import rescore_run
from tasks.models import Organiser, Phase
from tasks.seasons.phase_acts import freeze_board_now, reveal_frozen, set_board_freeze
from tests import factories
from tests.access.scene import without_instants
from tests.scoring import boards

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
HOUR = dt.timedelta(hours=1)
BEFORE, LATER, NEWER = "0.6123", "0.9321", "0.7777"


@pytest.fixture
def ada():
    return factories.make_user()


@pytest.fixture
def phase(ada):
    """Frozen an hour ago: a run was scored two hours ago, a better one of the same team since."""
    now = timezone.now()
    phase = boards.make_phase(board="everyone", shows_instances=True)
    team = boards.make_team(phase, "Ada", ada)
    Phase.objects.update(frozen_from=now - HOUR)
    boards.scored_run(phase, team, float(BEFORE), system="early")
    Evaluation.objects.update(created_at=now - 2 * HOUR)
    phase.task.gold.update(created_at=now - 3 * HOUR)
    boards.scored_run(phase, team, float(LATER), system="late")
    phase.refresh_from_db()
    return phase


@pytest.fixture
def organiser(phase):
    found = factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=found)
    return found


def early(phase):
    return phase.submissions.get(system="early")


def late(phase):
    return phase.submissions.get(system="late")


def read(client, where: str) -> str:
    return without_instants(client.get(where).getvalue().decode())


def told(client, phase) -> list[tuple[bool, bool]]:
    """Whether page, file and program tell the earlier number, and the later one."""
    addresses = [boards.address("board", phase), boards.address("board-csv", phase)]
    addresses.append(reverse("api:leaderboard", args=[phase.pk]))
    bodies = [read(client, where) for where in addresses]
    return [(BEFORE in body, LATER in body) for body in bodies]


def test_visitors_and_teams_see_the_board_as_it_stood_and_organisers_as_it_stands(
    client, phase, organiser, ada
):
    assert told(client, phase) == [(True, False)] * 3
    client.force_login(ada)
    assert told(client, phase) == [(True, False)] * 3
    client.force_login(organiser)
    assert told(client, phase) == [(False, True)] * 3


def test_both_boards_say_which_they_are(client, phase, organiser):
    where = boards.address("board", phase)
    assert "as it stood" in read(client, where)
    client.force_login(organiser)
    assert "Live shadow board" in read(client, where)
    frozen = read(client, f"{where}?as=others")
    assert "Live shadow board" not in frozen
    assert BEFORE in frozen
    assert LATER not in frozen
    answer = client.get(
        reverse("api:leaderboard", args=[phase.pk]) + "?as=others"
    ).json()
    assert [row["system"] for row in answer["rows"]] == ["early"]
    assert answer["frozen_at"] is not None


def test_it_is_frozen_and_revealed_by_the_clock_and_kept_pages_follow(client, phase):
    where = boards.address("board", phase)
    tag = client.get(where)["ETag"]
    Phase.objects.update(frozen_until=timezone.now() - HOUR / 2)
    again = client.get(where, headers={"If-None-Match": tag})
    assert again.status_code == 200
    assert LATER in again.content.decode()
    Phase.objects.update(frozen_from=timezone.now() + HOUR, frozen_until=None)
    assert told(client, phase) == [(False, True)] * 3


def test_what_is_named_of_a_board_elsewhere_is_frozen_too(client, phase):
    season, task = phase.task.season.slug, phase.task.slug
    pages = [
        reverse("season", args=[season]),
        boards.address("board-feed", phase),
        reverse("team-results", args=["ada"]),
        reverse("overview-paper", args=[season]),
        reverse("standing", args=[season, task, phase.slug, early(phase).pk]),
        boards.address("compare", phase),
    ]
    for where in pages:
        answer = client.get(where)
        assert LATER not in without_instants(answer.getvalue().decode()), where
    gone = reverse("standing", args=[season, task, phase.slug, late(phase).pk])
    assert client.get(gone).status_code == 404


def test_a_team_learns_no_score_of_a_later_run_and_keeps_those_it_saw(
    client, phase, ada
):
    client.force_login(ada)
    assert BEFORE in read(client, reverse("submission", args=[early(phase).pk]))
    said = read(client, reverse("submission", args=[late(phase).pk]))
    assert LATER not in said
    assert "The board is frozen" in said
    assert (
        client.get(reverse("api:submission", args=[late(phase).pk])).json()[
            "evaluations"
        ]
        == []
    )
    team = read(client, reverse("team", args=["ada"]))
    assert BEFORE in team
    assert LATER not in team


def test_a_later_version_of_the_gold_changes_nothing_that_others_see(
    client, phase, organiser, ada
):
    gold = boards.make_gold(phase, 2, "Two answers were wrong.")
    boards.score(early(phase), float(NEWER), gold=gold)
    boards.score(late(phase), float(LATER), gold=gold)
    assert told(client, phase) == [(True, False)] * 3
    assert client.get(boards.address("board", phase) + "?gold=2").status_code == 404
    assert (
        client.get(boards.address("gold-changes", phase) + "?gold=2").status_code == 404
    )
    client.force_login(ada)
    said = read(client, reverse("submission", args=[early(phase).pk]))
    assert BEFORE in said
    assert NEWER not in said
    client.force_login(organiser)
    assert client.get(boards.address("board", phase) + "?gold=2").status_code == 200


def test_numbers_that_were_replaced_since_are_not_shown_as_those_of_then(client, phase):
    early(phase).evaluations.update(replaced_at=timezone.now())
    assert told(client, phase) == [(False, False)] * 3


def test_a_run_that_stands_on_a_frozen_board_is_not_scored_anew(phase, organiser):
    with pytest.raises(ActionRefused, match="the board is frozen"):
        rescore_run(submission=early(phase), by=organiser)


def test_withdrawing_or_choosing_changes_nothing_of_what_is_frozen(client, phase):
    assert save_frozen_boards() == 2
    assert save_frozen_boards() == 0
    phase.submissions.filter(system="early").update(status="withdrawn")
    Phase.objects.update(counting="selected")
    assert told(client, phase) == [(True, False)] * 3


def test_what_organisers_exclude_goes_from_a_frozen_board_at_once(client, phase):
    save_frozen_boards()
    phase.submissions.filter(system="early").update(exclusion="hidden")
    assert told(client, phase) == [(False, False)] * 3


def test_scores_entered_by_hand_meanwhile_are_for_organisers(client, phase, organiser):
    measure = ManualMeasure.objects.create(
        phase=phase,
        name="fluency",
        source="A panel.",
        higher_is_better=True,
        entered_at=timezone.now(),
    )
    ManualScore.objects.create(measure=measure, submission=early(phase), value=0.4545)
    where = boards.address("board-csv", phase)
    assert "0.4545" not in read(client, where)
    client.force_login(organiser)
    ManualScore.objects.update(submission=late(phase))
    assert "0.4545" in read(client, where)


def test_gold_stays_closed_while_a_board_on_it_is_frozen(phase):
    Phase.objects.update(gold_is_public=True)
    phase.refresh_from_db()
    assert not may_download_gold(phase, None)
    phase.frozen_until = timezone.now() - HOUR / 2
    phase.save()
    assert may_download_gold(phase, None)


def test_frozen_and_revealed_boards_are_kept(phase):
    save_due_snapshots()
    assert set(Snapshot.objects.values_list("occasion", "audience")) == {
        ("freeze", "public")
    }
    assert "early" in Snapshot.objects.get().text.decode()
    assert FrozenBoard.objects.get(rules="corrected").evaluations == [
        early(phase).evaluations.get().pk
    ]
    Phase.objects.update(frozen_until=timezone.now())
    save_due_snapshots()
    revealed = Snapshot.objects.get(occasion="reveal")
    assert (revealed.audience, "late" in revealed.text.decode()) == ("public", True)
    assert save_due_snapshots() == 0


def test_what_an_organiser_cites_of_the_shadow_board_is_for_organisers(
    client, phase, organiser
):
    client.force_login(organiser)
    client.get(boards.address("cite", phase))
    kept = Snapshot.objects.get()
    assert kept.audience == "organiser"
    client.logout()
    where = reverse(
        "snapshot",
        args=[phase.task.season.slug, phase.task.slug, phase.slug, kept.short],
    )
    assert client.get(where).status_code == 404


def test_a_board_that_was_kept_while_it_was_not_frozen_is_not_read_once_it_is_frozen_as_of_before(
    client, phase
):
    Phase.objects.update(frozen_until=timezone.now() - HOUR / 2)
    open_one = client.get(boards.address("cite", phase))["Location"]
    Phase.objects.update(frozen_until=None)
    assert client.get(open_one).status_code == 404
    frozen_one = client.get(boards.address("cite", phase))["Location"]
    assert BEFORE in read(client, frozen_one)


def post(client, phase, name: str, **said):
    return client.post(reverse(name, args=[phase.task.season.slug, phase.pk]), said)


def test_organisers_freeze_and_reveal_by_buttons_and_the_history_tells_it(
    client, phase, organiser
):
    Phase.objects.update(frozen_from=None)
    client.force_login(organiser)
    assert post(client, phase, "organise-freeze-now").status_code == 302
    assert Phase.objects.get().is_frozen()
    assert FrozenBoard.objects.filter(rules="corrected").exists()
    assert post(client, phase, "organise-unfreeze").status_code == 302
    assert not Phase.objects.get().is_frozen()
    entries = list(find_history_of_place(phase.task.season)[:2])
    assert [entry.action for entry in entries] == ["board-frozen"] * 2
    assert "until it is revealed" in entries[1].words
    assert told(client, phase) == [(False, True)] * 3


def test_organisers_name_the_instants_on_the_clocks_of_the_phase(
    client, phase, organiser
):
    Phase.objects.update(frozen_from=None, time_zone="Europe/Rome")
    client.force_login(organiser)
    done = post(
        client,
        phase,
        "organise-freeze",
        frozen_from="2090-05-10T12:00",
        frozen_until="2090-05-20 23:59 AoE",
    )
    assert done.status_code == 302
    found = Phase.objects.get()
    assert found.frozen_from == dt.datetime(2090, 5, 10, 10, tzinfo=dt.UTC)
    assert found.frozen_until == dt.datetime(2090, 5, 21, 11, 59, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"frozen_until": "2090-05-10T12:00"}, "from when"),
        (
            {"frozen_from": "2090-05-10T12:00", "frozen_until": "2090-05-10T11:00"},
            "before it is frozen",
        ),
        ({"frozen_from": "2020-05-10T12:00"}, "from now on or later"),
        ({"frozen_from": "soon"}, "soon"),
    ],
)
def test_instants_that_contradict_each_other_are_refused(
    client, phase, organiser, wrong, words
):
    Phase.objects.update(frozen_from=None)
    client.force_login(organiser)
    answer = post(client, phase, "organise-freeze", **wrong)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert Phase.objects.get().frozen_from is None


def test_a_frozen_board_is_not_frozen_at_another_instant_and_only_a_frozen_one_revealed(
    phase, organiser
):
    with pytest.raises(ActionRefused, match="frozen already"):
        set_board_freeze(
            phase=phase, frozen_from=timezone.now(), frozen_until=None, by=organiser
        )
    assert freeze_board_now(phase=phase, by=organiser).frozen_from == phase.frozen_from
    reveal_frozen(phase=phase, by=organiser)
    with pytest.raises(ActionRefused, match="not frozen"):
        reveal_frozen(phase=phase, by=organiser)


def test_what_was_revealed_is_not_hidden_again_as_of_the_same_instant(phase, organiser):
    revealed = reveal_frozen(phase=phase, by=organiser)
    stood = {"phase": phase, "frozen_from": revealed.frozen_from, "by": organiser}
    for until in (None, timezone.now() + HOUR):
        with pytest.raises(ActionRefused, match="from now on or later"):
            set_board_freeze(frozen_until=until, **stood)
    assert set_board_freeze(frozen_until=revealed.frozen_until, **stood) == revealed
    assert not Phase.objects.get().is_frozen()


def test_the_database_keeps_no_reveal_without_a_freeze(phase):
    with pytest.raises(IntegrityError), transaction.atomic():
        Phase.objects.update(frozen_from=None, frozen_until=timezone.now())
