"""Taking a run back: what is stopped, what stays counted, and what cannot be done."""

import pytest

from tasks.jobs import engine, leases
from tasks.models import Job, Phase
from tasks.submissions.run_acts import (
    ActionImpossibleInRunState,
    cancel_run,
    withdraw_run,
)
from tasks.submissions.submit import compute_remaining_quota
from tests.factories import make_phase, make_submission, make_task, make_team, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def user():
    return make_user(name="Ada")


@pytest.fixture
def phase():
    return make_phase(
        task=make_task(rules=["corrected", "official-2017"]), runs_per_day=5
    )


@pytest.fixture
def team(phase):
    return make_team(season=phase.task.season)


def version(phase) -> int:
    return Phase.objects.get(pk=phase.pk).version


@pytest.mark.parametrize("status", ["queued", "scoring", "waiting"])
def test_a_run_that_still_moves_is_cancelled_with_its_jobs_and_gives_its_try_back(
    phase, team, user, status
):
    run = make_submission(phase=phase, team=team, status=status)
    before = version(phase)
    assert compute_remaining_quota(phase, team).left == 4
    cancelled = cancel_run(run, user)
    assert (cancelled.status, cancelled.reason) == ("cancelled", "Cancelled by Ada.")
    assert {job.state for job in run.jobs.all()} == {"cancelled"}
    assert compute_remaining_quota(phase, team).left == 5
    assert version(phase) == before + 1


def test_cancelling_takes_the_job_from_the_worker_that_holds_it(phase, team, user):
    run = make_submission(phase=phase, team=team)
    job = engine.claim_job(run.jobs.first().pk, "worker")
    run.refresh_from_db()
    assert run.status == "scoring"
    cancel_run(run, user)
    assert not engine.renew_lease(job, progress=0.5)
    assert not leases.complete_job(
        job, lambda: pytest.fail("a cancelled run was published")
    )
    run.refresh_from_db()
    assert run.status == "cancelled"


def test_cancelling_once_more_changes_nothing(phase, team, user):
    run = cancel_run(make_submission(phase=phase, team=team), user)
    since, before = run.status_since, version(phase)
    again = cancel_run(run, make_user(name="Bob"))
    assert (again.status_since, again.reason, version(phase)) == (
        since,
        "Cancelled by Ada.",
        before,
    )


def test_a_scored_run_is_withdrawn_and_still_counts(phase, team, user):
    run = make_submission(phase=phase, team=team, status="scored")
    Job.objects.filter(submission=run).update(state="done")
    before = version(phase)
    withdrawn = withdraw_run(run, user)
    assert (withdrawn.status, withdrawn.reason) == ("withdrawn", "Withdrawn by Ada.")
    assert compute_remaining_quota(phase, team).left == 4
    assert version(phase) == before + 1
    assert {job.state for job in run.jobs.all()} == {"done"}
    assert withdraw_run(run, user).status_since == withdrawn.status_since
    assert version(phase) == before + 1


def test_a_run_that_is_scored_again_is_withdrawn_for_good(phase, team, user):
    run = make_submission(phase=phase, team=team, status="scored")
    job = engine.claim_job(run.jobs.first().pk, "worker")
    withdraw_run(run, user)
    assert not leases.complete_job(
        job, lambda: pytest.fail("a withdrawn run was published")
    )
    run.refresh_from_db()
    assert run.status == "withdrawn"


def test_an_object_that_is_out_of_date_is_no_way_around(phase, team, user):
    run = make_submission(phase=phase, team=team)
    stale = type(run).objects.get(pk=run.pk)
    cancel_run(run, user)
    with pytest.raises(
        ActionImpossibleInRunState, match="a run that is cancelled cannot be withdrawn"
    ):
        withdraw_run(stale, user)
    assert stale.status == "cancelled"


@pytest.mark.parametrize(
    ("do", "status", "words"),
    [
        (
            cancel_run,
            "scored",
            "a run that is scored cannot be cancelled; one that is scored can be withdrawn",
        ),
        (cancel_run, "failed", "a run that has failed cannot be cancelled"),
        (cancel_run, "withdrawn", "a run that is withdrawn cannot be cancelled"),
        (
            withdraw_run,
            "queued",
            "a run that is queued cannot be withdrawn; one that still moves can be cancelled",
        ),
        (withdraw_run, "scoring", "a run that is scoring cannot be withdrawn"),
        (withdraw_run, "failed", "a run that has failed cannot be withdrawn"),
    ],
)
def test_what_cannot_be_done_is_said_with_what_can(
    phase, team, user, do, status, words
):
    run = make_submission(phase=phase, team=team, status=status)
    before = version(phase)
    with pytest.raises(ActionImpossibleInRunState, match=words):
        do(run, user)
    run.refresh_from_db()
    assert (run.status, version(phase)) == (status, before)
