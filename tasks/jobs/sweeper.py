"""The sweeper, a regular job, finds lost wake-ups, and jobs whose worker has stopped."""

import datetime as dt
import logging
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import caches
from django_q.conf import Conf
from django_q.models import OrmQ

from citeboard.core.database import database_now, from_now
from tasks.jobs import tallies
from tasks.jobs.engine import expire_lost, move_each, orphaned, resume, wake_again
from tasks.jobs.queue_choice import FORGOTTEN
from tasks.models import Job, WorkerGroup

#: A wake-up that was taken more than WAKE_LIFE ago is considered lost.
WAKE_LIFE = dt.timedelta(hours=2)
SIGN_OF_LIFE = "last-sweep"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Swept:
    lost: int = 0
    resumed: int = 0
    woken: int = 0

    def __str__(self) -> str:
        return f"{self.lost} jobs whose worker was gone, {self.resumed} that waited, {self.woken} woken again"


def sweep(now: dt.datetime | None = None) -> Swept:
    now = now or database_now()
    lease = dt.timedelta(seconds=settings.LEASE_SECONDS)
    waiting = Job.all_kinds.filter(state=Job.State.WAITING, woken_at__lt=now - lease)
    orphaned().filter(state__in=Job.MOVING).delete()
    swept = Swept(
        expire_lost(now), move_each(waiting, resume), wake_again(before=now - lease / 2)
    )
    # Wake-ups of workers that died would be repeated after a week, so they are deleted.
    # A taken wake-up is locked until the retry time of django-q.
    # A new wake-up is not locked.
    handed_out = now + dt.timedelta(seconds=Conf.RETRY)
    OrmQ.objects.filter(
        lock__gt=now + WAKE_LIFE, lock__lt=handed_out - WAKE_LIFE
    ).delete()
    WorkerGroup.objects.filter(seen_at__lt=from_now(-FORGOTTEN)).delete()
    tallies.add_up()
    try:
        caches["queue"].set(SIGN_OF_LIFE, database_now(), timeout=None)
    except Exception:
        # The sweep has succeeded, and only the command `doctor` reads its time.
        log.warning("The sweep could not leave a sign of life", exc_info=True)
    if swept != Swept():
        log.info("Swept: %s", swept)
    return swept


def last_sweep() -> dt.datetime | None:
    at: dt.datetime | None = caches["queue"].get(SIGN_OF_LIFE)
    return at
