"""The queue that decides the order in which the site reads uploads.

Only a limited number of uploads is read at the same time. Senders who recently caused
less waiting time for other senders come first, and no account can occupy all slots.
"""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

#: A request waits at most MAX_READ_WAIT_SECONDS seconds until reading of its file begins.
#: A rejected client may try again after RETRY_AFTER_SECONDS seconds.
MAX_READ_WAIT_SECONDS, RETRY_AFTER_SECONDS = 3.0, 5
#: Each slot accepts MAX_READ_REQUESTS_PER_SLOT requests, including the running request.
#: A web process needs more threads than all its running and waiting requests.
MAX_READ_REQUESTS_PER_SLOT = 4
#: The queue checks every POLL_SECONDS seconds whether to replace a running request.
POLL_SECONDS = 0.1
HOUR_SECONDS = 3600
#: WAITING_TIME_HALF_LIFE_SECONDS is the half-life in seconds of the recorded waiting time.
WAITING_TIME_HALF_LIFE_SECONDS = 600


@dataclass(frozen=True, kw_only=True)
class UploadSender:
    """The sender of a file, whose submitted runs have priority over checks.

    A sender who ``gives_way`` has an hourly limit of processor seconds. The site
    interrupts work of this sender if a sender with higher priority waits.
    """

    account: str
    team: str = ""
    network: str = ""
    submits: bool = True
    gives_way: bool = False

    @property
    def keys(self) -> tuple[str, str, str]:
        return (
            f"team {self.team or self.account}",
            f"account {self.account}",
            f"network {self.network}",
        )


class SandboxPoolFull(Exception):
    status = 503
    is_upload = True
    words = (
        "many files are being read just now; please send yours again in a few seconds"
    )

    def __init__(
        self, words: str = "", *, retry_after: int = RETRY_AFTER_SECONDS
    ) -> None:
        self.retry_after = retry_after
        super().__init__(words or self.words)


class HourlyReadingLimitReached(SandboxPoolFull):
    """The account of the sender has used up this hour's processor time for reading
    files.
    """

    status = 429

    def __init__(self, seconds: float, retry_after: int) -> None:
        message = (
            f"reading your files has taken {seconds:g} s of computing within the hour, which is all that an "
            f"account has; another is read in {-(-retry_after // 60)} minutes"
        )
        super().__init__(message, retry_after=retry_after)


@dataclass(eq=False)
class UploadReadRequest:
    """A request to read an uploaded file.

    A request for the site's own work has no sender.
    """

    sender: UploadSender | None
    number: int
    began: float | None = None
    #: When the request began, others had waited `behind` seconds for the account.
    behind: int = 0
    #: `is_over` is True if the queue has ended the request in favour of another one.
    is_over: bool = False
    #: Closing `line`, the socket to the fork server, ends the request's work.
    line: socket.socket | None = field(default=None, repr=False)

    @property
    def account(self) -> str:
        return self.sender.account if self.sender else ""

    def end(self) -> None:
        self.is_over = True
        if self.line is not None:
            with suppress(OSError):
                self.line.shutdown(socket.SHUT_RDWR)


class UsedProcessorSeconds(Counter[str]):
    """Count the processor seconds that accounts, teams and networks have used in this
    hour.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._hour = 0

    def add(self, keys: tuple[str, ...], seconds: float) -> None:
        with self._lock:
            self.update(dict.fromkeys(keys, seconds))

    def reset_if_new_hour(self) -> int:
        """Reset the used seconds at the start of an hour, and return the seconds left
        in it.
        """
        hour, passed = divmod(int(time.monotonic()), HOUR_SECONDS)
        with self._lock:
            if hour > self._hour:
                self._hour = hour
                self.clear()
        return HOUR_SECONDS - passed


class CausedWaitingSeconds:
    """Count the seconds that accounts, teams and networks made other senders wait.

    The seconds decay exponentially with the half-life WAITING_TIME_HALF_LIFE_SECONDS.
    """

    def __init__(self) -> None:
        self._records: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def __getitem__(self, key: str) -> float:
        seconds, at = self._records.get(key, (0.0, 0.0))
        return float(
            seconds * 0.5 ** ((time.monotonic() - at) / WAITING_TIME_HALF_LIFE_SECONDS)
        )

    def add(self, keys: Iterable[str], seconds: float) -> None:
        with self._lock:
            # Delete the recorded waiting times that have decayed almost to zero.
            left = {
                key: noted for key, noted in self._records.items() if self[key] > 0.1
            }
            self._records = left | {
                key: (self[key] + seconds, time.monotonic()) for key in keys
            }


class UploadReadQueue:
    """A queue of requests to read files, in which at most ``size`` requests run at
    once, and at most ``size`` - 1 requests of one account.

    A limited number of further requests may wait for a few seconds, but one account
    cannot occupy all waiting places. Requests to read submitted runs come first, then
    requests of senders who recently caused fewer whole seconds of waiting for others,
    and then earlier requests. Senders who caused more waiting also get less processor
    time.
    """

    def __init__(self, size: int, hourly_seconds: float) -> None:
        self.size = size
        self._hourly_seconds = hourly_seconds
        self._changed = threading.Condition()
        self._waiting: list[UploadReadRequest] = []
        self._running: list[UploadReadRequest] = []
        self._numbers = itertools.count()
        self.used, self.kept_waiting = UsedProcessorSeconds(), CausedWaitingSeconds()

    @contextmanager
    def turn(self, sender: UploadSender | None) -> Iterator[UploadReadRequest]:
        """Wait for a free slot to read a file.

        Raises SandboxPoolFull if no slot was free in time, or if the queue has ended the work
        in favour of another sender.
        """
        turn = UploadReadRequest(sender, next(self._numbers))
        with self._changed:
            left = self.used.reset_if_new_hour()
            if (
                sender
                and sender.gives_way
                and self.used[sender.keys[1]] >= self._hourly_seconds
            ):
                raise HourlyReadingLimitReached(self._hourly_seconds, left)
            self._waiting.append(turn)
            try:
                self._reject_excess_request(turn)
                self._wait_for_slot(turn)
            finally:
                self._waiting.remove(turn)
            turn.began = time.monotonic()
            turn.behind = int(self.kept_waiting[sender.keys[1]]) if sender else 0
            self._running.append(turn)
        try:
            yield turn
        finally:
            with self._changed:
                self._running.remove(turn)
                self._changed.notify_all()
        if turn.is_over:
            raise SandboxPoolFull

    def record_processor_seconds(self, turn: UploadReadRequest, seconds: float) -> None:
        if turn.sender is not None:
            self.used.add(turn.sender.keys, seconds)
            if any(other.account != turn.account for other in self._waiting):
                self.kept_waiting.add(turn.sender.keys, seconds)

    @property
    def present(self) -> int:
        return len(self._waiting) + len(self._running)

    def wait_for_running_requests(self, number: int, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self._running) >= number, seconds)

    def _reject_excess_request(self, turn: UploadReadRequest) -> None:
        if turn.sender is None:
            return
        own = [
            other
            for other in (*self._waiting, *self._running)
            if other.account == turn.account
        ]
        if len(own) > (MAX_READ_REQUESTS_PER_SLOT - 1) * self.size:
            raise SandboxPoolFull(
                "other files of yours are being read; please send this one again in a few seconds"
            )
        if self.present > MAX_READ_REQUESTS_PER_SLOT * self.size:
            rejectable = [
                other
                for other in self._waiting
                if other.sender is not None and not other.is_over
            ]
            max(rejectable, key=self._compute_priority).end()
            self._changed.notify_all()

    def _wait_for_slot(self, turn: UploadReadRequest) -> None:
        until = (
            None if turn.sender is None else time.monotonic() + MAX_READ_WAIT_SECONDS
        )
        while not turn.is_over:
            waiting = [
                other
                for other in self._waiting
                if not other.is_over and self._has_free_slot(other)
            ]
            if waiting and min(waiting, key=self._compute_priority) is turn:
                if len(self._running) < self.size:
                    self._changed.notify_all()
                    return
                self._interrupt_lower_priority_request(turn)
            left = (
                POLL_SECONDS
                if until is None
                else min(POLL_SECONDS, until - time.monotonic())
            )
            if left <= 0:
                break
            self._changed.wait(left)
        raise SandboxPoolFull

    def _has_free_slot(self, turn: UploadReadRequest) -> bool:
        own = sum(other.account == turn.account for other in self._running)
        return turn.sender is None or own < max(1, self.size - 1)

    def _interrupt_lower_priority_request(self, turn: UploadReadRequest) -> None:
        if turn.sender is None or any(other.is_over for other in self._running):
            return
        yielding = [
            other for other in self._running if other.sender and other.sender.gives_way
        ]
        last = max(yielding, key=self._compute_priority, default=None)
        if (
            last is not None
            and self._compute_priority(last)[:-1] > self._compute_priority(turn)[:-1]
        ):
            last.end()

    def _compute_priority(self, turn: UploadReadRequest) -> tuple[int, ...]:
        if turn.sender is None:
            return (0, 0, 0, 0, turn.number)
        under_way = 0.0 if turn.began is None else time.monotonic() - turn.began
        seconds = [int(self.kept_waiting[key] + under_way) for key in turn.sender.keys]
        return (int(not turn.sender.submits), *seconds, turn.number)
