"""Runs that organisers keep off the boards, and tries that they give to one team."""

import datetime as dt

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.core.models import AuditEntry
from citeboard.core.refusals import ActionRefused
from scoring.results.board.standings import compute_board
from scoring.worker.rescoring import rescore_run
from tasks.models import ExtraTries, Organiser, Phase, Submission
from tasks.submissions.refusals import RunQuotaExceeded
from tasks.submissions.submit import compute_remaining_quota
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase():
    return factories.make_phase(runs_in_total=2)


@pytest.fixture
def team(phase):
    return factories.make_team(season=phase.task.season)


@pytest.fixture
def organiser(phase):
    found = factories.make_user(name="Olga")
    Organiser.objects.create(season=phase.task.season, user=found)
    return found


def scored(phase, team, value, **fields) -> Submission:
    run = factories.make_submission(phase=phase, team=team, status="scored", **fields)
    boards.score(run, value, gold=phase.task.gold.get())
    return run


def on_board(phase) -> list[int]:
    return [
        row.submission
        for row in compute_board(Phase.objects.get(pk=phase.pk), None).rows
    ]


def ask(client, person, run, how, reason="Not its own work."):
    client.force_login(person)
    return client.post(reverse(f"submission-{how}", args=[run.pk]), {"reason": reason})


@pytest.mark.both_databases
@pytest.mark.parametrize("how", ["disqualify", "hide"])
def test_a_run_leaves_the_board_with_a_reason_that_its_team_reads_and_comes_back(
    client, phase, team, organiser, how
):
    second, first = scored(phase, team, 0.4), scored(phase, team, 0.6)
    assert on_board(phase) == [first.pk]
    assert ask(client, organiser, first, how).status_code == 302
    assert on_board(phase) == [second.pk]
    assert compute_remaining_quota(phase, team).left == 0
    entry = find_history_of_place(phase.task.season).first()
    assert "Not its own work." in entry.words
    assert entry.changes[0]["before"] is None

    client.force_login(team.memberships.get().user)
    page = client.get(reverse("submission", args=[first.pk])).content.decode()
    assert "Not its own work." in page
    assert (
        "Not its own work."
        in client.get(reverse("team", args=[team.slug])).content.decode()
    )

    ask(client, organiser, first, "reinstate", "We were wrong.")
    assert on_board(phase) == [first.pk]
    assert find_history_of_place(phase.task.season).first().changes[0]["after"] is None


def test_without_a_reason_and_by_its_own_team_nothing_is_excluded(
    client, phase, team, organiser
):
    run = scored(phase, team, 0.4)
    ask(client, organiser, run, "disqualify", "  ")
    assert (
        ask(client, team.memberships.get().user, run, "disqualify").status_code == 404
    )
    assert on_board(phase) == [run.pk]


def test_saying_the_same_once_more_changes_nothing(client, phase, team, organiser):
    run = scored(phase, team, 0.4)
    ask(client, organiser, run, "hide")
    before = Phase.objects.get().version, AuditEntry.objects.count()
    ask(client, organiser, run, "hide")
    assert (Phase.objects.get().version, AuditEntry.objects.count()) == before


def test_where_the_last_run_counts_a_disqualified_one_brings_no_earlier_one_back(
    client, phase, team, organiser
):
    Phase.objects.update(counting="last")
    scored(phase, team, 0.9)
    ask(client, organiser, scored(phase, team, 0.2), "disqualify")
    assert on_board(phase) == []


def test_where_the_last_run_counts_one_that_is_hidden_leaves_its_place_to_the_one_before(
    client, phase, team, organiser
):
    Phase.objects.update(counting="last")
    before = scored(phase, team, 0.9)
    ask(client, organiser, scored(phase, team, 0.2), "hide")
    assert on_board(phase) == [before.pk]


def test_an_excluded_run_cannot_be_chosen(client, phase, team, organiser):
    Phase.objects.update(counting="selected")
    run = scored(phase, team, 0.4)
    ask(client, organiser, run, "disqualify")
    ask(client, team.memberships.get().user, run, "select", "")
    run.refresh_from_db()
    assert not run.is_selected


def test_a_refused_file_cannot_be_scored_again(phase, team, organiser):
    run = factories.make_submission(
        phase=phase, team=team, status="failed", problems=[{"message": "no"}]
    )
    with pytest.raises(ActionRefused, match="refused file"):
        rescore_run(submission=run, by=organiser)


def give(client, organiser, phase, team, **fields):
    client.force_login(organiser)
    given = {
        "team": team.pk,
        "phase": phase.pk,
        "tries": 1,
        "reason": "The site was away.",
        **fields,
    }
    return client.post(reverse("organise-tries", args=[phase.task.season.slug]), given)


@pytest.mark.both_databases
def test_extra_tries_are_one_teams_in_one_phase_and_say_why(
    client, phase, team, organiser
):
    other = factories.make_team(season=phase.task.season)
    for _ in range(2):
        factories.make_submission(phase=phase, team=team)
    with pytest.raises(RunQuotaExceeded):
        factories.make_submission(phase=phase, team=team)
    assert give(client, organiser, phase, team).status_code == 302
    factories.make_submission(phase=phase, team=team)
    with pytest.raises(RunQuotaExceeded):
        factories.make_submission(phase=phase, team=team)
    assert compute_remaining_quota(phase, other).left == 2

    client.force_login(team.memberships.get().user)
    place = [phase.task.season.slug, phase.task.slug, phase.slug]
    assert (
        "The site was away."
        in client.get(reverse("upload", args=place)).content.decode()
    )


@pytest.mark.both_databases
def test_they_are_added_to_the_day_on_which_they_are_given_and_to_no_later_one(
    client, phase, team, organiser
):
    Phase.objects.update(
        runs_per_day=1, runs_in_total=None, time_zone=factories.lasting_day()
    )
    phase.refresh_from_db()
    give(client, organiser, phase, team, tries=2)
    assert compute_remaining_quota(phase, team).left == 3
    assert (
        compute_remaining_quota(phase, team, timezone.now() + dt.timedelta(days=1)).left
        == 1
    )


@pytest.mark.both_databases
def test_tries_are_taken_back_and_the_runs_sent_with_them_stay(
    client, phase, team, organiser
):
    give(client, organiser, phase, team, tries=1)
    for _ in range(3):
        factories.make_submission(phase=phase, team=team)
    address = reverse(
        "organise-tries-back",
        args=[phase.task.season.slug, ExtraTries.objects.get().pk],
    )
    client.post(address)
    assert compute_remaining_quota(phase, team).left == 0
    assert team.submissions.count() == 3
    assert find_history_of_place(phase.task.season).first().action == "tries-taken-back"


@pytest.mark.both_databases
@pytest.mark.parametrize(
    "wrong",
    [{"tries": 0}, {"tries": -1}, {"tries": 10**9}, {"reason": " "}, {"tries": ""}],
)
def test_what_cannot_be_given_is_refused_by_field(
    client, phase, team, organiser, wrong
):
    assert give(client, organiser, phase, team, **wrong).status_code == 422
    assert not ExtraTries.objects.exists()


def test_a_team_that_takes_no_part_gets_none(client, phase, organiser):
    assert give(client, organiser, phase, factories.make_team()).status_code == 422
