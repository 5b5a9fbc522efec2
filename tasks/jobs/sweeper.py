"""The sweeper, a regular job, finds lost wake-ups, and jobs whose worker has stopped."""

import datetime as dt
import logging
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import caches
from django_q.conf import Conf
from django_q.models import OrmQ

from citeboard.core.database import database_time_expression, fetch_database_time
from tasks.jobs import tallies
from tasks.jobs.engine import (
    apply_to_each_job,
    expire_lost_leases,
    list_orphaned_jobs,
    resume_waiting_job,
    wake_unclaimed_jobs,
)
from tasks.jobs.queue_choice import GROUP_RETENTION_SECONDS
from tasks.models import Job, WorkerGroup

#: A wake-up that was taken more than TAKEN_WAKEUP_LIFETIME ago is considered lost.
TAKEN_WAKEUP_LIFETIME = dt.timedelta(hours=2)
LAST_SWEEP_CACHE_KEY = "last-sweep"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SweepCounts:
    lost: int = 0
    resumed: int = 0
    woken: int = 0

    def __str__(self) -> str:
        return f"{self.lost} jobs whose worker was gone, {self.resumed} that waited, {self.woken} woken again"


def sweep_jobs(now: dt.datetime | None = None) -> SweepCounts:
    now = now or fetch_database_time()
    lease = dt.timedelta(seconds=settings.LEASE_SECONDS)
    waiting = Job.all_kinds.filter(state=Job.State.WAITING, woken_at__lt=now - lease)
    list_orphaned_jobs().filter(state__in=Job.MOVING).delete()
    swept = SweepCounts(
        expire_lost_leases(now),
        apply_to_each_job(waiting, resume_waiting_job),
        wake_unclaimed_jobs(before=now - lease / 2),
    )
    # Wake-ups of workers that died would be repeated after a week, so they are deleted.
    # A taken wake-up is locked until the retry time of django-q.
    # A new wake-up is not locked.
    handed_out = now + dt.timedelta(seconds=Conf.RETRY)
    OrmQ.objects.filter(
        lock__gt=now + TAKEN_WAKEUP_LIFETIME,
        lock__lt=handed_out - TAKEN_WAKEUP_LIFETIME,
    ).delete()
    WorkerGroup.objects.filter(
        seen_at__lt=database_time_expression(-GROUP_RETENTION_SECONDS)
    ).delete()
    tallies.merge_tallied_rows()
    try:
        caches["queue"].set(LAST_SWEEP_CACHE_KEY, fetch_database_time(), timeout=None)
    except Exception:
        # The sweep has succeeded, and only the command `doctor` reads its time.
        log.warning("The sweep could not leave a sign of life", exc_info=True)
    if swept != SweepCounts():
        log.info("Swept: %s", swept)
    return swept


def load_last_sweep_time() -> dt.datetime | None:
    at: dt.datetime | None = caches["queue"].get(LAST_SWEEP_CACHE_KEY)
    return at
