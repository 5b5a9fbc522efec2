"""Sweeping: whatever stopped moves again, by one sweeper and within a bound."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ

from tasks.jobs import engine, leases
from tasks.jobs.engine import MAX_JOBS_WOKEN
from tasks.jobs.queue_choice import WORKER_START_GRACE_SECONDS, WorkerGroupWatchdog
from tasks.jobs.sweeper import SweepCounts, sweep_jobs
from tasks.models import Job
from tests.factories import make_phase, make_submission

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def after(seconds: float) -> dt.datetime:
    return timezone.now() + dt.timedelta(seconds=seconds)


def read(row):
    return type(row).objects.get(pk=row.pk)


def fall_silent(job: Job) -> None:
    """As if its worker had given no sign of life for the time of a lease."""
    Job.objects.filter(pk=job.pk).update(lease_expires_at=after(-1))


@pytest.fixture
def job(db) -> Job:
    return make_submission().jobs.get()


def test_a_job_whose_lease_lasts_is_left_alone(job, settings):
    engine.claim_job(job.pk, "host:1:2")
    assert sweep_jobs(after(settings.LEASE_SECONDS - 10)) == SweepCounts()
    assert read(job).state == "running"


def test_a_job_whose_worker_is_gone_is_queued_again_and_woken(job):
    engine.claim_job(job.pk, "host:1:2")
    OrmQ.objects.all().delete()
    fall_silent(job)
    assert sweep_jobs() == SweepCounts(lost=1)
    assert (read(job).state, read(job).attempt) == ("queued", 1)
    assert (read(job.submission).status, read(job.submission).reason) == (
        "queued",
        leases.RUN_JOB_KIND.lost_reason,
    )
    assert OrmQ.objects.count() == 1


def test_a_wake_that_was_lost_is_given_again_and_not_before_half_a_lease(job, settings):
    OrmQ.objects.all().delete()
    assert sweep_jobs(after(settings.LEASE_SECONDS / 2 - 10)) == SweepCounts()
    assert sweep_jobs(after(settings.LEASE_SECONDS / 2 + 1)) == SweepCounts(woken=1)
    assert OrmQ.objects.count() == 1


def test_a_job_that_nobody_has_woken_is_woken(job):
    Job.objects.filter(pk=job.pk).update(woken_at=None)
    OrmQ.objects.all().delete()
    assert sweep_jobs() == SweepCounts(woken=1)
    assert OrmQ.objects.count() == 1


def test_of_a_long_queue_the_head_is_woken_again_by_one_wake(settings):
    phase = make_phase()
    for _ in range(MAX_JOBS_WOKEN + 3):
        make_submission(phase=phase)
    OrmQ.objects.all().delete()
    assert sweep_jobs(after(settings.LEASE_SECONDS)).woken == MAX_JOBS_WOKEN
    assert OrmQ.objects.count() == 1


def test_of_a_long_queue_the_most_urgent_are_woken_again():
    phase = make_phase()
    for _ in range(MAX_JOBS_WOKEN):
        make_submission(phase=phase)
    Job.objects.update(priority=Job.Priority.AGAIN)
    urgent = make_submission(phase=phase).jobs.get()
    Job.objects.update(woken_at=None)
    assert sweep_jobs().woken == MAX_JOBS_WOKEN
    assert read(urgent).woken_at is not None


def test_a_job_that_has_waited_long_is_tried_more_seldom(job, settings):
    settings.LEASE_SECONDS = 30
    Job.objects.filter(pk=job.pk).update(created_at=after(-400))
    engine.defer_job(engine.claim_job(job.pk, "host:1:2"), "No model is there.")
    for seconds, state in ((100, "waiting"), (160, "queued")):
        sweep_jobs(after(seconds))
        assert read(job).state == state


def test_a_job_that_waits_is_tried_again_and_its_run_waits_until_then(job, settings):
    engine.defer_job(
        engine.claim_job(job.pk, "host:1:2"), "The disk of the site is full."
    )
    assert sweep_jobs(after(settings.LEASE_SECONDS - 10)).resumed == 0
    assert sweep_jobs(after(settings.LEASE_SECONDS + 1)).resumed == 1
    assert (read(job).state, read(job.submission).status) == ("queued", "waiting")
    engine.claim_job(job.pk, "host:1:2")
    assert read(job.submission).status == "scoring"


def test_of_jobs_that_wait_those_are_resumed_whose_time_has_come(job, settings):
    later = make_submission().jobs.get()
    engine.defer_job(
        engine.claim_job(job.pk, "host:1:2"), "The disk of the site is full."
    )
    engine.defer_job(
        engine.claim_job(later.pk, "host:1:2"),
        "No model is there.",
        until=after(86_400),
    )
    assert sweep_jobs(after(settings.LEASE_SECONDS + 1)).resumed == 1
    assert (read(job).state, read(later).state) == ("queued", "waiting")


@pytest.mark.django_db(transaction=True)
def test_two_sweepers_at_once_give_a_lost_wake_once():
    for _ in range(6):
        make_submission()
    Job.objects.update(woken_at=after(-3600))
    OrmQ.objects.all().delete()

    def sweep_once(_: int) -> int:
        try:
            return sweep_jobs().woken
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(sweep_once, range(4))) == 6
    # Each may have given one that another did not see yet.
    assert 1 <= OrmQ.objects.count() <= 6


def test_a_wake_that_died_with_its_worker_does_not_come_back_in_a_week(job, settings):
    now = timezone.now()
    handed_out = OrmQ.objects.get()
    handed_out.lock = now + dt.timedelta(seconds=Conf.RETRY)
    handed_out.save()
    leases.complete_job(engine.claim_job(job.pk, "host:1:2"), lambda: None)
    sweep_jobs(now + dt.timedelta(minutes=5))
    assert OrmQ.objects.count() == 1
    sweep_jobs(now + dt.timedelta(hours=3))
    assert OrmQ.objects.count() == 0


class TestWatchdog:
    @pytest.fixture
    def clock(self, monkeypatch):
        """Time as the watchdog sees it, which a test moves."""

        class Clock:
            now = 1000.0

        monkeypatch.setattr("tasks.jobs.queue_choice.time.monotonic", lambda: Clock.now)
        return Clock

    def test_workers_that_take_no_job_for_the_time_of_a_lease_are_stuck(
        self, job, clock, settings
    ):
        dog = WorkerGroupWatchdog("host:1:", workers=1)
        assert not dog.is_stuck()
        clock.now += WORKER_START_GRACE_SECONDS + settings.LEASE_SECONDS - 1
        assert not dog.is_stuck()
        clock.now += 2
        assert dog.is_stuck()

    def test_nothing_to_do_is_no_reason_to_bite(self, clock, settings):
        dog = WorkerGroupWatchdog("host:1:", workers=1)
        clock.now += 10 * settings.LEASE_SECONDS
        assert not dog.is_stuck()

    def test_a_group_whose_every_worker_is_busy_is_not_stuck(
        self, job, clock, settings
    ):
        engine.claim_job(make_submission().jobs.get().pk, "host:1:2")
        dog = WorkerGroupWatchdog("host:1:", workers=1)
        dog.is_stuck()
        clock.now += 10 * settings.LEASE_SECONDS
        assert not dog.is_stuck()

    def test_a_free_worker_that_never_claims_shows_beside_a_busy_one(
        self, job, clock, settings
    ):
        settings.WORKERS = 2
        engine.claim_job(make_submission().jobs.get().pk, "host:1:2")
        dog = WorkerGroupWatchdog("host:1:", workers=2)
        dog.is_stuck()
        clock.now += WORKER_START_GRACE_SECONDS + settings.LEASE_SECONDS + 1
        assert dog.is_stuck()

    def test_each_claim_of_the_group_starts_its_time_anew_and_claims_of_others_do_not(
        self, job, clock, settings
    ):
        settings.WORKERS = 2
        dog = WorkerGroupWatchdog("host:1:", workers=2)
        for claimed_by, is_stuck in (("host:1:5", False), ("host:2:5", True)):
            dog.is_stuck()
            clock.now += WORKER_START_GRACE_SECONDS + settings.LEASE_SECONDS + 1
            engine.claim_job(make_submission().jobs.get().pk, claimed_by)
            assert dog.is_stuck() is is_stuck
