"""Which groups of workers are there, and so which queues are served."""

import datetime as dt
import time

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.db.models import Max
from django.utils.translation import gettext as _

from citeboard.core.database import from_now
from citeboard.core.outages import DATABASE, note_outage, note_recovery
from citeboard.core.processes import group_name
from tasks.jobs.queue_choice import claimable
from tasks.models import Job, WorkerGroup

#: Seconds between two signs of life, and without one after which a group counts as gone, or is forgotten.
PACE, MAX_SILENCE, FORGOTTEN = 5.0, 60, 24 * 60 * 60


class SignOfLife:
    """Of a group, given by the process of it that fetches wakes: while it does, the group takes jobs."""

    def __init__(self, group: int) -> None:
        self._name = group_name(group)
        self._next = 0.0

    def give(self) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + PACE
        try:
            note_group(self._name)
        except (OperationalError, InterfaceError) as reason:
            note_outage(DATABASE, f"the group of workers cannot leave a sign of life: {reason}")
            connection.close()
        else:
            note_recovery(DATABASE)


def note_group(name: str) -> None:
    facts = {"queues": settings.QUEUES, "workers": settings.WORKERS, "seen_at": from_now()}
    WorkerGroup.objects.update_or_create(name=name, defaults=facts)


def lock_group(name: str) -> None:
    """Until the end of the transaction; processes of one group claim one after the other."""
    if not WorkerGroup.objects.select_for_update().filter(name=name).exists():
        note_group(name)
        WorkerGroup.objects.select_for_update().get(name=name)


def living_groups() -> list[WorkerGroup]:
    return list(WorkerGroup.objects.filter(seen_at__gt=from_now(-MAX_SILENCE)).order_by("name"))


def forget_groups() -> None:
    WorkerGroup.objects.filter(seen_at__lt=from_now(-FORGOTTEN)).delete()


def forget_group(name: str) -> None:
    WorkerGroup.objects.filter(name=name).delete()


def why_unserved(queue: str) -> str:
    """Why nothing takes jobs of the queue, as a clause; empty where some group does."""
    groups = living_groups()
    if not groups:
        return _("no worker is running")
    if any(group.serves(queue) for group in groups):
        return ""
    return _("no worker serves the queue %(queue)s") % {"queue": queue}


START = 15.0  # seconds that a group may take until it takes jobs
SHORTEST = 5.0  # seconds that a busy machine may let a free worker wait, however short leases are


class Watchdog:
    """Watches one group of workers, known by how its claims begin."""

    def __init__(self, owner: str, *, workers: int) -> None:
        self.owner = owner
        self.workers = workers
        self._last_claim: dt.datetime | None = None
        self._since = time.monotonic() + START

    def is_stuck(self) -> bool:
        now = time.monotonic()
        claims = Job.all_kinds.filter(lease_owner__startswith=self.owner)
        running = claims.filter(state=Job.State.RUNNING).count()
        if running >= self.workers or not claimable(self.owner).exists():
            self._since = max(self._since, now)
        else:
            before = self._last_claim
            self._last_claim = claims.aggregate(last=Max("started_at"))["last"]
            if self._last_claim != before:
                self._since = now
        return now - self._since > max(settings.LEASE_SECONDS, SHORTEST)
