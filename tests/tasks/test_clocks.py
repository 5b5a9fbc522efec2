"""A machine whose clock is off: leases go by the database's, so it takes nothing from a living worker."""

import datetime as dt
import subprocess
import sys

import pytest
from django.utils import timezone

from citeboard.core.database import database_time_expression, fetch_database_time
from scoring.models import BoardOrder
from scoring.results.board import comparison_state as board_orders
from tasks.jobs import engine
from tasks.jobs.sweeper import SweepCounts, sweep_jobs
from tasks.models import Job
from tests.factories import make_submission

pytestmark = pytest.mark.both_databases

#: What a process does whose clock is so many minutes off.
OFF = """
import datetime as dt, sys, time
import django
from django.utils import timezone
off, real, seconds = float(sys.argv[1]) * 60, timezone.now, time.time
timezone.now = lambda: real() + dt.timedelta(seconds=off)
time.time = lambda: seconds() + off
django.setup()
from scoring.results.board import comparison_state as board_orders
from tasks.jobs import engine
from tasks.jobs.sweeper import sweep_jobs
"""


#: Far from the minutes that the clock is off, and from the seconds in which a slow machine starts a process.
LEASE = 120


@pytest.fixture(params=[-10, 10])
def elsewhere(request, child_environment, root, settings):
    """Runs a line on such a machine, and returns what it prints."""
    settings.LEASE_SECONDS = LEASE

    def run(line: str) -> str:
        path = f"{root / 'platform'}:{root}"
        return subprocess.run(
            [sys.executable, "-c", f"{OFF}\n{line}", str(request.param)],
            env={
                **child_environment,
                "PYTHONPATH": path,
                "CITEBOARD_LEASE_SECONDS": str(LEASE),
            },
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    return run


def test_it_takes_no_job_from_a_living_worker(elsewhere):
    mine = engine.claim_job(make_submission().jobs.get().pk, "host:1:2")
    assert elsewhere("print(repr(sweep_jobs()))") == repr(SweepCounts())
    assert engine.renew_lease(mine, progress=0.5)


def test_its_own_lease_ends_when_any_other_would(elsewhere, settings):
    job = make_submission().jobs.get()
    elsewhere(f"engine.claim_job({job.pk}, 'host:1:2')")
    assert sweep_jobs() == SweepCounts()
    assert (
        sweep_jobs(
            fetch_database_time() + dt.timedelta(seconds=settings.LEASE_SECONDS + 1)
        ).lost
        == 1
    )


def test_a_wake_of_its_own_is_given_again_as_soon_as_any_other(elsewhere, settings):
    job = make_submission().jobs.get()
    elsewhere(f"engine.release_job(engine.claim_job({job.pk}, 'host:1:2'))")
    assert sweep_jobs().woken == 0
    assert (
        sweep_jobs(
            fetch_database_time() + dt.timedelta(seconds=settings.LEASE_SECONDS)
        ).woken
        == 1
    )


def test_a_board_that_is_compared_stays_with_who_compares_it(elsewhere):
    board_orders.queue_board_comparison(make_submission().phase_id, "corrected")
    job = BoardOrder.objects.get().job
    mine = engine.claim_job(job.pk, "host:1:2")
    assert elsewhere(f"print(engine.claim_job({job.pk}, 'host:3:4'))") == "None"
    assert engine.renew_lease(mine)


@pytest.mark.django_db
@pytest.mark.parametrize("seconds", [0, -90, 0.5, 3600])
def test_a_moment_of_the_database_is_kept_as_any_other(seconds):
    """SQLite compares moments as text, so the form counts to the last digit."""
    job = make_submission().jobs.get()
    before = fetch_database_time()
    Job.objects.filter(pk=job.pk).update(woken_at=database_time_expression(seconds))
    kept = Job.objects.get(pk=job.pk).woken_at
    assert Job.objects.filter(woken_at=kept).count() == 1
    assert abs((kept - before).total_seconds() - seconds) < 60
    assert abs((before - timezone.now()).total_seconds()) < 60
