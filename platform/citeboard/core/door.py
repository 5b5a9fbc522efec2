"""The door of uploads: whose request a web process takes on next, before anything of it is read."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from citeboard.core.confined.turns import PoolFull, Used

#: So many may be here in a process until nobody gets one more in than others have.
CROWD = 30
#: Seconds after which whoever waits goes on in any case, and between looks at whether others take long.
PATIENCE, LOOK = 30.0, 0.5
#: Seconds after which nobody waits for an upload that is at work.
LONG = 3.0
#: For each megabyte, so many seconds more are taken to be used: who sends little does not wait for much.
PER_MEGABYTE = 0.5
#: So many seconds more count for each upload that kept others waiting; who differs by less are equals.
STEP = 0.25

#: Of what was used in the hour before: with nothing of it, all who send much are new at the same moment.
REMEMBERED = 0.5


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

    First come those whose account has used less of this hour, and of those before it by halves; then those
    whose network has; then who came first. Used is the computing for its requests and for the reading of its
    files, and each turn that it had while others waited.
    """

    def __init__(self, read: Used, size: int) -> None:
        self._read, self._used, self._size = read, Used(REMEMBERED), size
        self._lock = threading.Lock()
        self._waiting: list[Visit] = []
        self._at_work: list[Visit] = []
        self._numbers = itertools.count()

    @contextmanager
    def visit(self, account: str, network: str, megabytes: float) -> Iterator[None]:
        """Raises TooManyAtOnce; nobody is refused for what others send."""
        visit = Visit(account, network, megabytes, next(self._numbers))
        with self._lock:
            self._come_in(visit)
        self._wait(visit)
        began = time.thread_time()
        try:
            yield
        finally:
            with self._lock:
                self._leave(visit, time.thread_time() - began)

    def _come_in(self, visit: Visit) -> None:
        self._used.begin_hour()
        here = Counter(other.account for other in (*self._waiting, *self._at_work))
        if here.total() >= CROWD and here[visit.account] == max(here.values()):
            raise TooManyAtOnce(retry_after=1)
        self._waiting.append(visit)
        self._let_in()

    def _leave(self, visit: Visit, seconds: float) -> None:
        kept_waiting = any(other.account != visit.account for other in self._waiting)
        self._used.add(visit.keys, seconds + (STEP if kept_waiting else 0.0))
        self._at_work.remove(visit)
        self._let_in()

    def _wait(self, visit: Visit) -> None:
        until = time.monotonic() + PATIENCE
        while not visit.is_let_in.wait(LOOK):
            with self._lock:
                self._let_in()
                if time.monotonic() > until and visit in self._waiting:
                    self._begin(visit)

    def _let_in(self) -> None:
        lately = time.monotonic() - LONG
        for visit in sorted(self._waiting, key=self._rank):
            place = self._rank(visit)[:-1]
            before = [other for other in self._at_work if self._rank(other)[:-1] <= place]
            if sum(other.began > lately for other in before) >= self._size:
                # Whoever comes later has as many before.
                return
            self._begin(visit)

    def _begin(self, visit: Visit) -> None:
        self._waiting.remove(visit)
        self._at_work.append(visit)
        visit.began = time.monotonic()
        visit.is_let_in.set()

    def _rank(self, visit: Visit) -> tuple[int, int, int]:
        expected = PER_MEGABYTE * visit.megabytes
        account, network = (int((self._used[key] + self._read[key] + expected) / STEP) for key in visit.keys)
        return account, network, visit.number
