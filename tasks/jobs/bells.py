"""How the process of a group that fetches wakes from the database hears at once that there is one.

PostgreSQL notifies whoever listens; beside SQLite each group has a pipe in the machine's work folder. Whoever
cannot be told so, as behind a pooler of transactions, is late by the second after which jobs are looked for.
"""

import errno
import os
import secrets
import select
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings
from django.db import connection, transaction

from citeboard.core.env import private_folder

CHANNEL = "citeboard_wakes"


class Bell(Protocol):
    def is_heard(self, *, within: float) -> bool:
        """Whether it rang, or may have rung before anybody listened."""


class Notifications:
    def __init__(self) -> None:
        self._listening: Any = None

    def is_heard(self, *, within: float) -> bool:
        connection.ensure_connection()
        if self._listening is not connection.connection:
            with connection.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
            self._listening = connection.connection
            return True
        with connection.wrap_database_errors:
            return any(True for _ in self._listening.notifies(timeout=within, stop_after=1))


class Pipe:
    def __init__(self) -> None:
        self._end: int | None = None

    def is_heard(self, *, within: float) -> bool:
        if self._end is None:
            with suppress(OSError):
                self._end = _new_pipe()
                return True
            time.sleep(within)
            return False
        if not select.select([self._end], [], [], within)[0]:
            return False
        os.read(self._end, select.PIPE_BUF)
        return True


def bell() -> Bell:
    return Notifications() if connection.vendor == "postgresql" else Pipe()


def ring() -> None:
    """In the transaction that gives the wake, with which it is heard or never was."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"NOTIFY {CHANNEL}")
    else:
        transaction.on_commit(_ring_pipes, robust=True)


def _pipes() -> Path:
    return settings.WORK_DIR / "wakes"


def _new_pipe() -> int:
    """Its reading end. It gets its name when it is open: a pipe that nobody reads is removed."""
    private_folder(settings.WORK_DIR)
    _pipes().mkdir(mode=0o700, exist_ok=True)
    draft = _pipes() / f"{secrets.token_hex(8)}.new"
    os.mkfifo(draft, 0o600)
    # With an end to write, so that it is never closed.
    end = os.open(draft, os.O_RDWR | os.O_NONBLOCK)
    draft.rename(draft.with_suffix(".pipe"))
    return end


def _ring_pipes() -> None:
    for pipe in _pipes().glob("*.pipe"):
        try:
            end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as reason:
            if reason.errno == errno.ENXIO:
                pipe.unlink(missing_ok=True)
            continue
        try:
            # A full pipe is heard anyway.
            with suppress(BlockingIOError):
                os.write(end, b".")
        finally:
            os.close(end)
