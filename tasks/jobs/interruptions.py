"""Let workers wait while the database is unavailable, and release their job before they
stop.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, connection

from citeboard.core.outages import DATABASE_SERVICE, log_database_error, log_recovery

MAX_RETRY_SECONDS = 90.0  # seconds, after which the lease has expired
RETRY_PAUSE_SECONDS = 0.5

DATABASE_ERRORS = (OperationalError, InterfaceError)

_CONTINUE_WITHOUT_DATABASE = "going on without the database"
P = ParamSpec("P")
R = TypeVar("R")


def retry_on_database_error(
    action: Callable[P, R], *given: P.args, **named: P.kwargs
) -> R:
    """Repeat the action until the database is available. The action must be a single
    transaction that can be repeated without a further effect.
    """
    until = time.monotonic() + MAX_RETRY_SECONDS
    while True:
        try:
            answer = action(*given, **named)
        except DATABASE_ERRORS as reason:
            if time.monotonic() > until:
                raise
            log_database_error(reason, "the database is tried again")
            connection.close()
            time.sleep(RETRY_PAUSE_SECONDS)
        else:
            log_recovery(DATABASE_SERVICE)
            return answer


def default_on_database_error(
    action: Callable[[], R], otherwise: R, words: str = _CONTINUE_WITHOUT_DATABASE
) -> R:
    try:
        answer = action()
    except DATABASE_ERRORS as reason:
        log_database_error(reason, words)
        connection.close()
        return otherwise
    log_recovery(DATABASE_SERVICE)
    return answer


_stop_requested_event = threading.Event()


class WorkerStopping(Exception):
    pass


def is_stop_requested() -> bool:
    return _stop_requested_event.is_set()


def raise_if_stop_requested() -> None:
    if _stop_requested_event.is_set():
        raise WorkerStopping


@contextmanager
def defer_sigterm() -> Iterator[None]:
    """Defer SIGTERM until the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread of a process can handle signals.
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: _stop_requested_event.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if _stop_requested_event.is_set():
            _stop_requested_event.clear()
            signal.raise_signal(signal.SIGTERM)
