"""An empty system beside this test's own: a data folder and, on PostgreSQL, a database that goes with it."""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.db import connection

from tests.conftest import MIGRATED, ROOT, database_url


@contextmanager
def empty_system(
    folder: Path, *, is_migrated: bool = False
) -> Iterator[dict[str, str]]:
    """The environment of its processes; the kind of database is that of this test run.

    Whatever has been migrated before is a copy on SQLite; on PostgreSQL it is still to be done.
    """
    folder.mkdir()
    if is_migrated and connection.vendor == "sqlite":
        shutil.copyfile(MIGRATED, folder / "citeboard.sqlite3")
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DATABASE_URL", "REDIS_URL")
    }
    environment |= {
        "DJANGO_SETTINGS_MODULE": "citeboard.settings",
        "CITEBOARD_DATA_DIR": str(folder),
    }
    if connection.vendor != "postgresql":
        yield environment
        return
    name = f"{connection.settings_dict['NAME']}_{secrets.token_hex(4)}"
    server = database_url(connection.settings_dict)
    with psycopg.connect(server, autocommit=True) as control:
        control.execute(f'CREATE DATABASE "{name}"')
        try:
            yield {
                **environment,
                "DATABASE_URL": database_url(
                    {**connection.settings_dict, "NAME": name}
                ),
            }
        finally:
            control.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def manage(
    environment: dict[str, str], *words: object
) -> subprocess.CompletedProcess[str]:
    """What a command of `manage.py` says there, and its exit code."""
    command = [sys.executable, "manage.py", *map(str, words)]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
