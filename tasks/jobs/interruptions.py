"""A worker whose database is away waits; one that is asked to end gives its job back first."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, connection

from citeboard.core.outages import DATABASE, note_outage, note_recovery

LONGEST = 90.0  # seconds; then the lease has ended and the job is begun again
PAUSE = 0.5

DATABASE_ERRORS = (OperationalError, InterfaceError)

_LOCKED = "the database is locked or away; going on without it"
P = ParamSpec("P")
R = TypeVar("R")


def retry_on_database_error(
    action: Callable[P, R], *given: P.args, **named: P.kwargs
) -> R:
    """Do it as often as it takes. The action must be one transaction that does nothing the second time."""
    until = time.monotonic() + LONGEST
    while True:
        try:
            answer = action(*given, **named)
        except DATABASE_ERRORS as reason:
            if time.monotonic() > until:
                raise
            note_outage(
                DATABASE,
                f"the database is locked or away, and is tried again: {reason}",
            )
            connection.close()
            time.sleep(PAUSE)
        else:
            note_recovery(DATABASE)
            return answer


def default_on_database_error(
    action: Callable[[], R], otherwise: R, words: str = _LOCKED
) -> R:
    try:
        answer = action()
    except DATABASE_ERRORS as reason:
        note_outage(DATABASE, f"{words}: {reason}")
        connection.close()
        return otherwise
    note_recovery(DATABASE)
    return answer


_asked = threading.Event()


class Stopping(Exception):
    pass


def is_asked() -> bool:
    return _asked.is_set()


def check() -> None:
    if _asked.is_set():
        raise Stopping


@contextmanager
def held_back() -> Iterator[None]:
    """A SIGTERM is noted in this block and ends the process after it."""
    if threading.current_thread() is not threading.main_thread():
        # Signals are the main thread's alone.
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: _asked.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if _asked.is_set():
            _asked.clear()
            signal.raise_signal(signal.SIGTERM)
