"""What keeps every run moving: jobs whose worker is gone, and wakes that were lost, are found here.

Any number of sweepers may run at the same time; each change is made by one of them alone.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import caches
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Q, QuerySet
from django_q.conf import Conf
from django_q.models import OrmQ

from citeboard.core.database import database_now, from_now
from tasks.jobs.groups import forget_groups
from tasks.jobs.leases import described, expire_lease, resume
from tasks.jobs.queue import wake
from tasks.models import Job

#: Wakes given again in one sweep. Those who wait behind them have wakes of their own in the queue.
MAX_WOKEN = 20
#: A wake that the queue handed out so long ago is in nobody's hands any more.
WAKE_LIFE = dt.timedelta(hours=2)

SIGN_OF_LIFE = "last-sweep"

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Swept:
    """How many jobs a sweep set moving again, or ended because they were begun too often."""

    lost: int = 0
    resumed: int = 0
    woken: int = 0

    def __str__(self) -> str:
        return f"{self.lost} jobs whose worker was gone, {self.resumed} that waited, {self.woken} woken again"


def sweep(now: dt.datetime | None = None) -> Swept:
    """Take jobs from workers that are gone, try again those that wait, and wake those that nobody claims."""
    now = now or database_now()
    swept = Swept(
        lost=_moved(_lost(now), lambda job: expire_lease(job, now)),
        resumed=_moved(_waiting(now), resume),
        woken=wake_again(before=now - dt.timedelta(seconds=settings.LEASE_SECONDS / 2)),
    )
    _forget_old_wakes(now)
    forget_groups()
    _leave_sign_of_life()
    if swept != Swept():
        log.info("Swept: %s", swept)
    return swept


def last_sweep() -> dt.datetime | None:
    """When any sweeper of this installation last came to an end, as far as this machine can know."""
    found: dt.datetime | None = caches["queue"].get(SIGN_OF_LIFE)
    return found


def _leave_sign_of_life() -> None:
    try:
        caches["queue"].set(SIGN_OF_LIFE, database_now(), timeout=None)
    except Exception:
        # For `doctor` alone; a sweep that has done its work is none the worse for it.
        log.warning("The sweep could not leave a sign of life", exc_info=True)


def wake_again(*, before: dt.datetime) -> int:
    """Wake the jobs at the head of the queue whose last wake was given before that time."""
    unclaimed = Job.objects.filter(state=Job.State.QUEUED).filter(
        Q(woken_at__lt=before) | Q(woken_at__isnull=True)
    )
    return _moved(unclaimed.order_by("created_at", "pk")[:MAX_WOKEN], _wake_once)


def _moved(jobs: QuerySet[Job], move: Callable[[Job], bool]) -> int:
    """How many were; one that cannot be keeps no other from it, unless the database is away for all."""
    moved = 0
    for job in jobs:
        try:
            moved += move(job)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            log.exception("Job %s could not be set moving", job.pk, extra=described(job))
    return moved


def _wake_once(job: Job) -> bool:
    """False if another sweeper has woken it since it was read, or a worker has claimed it."""
    with transaction.atomic():
        unchanged = Job.objects.filter(pk=job.pk, state=Job.State.QUEUED, woken_at=job.woken_at)
        if not unchanged.update(woken_at=from_now()):
            return False
        wake(job)
    log.info("Job %s is woken again", job.pk, extra=described(job))
    return True


def end_leases(owner: str) -> int:
    """What the processes of this group held, when the group is known to be gone."""
    held = Job.objects.filter(state=Job.State.RUNNING, lease_owner__startswith=owner)
    return held.update(lease_expires_at=from_now(-1))


def _lost(now: dt.datetime) -> QuerySet[Job]:
    return Job.objects.filter(state=Job.State.RUNNING, lease_expires_at__lt=now).select_related("submission")


def _waiting(now: dt.datetime) -> QuerySet[Job]:
    since = now - dt.timedelta(seconds=settings.LEASE_SECONDS)
    return Job.objects.filter(state=Job.State.WAITING, woken_at__lt=since)


def _forget_old_wakes(now: dt.datetime) -> None:
    """The queue keeps a wake until it is acknowledged; one whose worker died would come back in a week."""
    # A wake that was handed out is locked from then on for the time of a retry; a fresh one until now.
    handed_out = now + dt.timedelta(seconds=Conf.RETRY)
    OrmQ.objects.filter(lock__gt=now + WAKE_LIFE, lock__lt=handed_out - WAKE_LIFE).delete()
