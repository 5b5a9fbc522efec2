"""The first runs of a team by the priority that it gave: on the board, moved, and bound to the phase."""

import csv
import datetime as dt
import io

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from scoring.results.board.gold_changes import list_board_changes_between_golds
from scoring.results.board.standings import compute_board
from tasks.models import Phase, Submission
from tasks.submissions.run_acts import (
    ActionImpossibleInRunState,
    PhaseAlreadyClosed,
    set_priority,
    withdraw_run,
)
from tasks.submissions.submit import submit_run
from tests import factories
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def phase():
    season = factories.make_season(organiser=factories.make_user())
    return factories.make_phase(
        task=factories.make_task(season=season),
        counting="priority",
        priority_runs=2,
        runs_in_total=9,
    )


@pytest.fixture
def team(phase):
    return factories.make_team(season=phase.task.season, name="Ada")


def send(phase, team, system, **fields) -> Submission:
    content = factories.other_run(Submission.objects.count() + 1)
    run = submit_run(
        phase=phase,
        team=team,
        user=team.memberships.get().user,
        upload=factories.make_upload(content),
        system=system,
        **fields,
    )
    Submission.objects.filter(pk=run.pk).update(status="scored")
    run.refresh_from_db()
    boards.score(run, 0.1 * run.number)
    return run


def on_board(phase) -> list[str]:
    return sorted(
        row.system for row in compute_board(Phase.objects.get(pk=phase.pk), None).rows
    )


def order(phase) -> list[str]:
    runs = Submission.objects.filter(phase=phase, kind="primary").order_by(
        "priority", "number"
    )
    return [run.system for run in runs]


def test_without_a_priority_runs_stand_in_the_order_they_came_in(phase, team):
    for system in "abc":
        send(phase, team, system)
    assert on_board(phase) == ["a", "b"], "the third has the best score"


def test_a_run_takes_the_place_that_it_is_sent_with_and_others_move_down(phase, team):
    send(phase, team, "a")
    send(phase, team, "b")
    send(phase, team, "c", priority=1)
    send(phase, team, "d", priority=3)
    assert order(phase) == ["c", "a", "d", "b"]
    assert on_board(phase) == ["a", "c"]


def test_each_team_has_its_own_order(phase, team):
    other = factories.make_team(season=phase.task.season)
    for system in "abc":
        send(phase, team, system)
    send(phase, other, "x", priority=1)
    assert on_board(phase) == ["a", "b", "x"]


def test_contrastive_and_failed_runs_have_no_place(phase, team):
    first = send(phase, team, "a")
    send(phase, team, "aside", kind="contrastive")
    send(phase, team, "b")
    send(phase, team, "c")
    Submission.objects.filter(pk=first.pk).update(status="failed")
    assert on_board(phase) == ["b", "c"]
    with pytest.raises(ActionImpossibleInRunState, match="has a priority"):
        set_priority(
            Submission.objects.get(system="aside"), team.memberships.get().user, place=1
        )


@pytest.mark.parametrize("gone", ["withdrawn", "hidden", "disqualified"])
def test_no_other_run_moves_up_when_one_is_taken_away(phase, team, gone):
    user = team.memberships.get().user
    runs = [send(phase, team, system) for system in "abc"]
    if gone == "withdrawn":
        withdraw_run(runs[0], user)
    else:
        Submission.objects.filter(pk=runs[0].pk).update(
            exclusion=gone, exclusion_reason="So."
        )
    assert on_board(phase) == ["b"]
    # Until the close its team may say otherwise.
    set_priority(runs[0], user, place=3)
    assert on_board(phase) == ["b", "c"]


def test_the_order_is_the_team_s_until_the_close_and_then_the_organisers_with_a_reason(
    phase, team
):
    user = team.memberships.get().user
    runs = [send(phase, team, system) for system in "abc"]
    version = Phase.objects.get(pk=phase.pk).version
    set_priority(runs[2], user, place=1)
    assert order(phase) == ["c", "a", "b"]
    assert Phase.objects.get(pk=phase.pk).version == version + 1
    entry = find_history_of_place(phase.task.season)[0]
    assert "given another priority run 3 (c)" in entry.words
    Phase.objects.update(closes=timezone.now() - dt.timedelta(minutes=1))
    with pytest.raises(PhaseAlreadyClosed):
        set_priority(runs[2], user, place=3)
    organiser = phase.task.season.organisers.get().user
    set_priority(runs[2], organiser, "The team wrote in time.", place=3)
    assert order(phase) == ["a", "b", "c"]


def test_places_and_phases_that_have_none_are_refused(phase, team):
    user = team.memberships.get().user
    run = send(phase, team, "a")
    for place in (0, 2):
        with pytest.raises(
            ActionImpossibleInRunState,
            match=f"1 run with a priority, and no place {place}",
        ):
            set_priority(run, user, place=place)
    for fields, words in (
        ({"kind": "contrastive", "priority": 1}, "contrastive"),
        ({"priority": 0}, "0 is no"),
    ):
        with pytest.raises(ValidationError, match=words):
            send(phase, team, "b", **fields)
    Phase.objects.update(counting="best")
    phase.refresh_from_db()
    run.refresh_from_db()
    with pytest.raises(ActionImpossibleInRunState, match="no priority"):
        set_priority(run, user, place=1)
    with pytest.raises(ValidationError, match="no priority"):
        send(phase, team, "b", priority=1)


def test_board_and_exports_say_which_priority_a_run_has(client, phase, team):
    send(phase, team, "a")
    send(phase, team, "b")
    page = text_of(client.get(boards.address("board", phase)))
    assert "The first 2 runs of each team by the priority that it gave" in page
    assert "Ada, priority 2" in page
    lines = csv.DictReader(
        io.StringIO(client.get(boards.address("board-csv", phase)).content.decode())
    )
    assert {line["system"]: line["priority"] for line in lines} == {"a": "1", "b": "2"}
    said = client.get(boards.address("board-json", phase)).json()["rows"]
    assert {row["system"]: row["priority"] for row in said} == {"a": 1, "b": 2}


def test_what_changed_under_newer_gold_is_told_run_by_run(phase, team):
    for system in "ab":
        send(phase, team, system)
    board = compute_board(phase, None)
    assert len(list_board_changes_between_golds(board, board)) == 2


def test_a_team_gives_and_changes_priorities_in_the_browser(client, phase, team):
    client.force_login(team.memberships.get().user)
    place = [phase.task.season.slug, phase.task.slug, phase.slug]
    first = send(phase, team, "a")
    upload = reverse("upload", args=place)
    assert "the first 2 runs of a team are on the board" in text_of(client.get(upload))
    sent = client.post(
        upload,
        {
            "run": SimpleUploadedFile("run.jsonl", factories.other_run(77)),
            "system": "b",
            "kind": "primary",
            "priority": "1",
        },
    )
    assert sent.status_code == 302
    assert order(phase) == ["b", "a"]
    page = client.get(reverse("submission", args=[first.pk]))
    assert "Priority 2 of 2: change it" in text_of(page)
    told = client.post(
        reverse("submission-priority", args=[first.pk]), {"priority": "1"}, follow=True
    )
    assert "has priority 1 now" in text_of(told)
    assert order(phase) == ["a", "b"]
    told = client.post(
        reverse("submission-priority", args=[first.pk]), {"priority": "9"}, follow=True
    )
    assert "2 runs with a priority, and no place 9" in text_of(told)


def test_a_phase_without_priorities_asks_for_none(client, phase, team):
    Phase.objects.update(counting="best")
    run = send(Phase.objects.get(), team, "a")
    client.force_login(team.memberships.get().user)
    place = [phase.task.season.slug, phase.task.slug, phase.slug]
    assert "Priority" not in text_of(client.get(reverse("upload", args=place)))
    assert "Priority" not in text_of(client.get(reverse("submission", args=[run.pk])))
