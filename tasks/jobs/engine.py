"""The one durable job engine: who works on a row and what becomes of it, for every kind of work.

Runs to be computed, checked or scored, boards to be compared, work in the background, e-mails and webhooks:
the row is the truth, and every change of it is one conditional UPDATE. A claim counts an attempt and is
recognised by its owner and that attempt, so whoever lost a row changes nothing any more. Leases go by the
database's clock. django-q2 does no more than wake a worker.
"""

import datetime as dt
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, models, transaction
from django.db.models import F, Q, QuerySet
from django.utils.text import capfirst
from django_q.tasks import async_task

from citeboard.core.database import database_now, from_now
from tasks.models import Job

#: What a run, background work and a board are woken for, by priority. Named and not imported, since scoring
#: stands to the right of tasks.
SCORE = "scoring.worker.score.score_next"
BACKGROUND = "scoring.background.work.do_job"
COMPARE = "scoring.worker.compare_board.compare_board"

#: Rows woken again in one sweep. Those who wait behind them have wakes of their own in the queue.
MAX_WOKEN = 20

Row = TypeVar("Row", bound=models.Model)

log = logging.getLogger(__name__)


def give_wake(function: str, number: int, *, name: str, queue: str = Job.LIGHT) -> None:
    """In the transaction that makes a row ready.

    Where the database holds the queue, the wake is committed or rolled back with the row. Redis knows nothing
    of transactions, so there the wake is given on commit; if that fails, the row stands and a sweep wakes it.
    """
    enqueue = partial(async_task, function, number, task_name=f"{name}-{number}", cluster=queue)
    if "orm" in settings.Q_CLUSTER:
        enqueue()
    else:
        transaction.on_commit(enqueue, robust=True)


class Kind(Generic[Row]):
    """One kind of work: the columns of its lease, and how long that lasts."""

    model: type[Row]
    related: tuple[str, ...] = ()
    #: Of a kind without a column of states, a row with a lease is under way.
    state, running = "state", "running"
    owner, expires, attempt = "lease_owner", "lease_expires_at", "attempt"
    #: Seconds; those of the settings where it is None.
    lease: float | None = None
    #: What a row is given whenever a lease of it ends.
    when_idle: ClassVar[Mapping[str, object]] = {}

    @property
    def rows(self) -> QuerySet[Row]:
        return self.model._default_manager.all()  # noqa: SLF001  (documented)

    @property
    def under_way(self) -> QuerySet[Row]:
        facts = {self.state: self.running} if self.state else {f"{self.expires}__isnull": False}
        return self.rows.filter(**facts)

    def leased(self, row: Row) -> QuerySet[Row]:
        columns = [self.owner, *([self.attempt] if self.attempt else [])]
        return self.under_way.filter(pk=row.pk, **{name: getattr(row, name) for name in columns})

    def claim(self, rows: QuerySet[Row], pk: int, owner: str, **facts: object) -> Row | None:
        """Take this one of the rows and count the attempt; None if it is none of them any more."""
        facts |= {self.owner: owner, self.expires: self._lease_end()}
        facts |= {self.state: self.running} if self.state else {}
        facts |= {self.attempt: F(self.attempt) + 1} if self.attempt else {}
        with transaction.atomic():
            if not rows.order_by().filter(pk=pk).update(**facts):
                return None
            return self.rows.select_related(*self.related).get(pk=pk)

    def heartbeat(self, row: Row, **facts: object) -> bool:
        """A sign of life that renews the lease; False once the row is no longer ours."""
        return bool(self.leased(row).update(**{self.expires: self._lease_end()}, **facts))

    def end_lease(self, row: Row, *, is_counted: bool = True, **facts: object) -> bool:
        """Write what became of the row, whose attempt may not count; False once it is no longer ours."""
        facts |= {} if is_counted else {self.attempt: F(self.attempt) - 1}
        return bool(self.leased(row).update(**{self.expires: None}, **self.when_idle, **facts))

    def lost(self, now: dt.datetime) -> QuerySet[Row]:
        """Those whose worker gave no sign of life until its lease ended."""
        return self.under_way.filter(**{f"{self.expires}__lt": now})

    def leased_by(self, owner: str) -> int:
        facts = {f"{self.owner}__startswith": owner, f"{self.expires}__gt": from_now()}
        return self.under_way.filter(**facts).count()

    def end_leases(self, owner: str) -> int:
        gone = self.under_way.filter(**{f"{self.owner}__startswith": owner})
        return gone.update(**{self.expires: from_now(-1)}, **self.when_idle)

    def _lease_end(self) -> Any:
        return from_now(settings.LEASE_SECONDS if self.lease is None else self.lease)


class QueuedKind(Kind[Row]):
    """What a worker is woken for, and what begins again so often when its worker is gone."""

    function: str
    #: How the names of its wakes begin.
    name: str
    queued = "queued"
    lost_reason: str
    #: What a row is given when its lease was lost.
    when_lost: ClassVar[Mapping[str, object]] = {}
    #: What it is given when it is in the queue again.
    when_queued: ClassVar[Mapping[str, object]] = {"progress": 0}

    def wake(self, row: Row) -> None:
        self.rows.filter(pk=row.pk).update(woken_at=from_now())
        give_wake(self.function, row.pk, name=self.name, queue=getattr(row, "queue", Job.LIGHT))

    def requeue(self, row: Row, reason: str, *, is_counted: bool = True) -> bool:
        with transaction.atomic():
            facts: dict[str, Any] = {self.state: self.queued, "reason": reason, **self.when_queued}
            if not self.end_lease(row, is_counted=is_counted, **facts):
                return False
            self.was_queued(row, reason)
            self.wake(row)
        log.warning("%s is queued again: %s", self.title(row), reason, extra=self.described(row))
        return True

    def crashed(self, row: Row, reason: str) -> bool:
        """The work ended without a word: begin again, or fail once every attempt is used up."""
        attempts = getattr(row, self.attempt)
        if attempts < settings.MAX_ATTEMPTS:
            return self.requeue(row, reason)
        return self.fail_last(row, reason, attempts)

    def expire_lease(self, row: Row, now: dt.datetime) -> bool:
        """Take it from its worker, unless that has renewed the lease since the row was read."""
        with transaction.atomic():
            lost = self.leased(row).filter(**{f"{self.expires}__lt": now})
            return bool(lost.update(progress=0, **self.when_lost)) and self.crashed(row, self.lost_reason)

    def next_queued(self) -> int | None:
        queued = self.rows.filter(**{self.state: self.queued}).order_by("created_at", "pk")
        return queued.values_list("pk", flat=True).first()

    def wake_again(self, *, before: dt.datetime) -> int:
        late = Q(woken_at__lt=before) | Q(woken_at__isnull=True)
        unclaimed = self.rows.filter(late, **{self.state: self.queued}).order_by("created_at", "pk")
        return self.move_each(unclaimed[:MAX_WOKEN], self._wake_once)

    def _wake_once(self, row: Row) -> bool:
        facts = {self.state: self.queued, "woken_at": row.woken_at}  # type: ignore[attr-defined]
        with transaction.atomic():
            if not self.rows.filter(pk=row.pk, **facts).update(woken_at=from_now()):
                return False
            self.wake(row)
        log.info("%s is woken again", self.title(row), extra=self.described(row))
        return True

    def expire_lost(self, now: dt.datetime) -> int:
        return self.move_each(self.lost(now), lambda row: self.expire_lease(row, now))

    def move_each(self, rows: Iterable[Row], move: Callable[[Row], bool]) -> int:
        """How many were; one that cannot be keeps no other from it, unless the database is away for all."""
        moved = 0
        for row in rows:
            try:
                moved += move(row)
            except (OperationalError, InterfaceError):
                raise
            except Exception:
                log.exception("%s could not be set moving", self.title(row), extra=self.described(row))
        return moved

    def was_queued(self, row: Row, reason: str) -> None:
        pass

    def fail_last(self, row: Row, reason: str, attempts: int) -> bool:
        raise NotImplementedError

    def title(self, row: Row) -> str:
        return f"{capfirst(self.model._meta.verbose_name)} {row.pk}"  # noqa: SLF001  (documented)

    def described(self, row: Row) -> dict[str, object]:
        return {}


class DueKind(Kind[Row]):
    """What is sent when its time has come, again after pauses; a row whose sender is gone is due as well."""

    running, queued, due_at = "sending", "queued", "due_at"

    @property
    def due(self) -> QuerySet[Row]:
        # A second more, since SQLite counts in milliseconds.
        now = database_now() + dt.timedelta(seconds=1)
        is_due = Q(**{self.state: self.queued, f"{self.due_at}__lte": now})
        is_lost = Q(**{self.state: self.running, f"{self.expires}__lt": now})
        return self.rows.filter(is_due | is_lost).order_by(self.due_at, "pk")

    def take_due(self, *, most: int, until: float) -> Iterator[Row]:
        owner = secrets.token_hex(8)
        for pk in list(self.due.values_list("pk", flat=True)[:most]):
            if time.monotonic() > until:
                return
            if (row := self.claim(self.due, pk, owner)) is not None:
                yield row
