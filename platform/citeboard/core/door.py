"""The door of uploads: whose request a web process takes on next, before anything of it is read."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connections

from citeboard.core.confined.turns import KeptWaiting, PoolFull

#: Where so many are here in a process, whoever has one of them gets no more in.
CROWD = 100
#: Seconds after which whoever waits goes on in any case, and between looks at whether others take long.
PATIENCE, LOOK = 30.0, 1.0
#: Seconds after which nobody waits for an upload that is at work.
LONG = 3.0
#: For each megabyte, others are taken to wait so many seconds more: who sends little does not wait for much.
PER_MEGABYTE = 0.5
#: So many seconds count at least for an upload that kept others waiting; who differs by less are equals.
STEP = 0.25


class TooManyAtOnce(PoolFull):
    """The account has others here; nothing of this one was read."""

    status = 429
    words = "other files of yours are on their way; please send this one again in a few seconds"


@dataclass(eq=False)
class Visit:
    account: str
    network: str
    megabytes: float
    number: int
    is_let_in: threading.Event = field(default_factory=threading.Event)
    #: Since when it is at work.
    began: float = 0.0

    @property
    def keys(self) -> tuple[str, str]:
        return f"account {self.account}", f"network {self.network}"


class Door:
    """So many uploads are at work; of those that come after it, an upload waits for none.

    First come those whose account lately kept others waiting for less time; of equals those who have fewer
    here, then those whose network kept others waiting for less, then who came first.
    """

    def __init__(self, kept_waiting: KeptWaiting, size: int) -> None:
        self._kept_waiting, self._size = kept_waiting, size
        self._lock = threading.Lock()
        self._waiting: list[Visit] = []
        self._at_work: list[Visit] = []
        self._here = Counter[str]()
        self._numbers = itertools.count()

    @contextmanager
    def visit(self, account: str, network: str, megabytes: float) -> Iterator[None]:
        """Raises TooManyAtOnce; nobody is refused for what others send."""
        visit = Visit(account, network, megabytes, next(self._numbers))
        with self._lock:
            self._come_in(visit)
        self._wait(visit)
        try:
            yield
        finally:
            with self._lock:
                self._leave(visit)

    def _come_in(self, visit: Visit) -> None:
        if self._here.total() >= CROWD and self._here[visit.account]:
            raise TooManyAtOnce(retry_after=1)
        self._waiting.append(visit)
        self._here[visit.account] += 1
        self._let_in()

    def _leave(self, visit: Visit) -> None:
        if any(other.account != visit.account for other in self._waiting):
            took = min(time.monotonic() - visit.began, LONG)
            self._kept_waiting.add(visit.keys, max(took, STEP))
        self._at_work.remove(visit)
        self._here -= Counter([visit.account])
        self._let_in()

    def _wait(self, visit: Visit) -> None:
        if not visit.is_let_in.is_set():
            # A server of databases has not so many connections as may wait here.
            for connection in connections.all(initialized_only=True):
                if not connection.in_atomic_block:
                    connection.close()
        until = time.monotonic() + PATIENCE
        while not visit.is_let_in.wait(LOOK):
            with self._lock:
                self._let_in()
                if time.monotonic() > until and visit in self._waiting:
                    self._begin(visit)

    def _let_in(self) -> None:
        lately = time.monotonic() - LONG
        for visit in sorted(self._waiting, key=self._order):
            before = [other for other in self._at_work if self._cost(other) <= self._cost(visit)]
            if sum(other.began > lately for other in before) >= self._size:
                # Whoever comes later has as many before.
                return
            self._begin(visit)

    def _begin(self, visit: Visit) -> None:
        self._waiting.remove(visit)
        self._at_work.append(visit)
        visit.began = time.monotonic()
        visit.is_let_in.set()

    def _cost(self, visit: Visit) -> tuple[int, int]:
        expected = PER_MEGABYTE * visit.megabytes
        account, network = (int((self._kept_waiting[key] + expected) / STEP) for key in visit.keys)
        return account, network

    def _order(self, visit: Visit) -> tuple[int, int, int, int]:
        account, network = self._cost(visit)
        return account, self._here[visit.account], network, visit.number
