"""The door of uploads: whose request a web process takes on next, before anything of it is read."""

from __future__ import annotations

import fcntl
import itertools
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.db import connections

from citeboard.core.confined.turns import KeptWaiting, PoolFull

#: Where so many are here in a process, whoever has one of them gets no more in.
CROWD = 100
#: Seconds after which whoever waits goes on in any case, and between looks at whether others take long.
PATIENCE, LOOK = 30.0, 1.0
#: Seconds after which nobody waits for an upload that is at work.
LONG = 3.0
#: Seconds between looks at whether somebody before whom one steps aside is still at work.
GLANCE = 0.02
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
    #: Since when it is at work, without the time for which it stepped aside.
    began: float = 0.0
    stepped_aside: float = 0.0

    @property
    def keys(self) -> tuple[str, str]:
        return f"account {self.account}", f"network {self.network}"


class Elsewhere:
    """What other processes of the machine have at work, by locks on the bytes of a file: they end with these.
    Byte N is locked where the account of an upload kept others waiting for N steps and has no other there.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._told: int | None = None

    def tell(self, least: int | None) -> None:
        if least != self._told:
            if self._told is not None:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._told)
            if least is not None:
                fcntl.lockf(self._file, fcntl.LOCK_SH, 1, least)
            self._told = least

    def has_less_than(self, steps: int) -> bool:
        """Asked only where this process has told of none itself, whose lock would go."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, steps)
        except OSError:
            return True
        fcntl.lockf(self._file, fcntl.LOCK_UN, steps)
        return False


class Door:
    """So many uploads are at work; of those that come after it, an upload waits for none. First come those
    whose account lately kept others waiting for less time; of equals those who have fewer here, then those
    whose network kept others waiting for less, then who came first. Whose account has several here steps
    aside, between one step of its work and the next, while one is at work in any process whose account has no
    other and kept others waiting for less.
    """

    def __init__(
        self, kept_waiting: KeptWaiting, size: int, elsewhere: Elsewhere | None = None
    ) -> None:
        self._kept_waiting, self._size, self._elsewhere = kept_waiting, size, elsewhere
        self._lock = threading.Lock()
        self._waiting: list[Visit] = []
        self._at_work: list[Visit] = []
        self._here = Counter[str]()
        self._numbers = itertools.count()

    @contextmanager
    def visit(self, account: str, network: str, megabytes: float) -> Iterator[Visit]:
        """Raises TooManyAtOnce; nobody is refused for what others send."""
        visit = Visit(account, network, megabytes, next(self._numbers))
        with self._lock:
            self._come_in(visit)
        self._wait(visit)
        try:
            self.step_aside(visit)
            yield visit
        finally:
            with self._lock:
                self._leave(visit)

    def step_aside(self, visit: Visit) -> None:
        """For LONG at most in all, and with no transaction open."""
        began = time.monotonic()
        while (passed := time.monotonic() - began) < LONG - visit.stepped_aside:
            with self._lock:
                if not self._is_to_step_aside(visit):
                    break
            time.sleep(GLANCE)
        visit.stepped_aside += passed
        visit.began += passed

    def _is_to_step_aside(self, visit: Visit) -> bool:
        steps = self._cost(visit)[0]
        if self._here[visit.account] == 1 or not steps:
            return False
        least = self._tell()
        if least is not None and least < steps:
            return True
        return self._elsewhere is not None and self._elsewhere.has_less_than(steps)

    def _tell(self) -> int | None:
        """The least that an account with one upload here, which is at work, kept others waiting."""
        single = [visit for visit in self._at_work if self._here[visit.account] == 1]
        least = min((self._cost(visit)[0] for visit in single), default=None)
        if self._elsewhere is not None:
            self._elsewhere.tell(least)
        return least

    def _come_in(self, visit: Visit) -> None:
        if self._here.total() >= CROWD and self._here[visit.account]:
            raise TooManyAtOnce(retry_after=1)
        self._waiting.append(visit)
        self._here[visit.account] += 1
        self._let_in()
        self._tell()

    def _leave(self, visit: Visit) -> None:
        if any(other.account != visit.account for other in self._waiting):
            self._kept_waiting.add(
                visit.keys, max(min(time.monotonic() - visit.began, LONG), STEP)
            )
        self._at_work.remove(visit)
        self._here -= Counter([visit.account])
        self._let_in()
        self._tell()

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
                self._tell()

    def _let_in(self) -> None:
        lately = time.monotonic() - LONG
        for visit in sorted(self._waiting, key=self._order):
            before = [
                other
                for other in self._at_work
                if self._cost(other) <= self._cost(visit)
            ]
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
        account, network = (
            int((self._kept_waiting[key] + expected) / STEP) for key in visit.keys
        )
        return account, network

    def _order(self, visit: Visit) -> tuple[int, int, int, int]:
        account, network = self._cost(visit)
        return account, self._here[visit.account], network, visit.number
