"""An outage is one line of the log when a process meets it, and one when it is over."""

from __future__ import annotations

import logging
import threading
import time

from citeboard.core.words import one_line

DATABASE, REDIS, CACHE = "database", "redis", "cache"

log = logging.getLogger(__name__)

_begun: dict[str, float] = {}
_lock = threading.Lock()


def note_outage(what: str, reason: object) -> None:
    """``what`` is away; nothing more is said of it until `note_recovery`."""
    with _lock:
        if what in _begun:
            return
        _begun[what] = time.monotonic()
    log.error("Away: %s. This is said once, until it is back.", one_line(reason).rstrip("."))


def note_recovery(what: str) -> None:
    """``what`` has answered; nothing is said where it was not away."""
    with _lock:
        began = _begun.pop(what, None)
    if began is not None:
        log.warning("Back after %.0f s: the %s", time.monotonic() - began, what)
