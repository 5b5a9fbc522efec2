"""One process migrates at a time, on however many machines: the others wait, and find nothing left to do."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper

#: Of PostgreSQL's advisory locks in this database; any number that nobody else uses.
KEY = 0x63697465
WAITING = "Another process migrates the database; waiting for it to end."


@contextmanager
def migration_lock(connection: BaseDatabaseWrapper, say: Callable[[str], object]) -> Iterator[None]:
    """Held until the block ends, or its process does."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [KEY])
            if not cursor.fetchone()[0]:
                say(WAITING)
                cursor.execute("SELECT pg_advisory_lock(%s)", [KEY])
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [KEY])
        return
    # SQLite is of one machine, whose processes share the data folder.
    with (settings.DATA_DIR / "migrate.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(WAITING)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
