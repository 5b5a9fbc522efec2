"""The database in a backup: of one moment, while others write; and put back in one step.

SQLite is copied by its backup interface. PostgreSQL is read by COPY in one transaction that sees one moment,
and put back into tables that the migrations of that moment make: no program of PostgreSQL's is needed, of
whatever version, and the image has none.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from scoring.ops.backup.manifest import CHUNK, BackupRefused

SQLITE_FILE = "database.sqlite3"
TABLES = "database"
MIGRATIONS = "django_migrations"


@contextmanager
def snapshot() -> Iterator[None]:
    """Whatever is read in the block is of one moment; others go on writing."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
        return
    # A transaction that is begun as IMMEDIATE, as the site's are, would keep all writers out.
    before = connection.transaction_mode  # type: ignore[attr-defined]  # (of SQLite alone)
    connection.ensure_connection()
    connection.transaction_mode = "DEFERRED"  # type: ignore[attr-defined]
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM sqlite_schema")
            cursor.fetchone()
            yield
    finally:
        connection.transaction_mode = before  # type: ignore[attr-defined]


def write_database(folder: Path) -> dict[str, Any]:
    """The database of a snapshot; returns what the manifest says of it. Raises BackupRefused."""
    if connection.vendor == "postgresql":
        return {"vendor": "postgresql", "tables": _write_tables(folder / TABLES)}
    path = folder / SQLITE_FILE
    with closing(sqlite3.connect(path)) as copy:
        connection.connection.backup(copy)
        # One file, which needs no journal beside it.
        copy.execute("PRAGMA journal_mode=DELETE")
        [(said,)] = copy.execute("PRAGMA integrity_check(1)").fetchall()
        if said != "ok" or copy.execute("PRAGMA foreign_key_check").fetchone():
            raise BackupRefused(f"the copy of the database is damaged: {said}")
    return {"vendor": "sqlite"}


def load_database(folder: Path, facts: dict[str, Any], migrations: list[str]) -> None:
    """Put the database of a backup in the place of this one: all of it, or nothing."""
    if facts["vendor"] == "postgresql":
        with transaction.atomic():
            _make_tables(migrations)
            _load_tables(folder / TABLES, facts["tables"])
        return
    connection.ensure_connection()
    with closing(sqlite3.connect(folder / SQLITE_FILE)) as copy:
        copy.backup(connection.connection)
    connection.close()


def _write_tables(folder: Path) -> dict[str, list[str]]:
    """A file for each of the site's tables, as COPY writes it; returns their columns."""
    folder.mkdir(exist_ok=True)
    found = {}
    with connection.cursor() as cursor:
        for table in _own_tables():
            columns = [row.name for row in connection.introspection.get_table_description(cursor, table)]
            found[table] = columns
            statement = f"COPY {_named(table, columns)} TO STDOUT"
            with (folder / f"{table}.copy").open("wb") as file, cursor.copy(statement) as rows:
                for part in rows:
                    file.write(part)
    return found


def _make_tables(migrations: list[str]) -> None:
    """Empty tables as they were when the backup was made, whatever there is now."""
    with connection.cursor() as cursor:
        for table in _own_tables():
            cursor.execute(f"DROP TABLE {_quoted(table)} CASCADE")
    wanted = {(app, name) for app, name in (migration.split(".", 1) for migration in migrations)}
    executor = MigrationExecutor(connection)
    # No signal is sent, as what would follow from it is in the backup's tables.
    nodes = executor.loader.graph.node_map
    executor.migrate([key for key in wanted if not any(child.key in wanted for child in nodes[key].children)])


def _load_tables(folder: Path, tables: dict[str, list[str]]) -> None:
    with connection.cursor() as cursor:
        # Tables come in the order of their names, and migrations have turned the checks on.
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        # What migrations have written themselves is in the backup too.
        cursor.execute(f"TRUNCATE {', '.join(map(_quoted, tables))}")
        for table, columns in tables.items():
            statement = f"COPY {_named(table, columns)} FROM STDIN"
            with (folder / f"{table}.copy").open("rb") as file, cursor.copy(statement) as rows:
                while part := file.read(CHUNK):
                    rows.write(part)
            for sequence in connection.introspection.get_sequences(cursor, table):
                column = _quoted(sequence["column"])
                cursor.execute(
                    f"SELECT setval(%s, COALESCE(MAX({column}), 1), MAX({column}) IS NOT NULL)"  # noqa: S608
                    f" FROM {_quoted(table)}",
                    [sequence["name"]],
                )


def _own_tables() -> list[str]:
    """Those of the site that are there; a database may be shared with others."""
    found = connection.introspection.table_names()
    own = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return sorted({*own, *({MIGRATIONS} & set(found))})


def _named(table: str, columns: list[str]) -> str:
    return f"{_quoted(table)} ({', '.join(map(_quoted, columns))})"


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)
