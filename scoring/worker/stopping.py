"""A worker that is asked to end gives its job back first, and is not ended in the middle of a transaction."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_asked = threading.Event()


class Stopping(Exception):
    """The worker was asked to end."""


def is_asked() -> bool:
    return _asked.is_set()


def check() -> None:
    """Raises Stopping if the worker was asked to end."""
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
