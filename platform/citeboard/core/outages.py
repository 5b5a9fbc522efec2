"""Functions that recognise outages of services, tell users about an outage, and log
each outage once.
"""

import errno
import logging
import math
import sqlite3
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError
from django.http import HttpRequest

from citeboard.core.database import read_schema_state
from citeboard.core.storage import (
    FULL_DISK_ERRNOS,
    StorageUnavailable,
    describe_storage_failure,
)
from citeboard.core.words import join_lines

UNAVAILABLE_STATUS, INSUFFICIENT_STORAGE_STATUS = 503, 507
#: RETRY_AFTER_RESTART_SECONDS is the Retry-After value in seconds while a server restarts.
#: RETRY_AFTER_FULL_DISK_SECONDS is the Retry-After value in seconds while a disk is full.
RETRY_AFTER_RESTART_SECONDS, RETRY_AFTER_FULL_DISK_SECONDS = 10, 300
_BROKEN_STORAGE_ERRNOS = (errno.EIO, errno.EROFS, errno.ESTALE)
BUSY_REASON = "The database is busy"
NO_ANSWER_REASON = "The database of the site does not answer"
FULL_DISK_REASON = "The disk of the database is full"
READ_ONLY_REASON = "The database can be read but not written"
MISSING_PERMISSION_REASON = "The database refuses the site a right"
UPGRADE_IN_PROGRESS_REASON = "The site is being upgraded"
#: A result code of SQLite that _SQLITE_REASONS lacks means an error in the SQL statement.
_SQLITE_REASONS = {
    sqlite3.SQLITE_BUSY: BUSY_REASON,
    sqlite3.SQLITE_LOCKED: BUSY_REASON,
    sqlite3.SQLITE_READONLY: READ_ONLY_REASON,
    sqlite3.SQLITE_FULL: FULL_DISK_REASON,
    sqlite3.SQLITE_IOERR: "The disk of the database is faulty",
    sqlite3.SQLITE_CANTOPEN: NO_ANSWER_REASON,
}
#: Each key of _POSTGRES_REASONS is an SQLSTATE code or a two-character class of such codes.
_POSTGRES_REASONS = {
    "25006": READ_ONLY_REASON,
    "42501": MISSING_PERMISSION_REASON,
    "53100": FULL_DISK_REASON,
    "53300": "The database has no free connection",
    "53": "The database lacks memory or another resource",
    "57P01": "The database is being shut down",
    "57P02": "The database has crashed and starts again",
    "57P03": "The database is starting",
}
#: A missing table or column is an outage during migrations, and otherwise a bug.
_UNDEFINED_TABLE_OR_COLUMN_SQLSTATES = ("42P01", "42703")


@dataclass(frozen=True)
class Outage:
    status: int
    reason: str
    seconds: int

    @property
    def is_busy(self) -> bool:
        return self.reason == BUSY_REASON

    def sentence(self, request: HttpRequest) -> str:
        nothing = (
            ""
            if request.method in ("GET", "HEAD", "OPTIONS")
            else " Nothing was stored or counted."
        )
        when = (
            "a few minutes"
            if self.seconds > RETRY_AFTER_RESTART_SECONDS
            else "a moment"
        )
        return f"{self.reason}.{nothing} Please try again in {when}."


def find_outage(error: BaseException | None) -> Outage | None:
    while error is not None:
        if (
            outage := _find_database_outage(error) or _find_storage_outage(error)
        ) is not None:
            return outage
        error = error.__cause__
    return None


def _find_database_outage(error: BaseException) -> Outage | None:
    cause = error.__cause__
    if isinstance(error, ProgrammingError):
        is_undefined = (
            getattr(cause, "sqlstate", None) in _UNDEFINED_TABLE_OR_COLUMN_SQLSTATES
        )
        return (
            _build_outage(UPGRADE_IN_PROGRESS_REASON)
            if is_undefined and _is_migrating()
            else None
        )
    if not isinstance(error, OperationalError | InterfaceError):
        return None
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        return _build_outage(_SQLITE_REASONS[code]) if code in _SQLITE_REASONS else None
    state = getattr(cause, "sqlstate", None) or ""
    return _build_outage(
        _POSTGRES_REASONS.get(state)
        or _POSTGRES_REASONS.get(state[:2])
        or NO_ANSWER_REASON
    )


def _build_outage(reason: str) -> Outage:
    if reason == FULL_DISK_REASON:
        return Outage(
            INSUFFICIENT_STORAGE_STATUS, reason, RETRY_AFTER_FULL_DISK_SECONDS
        )
    return Outage(UNAVAILABLE_STATUS, reason, RETRY_AFTER_RESTART_SECONDS)


def _is_migrating() -> bool:
    """Return True if the migrations in the database differ from the migrations of this
    release.
    """
    try:
        state = read_schema_state()
    except DatabaseError:
        return True
    return bool(state.missing or state.unknown)


def _find_storage_outage(error: BaseException) -> Outage | None:
    if not isinstance(error, OSError):
        return None
    if error.errno in FULL_DISK_ERRNOS:
        return Outage(
            INSUFFICIENT_STORAGE_STATUS,
            describe_storage_failure(error),
            RETRY_AFTER_FULL_DISK_SECONDS,
        )
    # An error at a file of the data folder also counts as an outage.
    # Another program may have removed or locked a file of the data folder.
    name = error.filename
    is_ours = isinstance(name, str) and Path(name).is_relative_to(settings.DATA_DIR)
    if (
        isinstance(error, StorageUnavailable)
        or error.errno in _BROKEN_STORAGE_ERRNOS
        or is_ours
    ):
        return Outage(
            UNAVAILABLE_STATUS,
            describe_storage_failure(error),
            RETRY_AFTER_RESTART_SECONDS,
        )
    return None


DATABASE_SERVICE, REDIS_SERVICE, CACHE_SERVICE = "database", "redis", "cache"
#: FAILED_REQUESTS_OUTAGE_NAME is the name in the log for an outage in which a request fails.
FAILED_REQUESTS_OUTAGE_NAME = "requests"

log = logging.getLogger(__name__)

#: _outage_times_by_service maps each service to the times of the first and last error of its outage.
_outage_times_by_service: dict[str, tuple[float, float]] = {}
_outage_times_lock = threading.Lock()
#: An outage ends after OUTAGE_EXPIRES_SECONDS seconds without an error.
OUTAGE_EXPIRES_SECONDS = 60.0


def log_outage(what: str, reason: object) -> None:
    """Log the first error of an outage of a service.

    Later errors in this process only extend the outage and are not logged.
    """
    now = time.monotonic()
    with _outage_times_lock:
        began, last = _outage_times_by_service.get(what, (now, -math.inf))
        is_new = now - last > OUTAGE_EXPIRES_SECONDS
        _outage_times_by_service[what] = (now if is_new else began, now)
    if is_new:
        log.error(
            "Away: %s. This is said once, until it is back.",
            join_lines(reason).rstrip("."),
        )


def log_database_error(error: BaseException, words: str) -> None:
    """Log an outage of the database.

    A busy database does not count as an outage, because callers retry.
    """
    outage = find_outage(error)
    if outage is not None and outage.is_busy:
        log.info("%s: %s", BUSY_REASON, words)
    else:
        log_outage(DATABASE_SERVICE, f"{words}: {error}")


def log_recovery(what: str) -> None:
    with _outage_times_lock:
        seen = _outage_times_by_service.pop(what, None)
    if seen is not None:
        log.warning("Back after %.0f s: the %s", time.monotonic() - seen[0], what)
