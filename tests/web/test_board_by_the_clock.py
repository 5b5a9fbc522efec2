"""Who sees a board changes at an instant, by the clock alone, or by a button."""

import datetime as dt

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from scoring.models import Snapshot
from scoring.results.board.snapshots import save_due_snapshots
from tasks.models import Organiser, Phase
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db
NUMBER = "0.6123"
HOUR = dt.timedelta(hours=1)


@pytest.fixture
def phase():
    phase = boards.make_phase(board="nobody", time_zone="Europe/Rome")
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.6123)
    return phase


@pytest.fixture
def organiser(phase):
    found = factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=found)
    return found


def plan(then: str, offset: dt.timedelta, before: str = "nobody") -> None:
    """Nothing else of the row changes: no version, no time of a change."""
    Phase.objects.update(
        board=before, board_from=timezone.now() + offset, board_then=then
    )


def seen(client, phase) -> list[bool]:
    """Whether page, file and program tell the number."""
    addresses = [boards.address("board", phase), boards.address("board-csv", phase)]
    addresses.append(reverse("api:leaderboard", args=[phase.pk]))
    return [NUMBER in client.get(where).getvalue().decode() for where in addresses]


@pytest.mark.both_databases
def test_a_board_is_shown_when_its_instant_has_come_and_not_before(client, phase):
    plan("everyone", HOUR)
    assert seen(client, phase) == [False] * 3
    tag = client.get(boards.address("board", phase))["ETag"]
    plan("everyone", -HOUR)
    assert seen(client, phase) == [True] * 3
    assert (
        client.get(
            boards.address("board", phase), headers={"If-None-Match": tag}
        ).status_code
        == 200
    )


@pytest.mark.both_databases
def test_a_kept_page_of_a_shown_board_is_not_given_out_once_it_is_hidden_by_the_clock(
    client, phase
):
    plan("nobody", HOUR, before="everyone")
    assert seen(client, phase) == [True] * 3
    plan("nobody", -HOUR, before="everyone")
    assert seen(client, phase) == [False] * 3


def test_an_empty_board_says_when_it_is_shown(client, phase):
    plan("ranks", HOUR)
    assert "It is shown" in client.get(boards.address("board", phase)).content.decode()
    plan("organisers", HOUR)
    assert (
        "It is shown" not in client.get(boards.address("board", phase)).content.decode()
    )


def test_a_team_learns_its_scores_from_the_same_instant_on(client, phase):
    run = phase.submissions.get()
    client.force_login(run.team.memberships.get().user)
    where = reverse("submission", args=[run.pk])
    plan("everyone", HOUR)
    assert NUMBER not in client.get(where).content.decode()
    plan("everyone", -HOUR)
    assert NUMBER in client.get(where).content.decode()


@pytest.mark.both_databases
def test_a_board_that_is_shown_after_the_end_is_kept_once_more_as_everybody_sees_it(
    client, phase
):
    now = timezone.now()
    Phase.objects.update(opens=now - 9 * HOUR, closes=now - 3 * HOUR)
    plan("everyone", HOUR)
    assert save_due_snapshots() == 1
    assert save_due_snapshots() == 0
    Snapshot.objects.update(created_at=now - 2 * HOUR)
    plan("everyone", -HOUR)
    assert save_due_snapshots() == 1
    assert save_due_snapshots() == 0
    assert Snapshot.objects.filter(audience="public").count() == 1


def ask(client, organiser, phase, **said):
    client.force_login(organiser)
    where = reverse("organise-board", args=[phase.task.season.slug, phase.pk])
    return client.post(
        where, {"board": "nobody", "board_from": "", "board_then": "", **said}
    )


def test_organisers_say_when_on_the_clocks_of_the_phase(client, phase, organiser):
    done = ask(
        client,
        organiser,
        phase,
        board="organisers",
        board_from="2030-05-10T12:00",
        board_then="everyone",
    )
    assert done.status_code == 302
    phase.refresh_from_db()
    assert phase.board_from == dt.datetime(2030, 5, 10, 10, tzinfo=dt.UTC)
    assert phase.board_then == "everyone"
    entry = find_history_of_place(phase.task.season).first()
    assert "from 10 May 2030, 10:00 UTC everyone" in entry.words
    assert [change["before"] for change in entry.changes] == ["nobody", None, ""]


@pytest.mark.parametrize(
    "wrong",
    [
        {"board_from": "2030-05-10T12:00"},
        {"board_then": "everyone"},
        {"board_from": "soon", "board_then": "everyone"},
        {"board_from": "2030-03-31T02:30", "board_then": "everyone"},
        {"board": "friends"},
    ],
)
def test_half_a_plan_and_a_time_that_is_none_are_refused(
    client, phase, organiser, wrong
):
    assert ask(client, organiser, phase, **wrong).status_code == 422
    phase.refresh_from_db()
    assert (phase.board, phase.board_from) == ("nobody", None)


@pytest.mark.both_databases
def test_the_database_keeps_no_half_a_plan(phase):
    with pytest.raises(IntegrityError), transaction.atomic():
        Phase.objects.update(board_then="everyone")


def test_a_button_shows_the_board_to_everybody_and_the_plan_is_gone(
    client, phase, organiser
):
    plan("ranks", HOUR)
    client.force_login(organiser)
    typed = {
        "let_out_task": phase.task.title,
        "let_out_reason": "It runs on in the open.",
    }
    client.post(
        reverse("organise-reveal", args=[phase.task.season.slug, phase.pk]), typed
    )
    client.logout()
    assert seen(client, phase) == [True] * 3
    assert Phase.objects.get().board_from is None
    assert find_history_of_place(phase.task.season).first().action == "board-changed"
