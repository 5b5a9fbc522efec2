"""What is answered while something that the site needs is away: when to come back, that nothing was kept."""

import errno
import logging
import sqlite3
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest

from citeboard.core.storage import FULL, StorageAway, words_of
from citeboard.core.words import one_line

AWAY, NO_ROOM = 503, 507
#: Seconds after which to ask again: a server that is started anew, and a disk on which room is made.
SOON, LATER = 10, 300
_BROKEN_DISK = (errno.EIO, errno.EROFS, errno.ESTALE)
_SQLITE_AWAY = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
)
_POSTGRES_FULL = "53100"


@dataclass(frozen=True)
class Outage:
    status: int
    reason: str
    seconds: int

    def sentence(self, request: HttpRequest) -> str:
        nothing = (
            ""
            if request.method in ("GET", "HEAD", "OPTIONS")
            else " Nothing was stored or counted."
        )
        when = "a few minutes" if self.seconds > SOON else "a moment"
        return f"{self.reason}.{nothing} Please try again in {when}."


def outage_of(error: BaseException | None) -> Outage | None:
    while error is not None:
        if (outage := _of_database(error) or _of_files(error)) is not None:
            return outage
        error = error.__cause__
    return None


def _of_database(error: BaseException) -> Outage | None:
    if not isinstance(error, OperationalError | InterfaceError):
        return None
    reason = error.__cause__
    if isinstance(reason, sqlite3.Error):
        # Only its codes tell a file that is locked or gone from a statement that is wrong.
        code = getattr(reason, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            return Outage(NO_ROOM, "The disk of the database is full", LATER)
        if code not in _SQLITE_AWAY:
            return None
    if getattr(reason, "sqlstate", None) == _POSTGRES_FULL:
        return Outage(NO_ROOM, "The disk of the database is full", LATER)
    return Outage(AWAY, "The database of the site does not answer", SOON)


def _of_files(error: BaseException) -> Outage | None:
    if not isinstance(error, OSError):
        return None
    if error.errno in FULL:
        return Outage(NO_ROOM, words_of(error), LATER)
    # Another program may have taken away or closed what lies in the data folder.
    name = error.filename
    is_ours = isinstance(name, str) and Path(name).is_relative_to(settings.DATA_DIR)
    if isinstance(error, StorageAway) or error.errno in _BROKEN_DISK or is_ours:
        return Outage(AWAY, words_of(error), SOON)
    return None


DATABASE, REDIS, CACHE = "database", "redis", "cache"

log = logging.getLogger(__name__)

_begun: dict[str, float] = {}
_lock = threading.Lock()


def note_outage(what: str, reason: object) -> None:
    with _lock:
        if what in _begun:
            return
        _begun[what] = time.monotonic()
    log.error(
        "Away: %s. This is said once, until it is back.", one_line(reason).rstrip(".")
    )


def note_recovery(what: str) -> None:
    with _lock:
        began = _begun.pop(what, None)
    if began is not None:
        log.warning("Back after %.0f s: the %s", time.monotonic() - began, what)
