"""The queue of uploads: which request with a file a web process works on next.

A process works on a few uploads at a time. Other uploads wait before anything of their files is read. The
account whose uploads kept others waiting for less time goes first, and it does not wait for an upload of an
account that kept others waiting for longer. The default cache counts this time for each account, so it holds
in all processes. Every count ends after ten minutes.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from django.core.cache import cache
from django.db import DatabaseError, connections

from citeboard.core.confined.turns import PoolFull

#: If a process has so many uploads, an account with one of them gets no further one in.
MAX_UPLOADS = 100
#: Seconds that an upload waits at most, and between two looks at the queue.
PATIENCE, LOOK_SECONDS = 30.0, 1.0
#: Seconds after which no other upload waits for one at work.
LONG = 3.0
#: Time is counted in quarters of a second, at least one for each upload that kept others waiting.
STEPS_PER_SECOND = 4
#: An upload is expected to keep others waiting for two steps for each megabyte.
STEPS_PER_MEGABYTE = 2
#: Seconds until the count of an account ends.
COUNTED_SECONDS = 600


class TooManyAtOnce(PoolFull):
    """The account has other uploads here; nothing of this upload was read."""

    status = 429
    words = "other files of yours are on their way; please send this one again in a few seconds"


@dataclass(eq=False)
class Ticket:
    account: str
    #: The steps for which the account kept others waiting, with those expected of this upload.
    steps: int
    number: int
    may_begin: threading.Event = field(default_factory=threading.Event)
    began: float = 0.0


class UploadQueue:
    """At most ``size`` uploads are at work that no other upload overtakes."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._waiting: list[Ticket] = []
        self._at_work: list[Ticket] = []
        self._here = Counter[str]()
        self._numbers = itertools.count()

    @contextmanager
    def turn(self, account: str, megabytes: float) -> Iterator[Ticket]:
        """Wait for the turn of an upload. Raises TooManyAtOnce."""
        steps = steps_of(account) + int(STEPS_PER_MEGABYTE * megabytes)
        ticket = Ticket(account, steps, next(self._numbers))
        self._enter(ticket)
        self._wait(ticket)
        try:
            yield ticket
        finally:
            if steps := self._leave(ticket):
                count(account, steps)

    def _enter(self, ticket: Ticket) -> None:
        with self._lock:
            if self._here.total() >= MAX_UPLOADS and self._here[ticket.account]:
                raise TooManyAtOnce(retry_after=1)
            self._here[ticket.account] += 1
            self._waiting.append(ticket)
            self._begin_next()

    def _wait(self, ticket: Ticket) -> None:
        if not ticket.may_begin.is_set():
            # A database server has fewer connections than uploads may wait here.
            for connection in connections.all(initialized_only=True):
                if not connection.in_atomic_block:
                    connection.close()
        until = time.monotonic() + PATIENCE
        while not ticket.may_begin.wait(LOOK_SECONDS):
            with self._lock:
                self._begin_next()
                if time.monotonic() > until and ticket in self._waiting:
                    self._begin(ticket)

    def _leave(self, ticket: Ticket) -> int:
        """Return the steps for which the upload kept those of other accounts waiting."""
        steps = 0
        with self._lock:
            self._at_work.remove(ticket)
            self._here -= Counter([ticket.account])
            if any(other.account != ticket.account for other in self._waiting):
                seconds = min(time.monotonic() - ticket.began, LONG)
                steps = max(1, int(STEPS_PER_SECOND * seconds))
            for other in self._waiting:
                if other.account == ticket.account:
                    other.steps += steps
            self._begin_next()
        return steps

    def _begin_next(self) -> None:
        """Let those begin who need not wait for an upload that is at work."""
        lately = time.monotonic() - LONG
        for ticket in sorted(self._waiting, key=self._order):
            before = [
                other
                for other in self._at_work
                if other.steps <= ticket.steps and other.began > lately
            ]
            if len(before) >= self._size:
                return
            self._begin(ticket)

    def _begin(self, ticket: Ticket) -> None:
        self._waiting.remove(ticket)
        self._at_work.append(ticket)
        ticket.began = time.monotonic()
        ticket.may_begin.set()

    def _order(self, ticket: Ticket) -> tuple[int, int, int]:
        return ticket.steps, self._here[ticket.account], ticket.number


def steps_of(account: str) -> int:
    return int(cache.get(_key(account), 0))


def count(account: str, steps: int) -> None:
    # An upload that was stored is not lost because its time could not be counted.
    with suppress(DatabaseError):
        try:
            cache.incr(_key(account), steps)
        except ValueError:
            # If two processes begin a count at once, one of the two uploads is not counted.
            cache.add(_key(account), steps, COUNTED_SECONDS)


def _key(account: str) -> str:
    return f"upload-queue:{account}"
