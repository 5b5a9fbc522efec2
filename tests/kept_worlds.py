"""Worlds that many tests look at: built once in a run, and laid out anew for each test as rows and files.

A module's fixture keeps a world, and a test's fixture calls for it::

    @pytest.fixture(scope="module")
    def kept(django_db_setup, django_db_blocker):
        return keep_world(make_world, django_db_blocker)

    @pytest.fixture
    def world(db, kept):
        return kept()

The first process of the run that asks for a world builds it, and the others read what it wrote down. It is
built before a test has changed a setting or the clock, and what a test makes of it goes with the test.
Its rows have the same numbers each time: it is laid out in a database that has no rows yet. Rows that come
after them get higher numbers, also where a test that restored a backup has set PostgreSQL's counters back.
Numbers that tests give continue after those of the process that built the world.
"""

import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core import mail
from django.core.files.base import ContentFile
from django.db import connection, transaction

from citeboard.ops.pruning import MODEL_FILE_COLUMNS
from tests.emptying import KEPT
from tests.numbering import continue_after, positions
from tests.once import made_once

_kept: dict[Callable[[], Any], "KeptWorld"] = {}


class KeptWorld:
    """What ``make`` builds and returns; each call gives a copy with the rows and files that it speaks of."""

    def __init__(self, make: Callable[[], Any]) -> None:
        with transaction.atomic():
            world = make()
            self._rows = [
                (table, *lines) for table in _tables() if (lines := _lines_of(table))[1]
            ]
            self._files = list(_files())
            self._counters = (
                _counters(self._rows) if connection.vendor == "postgresql" else ""
            )
            transaction.set_rollback(True)
        mail.outbox.clear()
        self._positions = positions()
        self._world = pickle.dumps(world)

    def __call__(self) -> Any:
        continue_after(self._positions)
        for column, name, content in self._files:
            folder = MODEL_FILE_COLUMNS[column][2]
            if not folder.exists(name):
                folder.save(name, ContentFile(content))
        with transaction.atomic(), connection.cursor() as cursor:
            for table, columns, lines in self._rows:
                cursor.executemany(_insertion(table, columns), lines)
            if self._counters:
                cursor.execute(self._counters)
        return pickle.loads(self._world)  # noqa: S301  (our own)


def kept_folder() -> Path:
    """Make a folder for files that rows of a world refer to; it goes with the run."""
    return Path(tempfile.mkdtemp(dir=os.environ["CITEBOARD_TEST_ROOT"]))


def keep_world(make: Callable[[], Any], django_db_blocker) -> KeptWorld:
    if make not in _kept:
        with django_db_blocker.unblock():
            _kept[make] = _of_the_run(make)
    return _kept[make]


def _of_the_run(make: Callable[[], Any]) -> KeptWorld:
    folder = made_once(
        f"{make.__module__}.{make.__qualname__}",
        lambda folder: (folder / "world").write_bytes(pickle.dumps(KeptWorld(make))),
    )
    return pickle.loads((folder / "world").read_bytes())  # noqa: S301  (our own)


def _tables() -> list[str]:
    models = apps.get_models(include_auto_created=True)
    # Migrations write which schema epoch it is, too.
    return sorted(
        {model._meta.db_table for model in models if model._meta.managed}
        - KEPT
        - {"core_schemaepoch"}
    )


def _lines_of(table: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608  (a name of ours)
        return [column[0] for column in cursor.description], cursor.fetchall()


def _counters(rows: list[tuple[str, list[str], list[tuple[Any, ...]]]]) -> str:
    """A statement after which no counter stands below a number that these rows have.

    It names columns, since the name of a counter differs once a test has migrated back and forward.
    """
    with connection.cursor() as cursor:
        counters = [
            (
                f"pg_get_serial_sequence('{table}', '{counter['column']}')",
                max(line[columns.index(counter["column"])] for line in lines),
            )
            for table, columns, lines in rows
            for counter in connection.introspection.get_sequences(cursor, table)
        ]
    return "SELECT " + ", ".join(
        f"setval({counter}, GREATEST(nextval({counter}), {last}))"
        for counter, last in counters
    )


def _files():
    """Whatever a row names, since a test may delete it."""
    for number, (model, column, folder) in enumerate(MODEL_FILE_COLUMNS):
        for name in (
            model._default_manager.exclude(**{column: ""})
            .values_list(column, flat=True)
            .distinct()
        ):
            # Rows that were made by hand name files that there are not.
            if folder.exists(name):
                with folder.open(name) as file:
                    yield number, name, file.read()


def _insertion(table: str, columns: list[str]) -> str:
    names = ", ".join(map(connection.ops.quote_name, columns))
    places = ", ".join(["%s"] * len(columns))
    return f"INSERT INTO {connection.ops.quote_name(table)} ({names}) VALUES ({places})"  # noqa: S608
