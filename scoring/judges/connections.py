"""Persistent connections to a chat endpoint, with a limit on the total time of each
request.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from tasks.types.problems import convert_to_unavailable

with convert_to_unavailable("urllib3 is not installed, which chat endpoints need"):
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, Timeout
    from urllib3.connection import HTTPConnection, HTTPSConnection

_thread_local_deadline = threading.local()


class RequestDeadline:
    """The time by which one request must be finished. A socket timeout is not enough,
    because every byte that arrives restarts it.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.connection: Any = None

    @property
    def is_sent(self) -> bool:
        """Return True if the request has an open connection, so that the request may
        have been sent.
        """
        return self.connection is not None

    def is_over(self) -> bool:
        return time.monotonic() >= self._end

    def shut_down_connection(self) -> None:
        sock = getattr(self.connection, "sock", None)
        if sock is not None:
            # `SSLSocket.shutdown` would end encryption while another thread reads.
            with suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)


class RequestDeadlineWatcher:
    """The deadlines of running requests. A thread closes the connections of requests
    whose deadline has passed.
    """

    def __init__(self, *, look_every: float = 0.25) -> None:
        self._running: set[RequestDeadline] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._look_every = look_every
        self._thread = threading.Thread(
            target=self._close_overdue_connections, name="deadlines", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    @contextmanager
    def limit_request_duration(self, seconds: float) -> Iterator[RequestDeadline]:
        """Limit the duration of a request that the current thread sends within the
        `with` block.
        """
        deadline = RequestDeadline(seconds)
        with self._lock:
            self._running.add(deadline)
        _thread_local_deadline.deadline = deadline
        try:
            yield deadline
        finally:
            _thread_local_deadline.deadline = None
            with self._lock:
                self._running.discard(deadline)

    def _close_overdue_connections(self) -> None:
        while not self._closed.wait(self._look_every):
            with self._lock:
                for deadline in self._running:
                    if deadline.is_over():
                        deadline.shut_down_connection()


class _ConnectionWithDeadline:
    def request(self, *args: Any, **options: Any) -> None:
        if (deadline := getattr(_thread_local_deadline, "deadline", None)) is not None:
            deadline.connection = self
        super().request(*args, **options)  # type: ignore[misc]


class _DeadlineHTTPConnection(_ConnectionWithDeadline, HTTPConnection):
    pass


class _DeadlineHTTPSConnection(_ConnectionWithDeadline, HTTPSConnection):
    pass


class _HTTPPoolWithDeadline(HTTPConnectionPool):
    ConnectionCls = _DeadlineHTTPConnection


class _HTTPSPoolWithDeadline(HTTPSConnectionPool):
    ConnectionCls = _DeadlineHTTPSConnection


def create_connection_pool(
    address: str, at_once: int, timeout: float
) -> tuple[HTTPConnectionPool, str]:
    """Return a pool of at most ``at_once`` connections to an endpoint, and the URL path
    for chat completions.
    """
    parts = urlsplit(address)
    made = _HTTPSPoolWithDeadline if parts.scheme == "https" else _HTTPPoolWithDeadline
    pool = made(
        parts.hostname or "",
        parts.port,
        maxsize=at_once,
        block=True,
        timeout=Timeout(connect=timeout, read=timeout),
    )
    return pool, f"{parts.path.rstrip('/')}/chat/completions"
