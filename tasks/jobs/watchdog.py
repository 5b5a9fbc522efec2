"""Notices that a group of workers has stopped taking jobs, although its processes may all be there."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable

from django.conf import settings
from django.db.models import Max

from tasks.jobs.choosing import claimable
from tasks.models import Job

START = 15.0  # seconds that a group may take until it takes jobs
SHORTEST = 5.0  # seconds that a busy machine may let a free worker wait, however short leases are


class Watchdog:
    """Watches one group of workers, known by how its claims begin.

    A queue whose idle worker is killed may hand out nothing any more and say nothing of it. So what counts is
    what the database shows: jobs wait, some worker of the group is free, and none of them claims one.
    ``busy_besides`` tells how many workers of a group are at something else than a job.
    """

    def __init__(
        self, owner: str, *, workers: int, busy_besides: Callable[[str], int] = lambda owner: 0
    ) -> None:
        self.owner = owner
        self.workers = workers
        self.busy_besides = busy_besides
        self._last_claim: dt.datetime | None = None
        self._since = time.monotonic() + START

    def is_stuck(self) -> bool:
        """To be asked again and again; true once nothing was claimed for as long as a lease lasts."""
        now = time.monotonic()
        if not self._could_claim():
            self._since = max(self._since, now)
        elif self._has_claimed():
            self._since = now
        return now - self._since > max(settings.LEASE_SECONDS, SHORTEST)

    def _could_claim(self) -> bool:
        if not claimable(self.owner).exists():
            return False
        running = Job.objects.filter(state=Job.State.RUNNING, lease_owner__startswith=self.owner)
        return running.count() + self.busy_besides(self.owner) < self.workers

    def _has_claimed(self) -> bool:
        before = self._last_claim
        claims = Job.objects.filter(lease_owner__startswith=self.owner)
        self._last_claim = claims.aggregate(last=Max("started_at"))["last"]
        return self._last_claim != before
