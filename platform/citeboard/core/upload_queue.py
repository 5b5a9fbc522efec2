"""The queue of uploads, which decides the order in which a web process reads them.

A process reads a few uploads at a time. All other uploads wait before any of their
content is read. Accounts whose uploads caused less waiting time for other accounts come
first. Uploads of accounts that caused less waiting time also start while uploads of
accounts that caused more waiting time are running. The default cache, which all
processes share, stores the caused waiting time of each account for ten minutes.
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

from citeboard.core.confined.turns import SandboxPoolFull

#: A process with MAX_UPLOADS_BEFORE_REJECTION uploads in its queue rejects an account's second upload.
MAX_UPLOADS_BEFORE_REJECTION = 100
#: An upload waits at most MAX_UPLOAD_WAIT_SECONDS seconds and checks the queue every QUEUE_POLL_SECONDS.
MAX_UPLOAD_WAIT_SECONDS, QUEUE_POLL_SECONDS = 30.0, 1.0
#: After LONG_UPLOAD_SECONDS seconds, a running upload no longer keeps other uploads waiting.
LONG_UPLOAD_SECONDS = 3.0
#: The queue counts waiting time in steps of a quarter of a second.
#: Each upload that made other uploads wait counts as at least one step of waiting time.
WAITING_STEPS_PER_SECOND = 4
#: The queue expects an upload to cause WAITING_STEPS_PER_MEGABYTE waiting steps per megabyte.
WAITING_STEPS_PER_MEGABYTE = 2
#: The counted waiting steps of an account expire after WAITING_STEPS_LIFETIME_SECONDS seconds.
WAITING_STEPS_LIFETIME_SECONDS = 600


class TooManyConcurrentUploads(SandboxPoolFull):
    """The account that sent an upload has other uploads in this process.

    The site has read none of the new upload's content.
    """

    status = 429
    words = "other files of yours are on their way; please send this one again in a few seconds"


@dataclass(eq=False)
class UploadTicket:
    account: str
    #: `steps` measures how long the account of the upload has made other accounts wait.
    #: `steps` also includes the time that this upload is expected to make others wait.
    steps: int
    number: int
    may_begin: threading.Event = field(default_factory=threading.Event)
    began: float = 0.0


class UploadQueue:
    """A queue that starts an upload if fewer than ``size`` running uploads have
    priority over the upload.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._waiting: list[UploadTicket] = []
        self._at_work: list[UploadTicket] = []
        self._uploads_by_account = Counter[str]()
        self._numbers = itertools.count()

    @contextmanager
    def turn(self, account: str, megabytes: float) -> Iterator[UploadTicket]:
        """Wait until the process may read an upload.

        Raises TooManyConcurrentUploads if the account has other uploads in a busy process.
        """
        steps = find_waiting_steps(account) + int(
            WAITING_STEPS_PER_MEGABYTE * megabytes
        )
        ticket = UploadTicket(account, steps, next(self._numbers))
        self._add_ticket(ticket)
        self._wait_for_ticket(ticket)
        try:
            yield ticket
        finally:
            if steps := self._remove_ticket(ticket):
                add_waiting_steps(account, steps)

    def _add_ticket(self, ticket: UploadTicket) -> None:
        with self._lock:
            if (
                self._uploads_by_account.total() >= MAX_UPLOADS_BEFORE_REJECTION
                and self._uploads_by_account[ticket.account]
            ):
                raise TooManyConcurrentUploads(retry_after=1)
            self._uploads_by_account[ticket.account] += 1
            self._waiting.append(ticket)
            self._begin_next_upload()

    def _wait_for_ticket(self, ticket: UploadTicket) -> None:
        if not ticket.may_begin.is_set():
            # A database server allows fewer connections than uploads can wait.
            for connection in connections.all(initialized_only=True):
                if not connection.in_atomic_block:
                    connection.close()
        until = time.monotonic() + MAX_UPLOAD_WAIT_SECONDS
        while not ticket.may_begin.wait(QUEUE_POLL_SECONDS):
            with self._lock:
                self._begin_next_upload()
                if time.monotonic() > until and ticket in self._waiting:
                    self._begin_upload(ticket)

    def _remove_ticket(self, ticket: UploadTicket) -> int:
        steps = 0
        with self._lock:
            self._at_work.remove(ticket)
            self._uploads_by_account -= Counter([ticket.account])
            if any(other.account != ticket.account for other in self._waiting):
                seconds = min(time.monotonic() - ticket.began, LONG_UPLOAD_SECONDS)
                steps = max(1, int(WAITING_STEPS_PER_SECOND * seconds))
            for other in self._waiting:
                if other.account == ticket.account:
                    other.steps += steps
            self._begin_next_upload()
        return steps

    def _begin_next_upload(self) -> None:
        oldest_start = time.monotonic() - LONG_UPLOAD_SECONDS
        for ticket in sorted(self._waiting, key=self._compute_priority):
            before = [
                other
                for other in self._at_work
                if other.steps <= ticket.steps and other.began > oldest_start
            ]
            if len(before) >= self._size:
                return
            self._begin_upload(ticket)

    def _begin_upload(self, ticket: UploadTicket) -> None:
        self._waiting.remove(ticket)
        self._at_work.append(ticket)
        ticket.began = time.monotonic()
        ticket.may_begin.set()

    def _compute_priority(self, ticket: UploadTicket) -> tuple[int, int, int]:
        return ticket.steps, self._uploads_by_account[ticket.account], ticket.number


def find_waiting_steps(account: str) -> int:
    return int(cache.get(_waiting_steps_cache_key(account), 0))


def add_waiting_steps(account: str, steps: int) -> None:
    # A stored upload must not fail if its waiting time cannot be counted.
    with suppress(DatabaseError):
        try:
            cache.incr(_waiting_steps_cache_key(account), steps)
        except ValueError:
            # One upload is not counted if two processes create the counter at once.
            cache.add(
                _waiting_steps_cache_key(account), steps, WAITING_STEPS_LIFETIME_SECONDS
            )


def _waiting_steps_cache_key(account: str) -> str:
    return f"upload-queue:{account}"
