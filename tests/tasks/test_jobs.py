"""Who works on a job: claims, signs of life, and ends that are written once."""

import pytest
from django_q.models import OrmQ

from tasks.jobs import engine, leases
from tasks.models import Job, Phase, Submission
from tasks.submissions.run_acts import cancel_run, withdraw_run
from tests.factories import make_gold, make_phase, make_submission, make_task

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

NEW_CITANCES = (("C04-1001", 1, ("0",), "Method"), ("C04-1001", 2, ("2",), "Aim"))


@pytest.fixture
def submission(db) -> Submission:
    return make_submission()


@pytest.fixture
def job(submission) -> Job:
    return submission.jobs.get()


def read(row):
    return type(row).objects.get(pk=row.pk)


def nothing() -> None:
    """A record that writes nothing."""


def test_a_run_gets_one_job_for_each_rule_set_and_one_wake():
    run = make_submission(
        phase=make_phase(task=make_task(rules=["corrected", "official-2017"]))
    )
    assert [
        (job.rules, job.sets_status, job.state) for job in run.jobs.order_by("pk")
    ] == [
        ("corrected", True, "queued"),
        ("official-2017", False, "queued"),
    ]
    assert OrmQ.objects.count() == 1


def test_jobs_are_made_once_for_a_gold_version(submission):
    assert leases.create_scoring_jobs(submission, submission.jobs.get().gold) == []
    new = make_gold(
        phase=submission.phase, topics=("D01-0001",), reason="one topic less"
    )
    assert [job.gold for job in leases.create_scoring_jobs(submission, new)] == [new]
    assert leases.create_scoring_jobs(submission, new) == []


def test_a_claim_begins_a_job_anew_and_no_other(job):
    other = make_submission(phase=job.submission.phase).jobs.get()
    Job.objects.update(progress=0.4, reason="The scorer was ended.")
    engine.claim_job(job.pk, "host:1:2")
    claimed = read(job)
    assert (claimed.progress, claimed.reason, claimed.finished_at) == (0, "", None)
    assert claimed.started_at < claimed.lease_expires_at
    assert read(other).state == "queued"


def test_a_sign_of_life_renews_the_lease_and_tells_the_progress(job):
    mine = engine.claim_job(job.pk, "host:1:2")
    Job.objects.filter(pk=job.pk).update(lease_expires_at=mine.started_at)
    assert engine.renew_lease(mine, progress=0.4)
    assert read(job).lease_expires_at > mine.started_at
    assert read(job).progress == 0.4


def test_publishing_bumps_the_board_once_and_only_for_the_claim_that_holds(job):
    mine = engine.claim_job(job.pk, "host:1:2")
    before = read(job.submission.phase).version
    written = []
    assert leases.complete_job(mine, lambda: written.append(1))
    assert not leases.complete_job(mine, lambda: written.append(2))
    assert written == [1]
    assert (read(job).state, read(job).progress, read(job.submission).status) == (
        "done",
        1,
        "scored",
    )
    assert read(job.submission.phase).version == before + 1


def test_a_scored_run_settles_the_failures_before_it_and_none_after_it(job):
    run = job.submission
    before, after = (
        make_submission(phase=run.phase, team=run.team, status="failed")
        for _ in range(2)
    )
    Submission.objects.filter(pk=before.pk).update(number=0)
    Submission.objects.filter(status="failed").update(has_failed=True)
    assert leases.complete_job(engine.claim_job(job.pk, "host:1:2"), nothing)
    assert (read(before).has_failed, read(after).has_failed) == (False, True)


def test_a_failure_bumps_the_board_once(job):
    mine = engine.claim_job(job.pk, "host:1:2")
    before = read(job.submission.phase).version
    assert leases.fail_job(mine, "The scorer failed.")
    assert not leases.fail_job(mine, "The scorer failed.")
    assert read(job.submission.phase).version == before + 1


def test_who_lost_the_job_can_neither_renew_nor_publish_nor_fail_it(job):
    stale = engine.claim_job(job.pk, "host:1:2")
    assert engine.retry_or_fail_crashed(stale, "The scorer was ended.")
    fresh = engine.claim_job(job.pk, "host:1:2")
    assert fresh.attempt == 2
    assert not engine.renew_lease(stale, progress=0.9)
    assert not leases.complete_job(stale, nothing)
    assert not leases.fail_job(stale, "no")
    assert not engine.release_job(stale)
    assert not engine.defer_job(stale, "no")
    assert read(job).state == "running"
    assert leases.complete_job(fresh, nothing)


def test_what_fails_while_it_is_written_leaves_the_job_as_it_was(job):
    mine = engine.claim_job(job.pk, "host:1:2")

    def broken() -> None:
        Phase.objects.filter(pk=job.submission.phase_id).update(title="half written")
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011  (nothing but the one above)
        leases.complete_job(mine, broken)
    assert read(job).state == "running"
    assert read(job.submission.phase).title != "half written"
    assert leases.complete_job(mine, nothing)


def test_a_run_that_kills_its_worker_fails_with_a_reason_after_its_last_attempt(
    job, settings
):
    settings.MAX_ATTEMPTS = 3
    for _ in range(3):
        mine = engine.claim_job(job.pk, "host:1:2")
        assert engine.retry_or_fail_crashed(mine, "The scorer was ended by SIGKILL.")
    assert engine.claim_job(job.pk, "host:1:2") is None
    run = read(job.submission)
    assert run.status == "failed"
    assert run.reason == (
        "The scorer was ended by SIGKILL. It was begun 3 times, which is as often as a run is begun."
    )


def test_a_job_that_is_given_back_or_put_off_is_not_counted(job):
    engine.release_job(engine.claim_job(job.pk, "host:1:2"))
    assert (read(job).state, read(job).attempt, read(job.submission).status) == (
        "queued",
        0,
        "queued",
    )
    engine.defer_job(
        engine.claim_job(job.pk, "host:1:2"), "The disk of the site is full."
    )
    assert (read(job).state, read(job).attempt) == ("waiting", 0)
    run = read(job.submission)
    assert (run.status, run.reason) == ("waiting", "The disk of the site is full.")


def test_what_becomes_of_one_job_changes_no_other():
    """Not even one of the same worker; only of jobs that have ended it is said when."""
    first, second, third = (make_submission().jobs.get() for _ in range(3))
    mine = engine.claim_job(first.pk, "host:1:2")
    engine.claim_job(second.pk, "host:1:2")
    cancel_run(third.submission, third.submission.submitted_by)
    assert [read(job).state for job in (first, second, third)] == [
        "running",
        "running",
        "cancelled",
    ]
    leases.complete_job(mine, nothing)
    assert [read(job).state for job in (first, second, third)] == [
        "done",
        "running",
        "cancelled",
    ]
    assert [read(job).finished_at is None for job in (first, second, third)] == [
        False,
        True,
        False,
    ]
    leases.restart_job(first)
    assert [read(job).state for job in (first, second, third)] == [
        "queued",
        "running",
        "cancelled",
    ]
    assert read(first).finished_at is None


def test_new_options_make_new_jobs(submission):
    task = submission.phase.task
    task.options = {**task.options, "span": "5"}
    task.save()
    [new] = leases.create_scoring_jobs(read(submission), submission.jobs.get().gold)
    assert (new.options["span"], submission.jobs.count()) == ("5", 2)


def test_a_check_that_failed_is_made_again_and_no_other(settings):
    settings.CHECK_MAX_MB = 0
    run = make_submission()
    check = run.jobs.get()
    assert not leases.retry_failed_check(run, check.gold)
    leases.fail_job(engine.claim_job(check.pk, "host:1:2"), "The check failed.")
    assert leases.retry_failed_check(run, check.gold)
    assert (read(check).state, read(run).status) == ("queued", "checking")


def test_a_cancelled_run_is_noticed_at_the_next_sign_of_life_and_stays_cancelled(job):
    mine = engine.claim_job(job.pk, "host:1:2")
    cancel_run(job.submission, job.submission.submitted_by)
    assert not engine.renew_lease(mine, progress=0.5)
    assert not leases.complete_job(mine, nothing)
    assert not leases.fail_job(mine, "no")
    assert read(job.submission).status == "cancelled"


def test_a_scored_run_stays_on_the_board_while_it_is_scored_anew(job):
    leases.complete_job(engine.claim_job(job.pk, "host:1:2"), nothing)
    new = make_gold(
        phase=job.submission.phase, topics=("D01-0001",), reason="one topic less"
    )
    [again] = leases.create_scoring_jobs(job.submission, new)
    since = read(job.submission).status_since
    mine = engine.claim_job(again.pk, "host:1:2")
    assert read(job.submission).status == "scored"
    leases.fail_job(mine, "The scorer failed.")
    run = read(job.submission)
    assert (run.status, run.reason, run.status_since) == ("scored", "", since)
    assert (read(again).state, read(again).reason) == ("failed", "The scorer failed.")


def test_a_withdrawn_run_stays_withdrawn_whatever_its_jobs_do(job):
    leases.complete_job(engine.claim_job(job.pk, "host:1:2"), nothing)
    withdraw_run(job.submission, job.submission.submitted_by)
    assert leases.restart_job(read(job))
    mine = engine.claim_job(job.pk, "host:1:2")
    assert leases.complete_job(mine, nothing)
    assert read(job.submission).status == "withdrawn"


def test_a_failed_job_is_scored_anew_with_all_its_attempts(job, settings):
    settings.MAX_ATTEMPTS = 1
    mine = engine.claim_job(job.pk, "host:1:2")
    engine.renew_lease(mine, progress=0.4)
    engine.retry_or_fail_crashed(mine, "The scorer was ended.")
    assert not leases.restart_job(make_submission().jobs.get())
    assert leases.restart_job(job)
    assert (read(job).state, read(job).attempt, read(job.submission).status) == (
        "queued",
        0,
        "queued",
    )
    assert (read(job).progress, read(job).reason) == (0, "")


def test_a_job_of_another_rule_set_never_decides_what_becomes_of_the_run():
    run = make_submission(
        phase=make_phase(task=make_task(rules=["corrected", "official-2017"]))
    )
    second = run.jobs.get(sets_status=False)
    leases.fail_job(engine.claim_job(second.pk, "host:1:2"), "The scorer failed.")
    assert read(run).status == "queued"


def test_a_job_remembers_the_request_that_made_it(client):
    from citeboard.core.logs import request_id

    token = request_id.set("request-1234")
    try:
        job = make_submission().jobs.get()
    finally:
        request_id.reset(token)
    assert job.trace == "request-1234"
    assert make_submission().jobs.get().trace == ""
