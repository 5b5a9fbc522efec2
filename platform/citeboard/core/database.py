"""The database's clock, the lock for migrations, and checks of the schema.

Leases use the database's clock, because the clocks of machines differ.
"""

import datetime as dt
import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import connection, migrations
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now
from django.utils import timezone

from citeboard.core.instants import format_utc_minute
from citeboard.core.models import SchemaEpoch

_CLOCK_SQL_BY_VENDOR = {
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400",
    "postgresql": "SELECT extract(epoch FROM clock_timestamp())",
}


def database_time_expression(seconds: float = 0) -> CombinedExpression:
    """Return an expression for the database's current time plus ``seconds``."""
    return Now() + dt.timedelta(seconds=seconds)


def fetch_database_time() -> dt.datetime:
    with connection.cursor() as cursor:
        cursor.execute(_CLOCK_SQL_BY_VENDOR[connection.vendor])
        return dt.datetime.fromtimestamp(float(cursor.fetchone()[0]), dt.UTC)


def update_planner_statistics(table: str) -> None:
    """Update the statistics by which PostgreSQL plans queries of a table.

    Autovacuum updates the statistics up to a minute after a large change, or never if
    disabled. SQLite plans this site's queries without statistics.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {connection.ops.quote_name(table)}")


MAX_CLOCK_SKEW_SECONDS = 2.0  # seconds; each machine checks deadlines by its own clock


def measure_clock_skew() -> float:
    before = timezone.now().timestamp()
    database_time = fetch_database_time().timestamp()
    return max(before - database_time, database_time - timezone.now().timestamp(), 0.0)


#: The site's advisory lock in PostgreSQL has a number that no other program uses.
MIGRATION_LOCK_KEY = 0x63697465
MIGRATION_LOCK_WAIT_MESSAGE = (
    "Another process migrates the database; waiting for it to end."
)
MIGRATION_LOCK_POLL_SECONDS = 0.5


def _try_migration_lock(cursor: CursorWrapper) -> bool:
    cursor.execute("SELECT pg_try_advisory_lock(%s)", [MIGRATION_LOCK_KEY])
    return bool(cursor.fetchone()[0])


@contextmanager
def hold_migration_lock(
    connection: BaseDatabaseWrapper, say: Callable[[str], object]
) -> Iterator[None]:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # A statement that waits for the lock would deadlock with the process that holds
            # the lock and creates an index concurrently, which waits for all statements.
            if not _try_migration_lock(cursor):
                say(MIGRATION_LOCK_WAIT_MESSAGE)
                while not _try_migration_lock(cursor):
                    time.sleep(MIGRATION_LOCK_POLL_SECONDS)
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK_KEY])
        return
    # All processes that use SQLite share one data folder, so a locked file is enough.
    with (settings.DATA_DIR / "migrate.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(MIGRATION_LOCK_WAIT_MESSAGE)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


#: This release works with a database whose schema epoch is at most SCHEMA_EPOCH.
SCHEMA_EPOCH = 2


class UnusableSchema(Exception):
    """This release cannot work with the schema of the database.

    The message of the exception gives the reason.
    """

    #: The exit code 4 means that a restart cannot help, as the schema is unusable.
    exit_code = 4


@dataclass(frozen=True, kw_only=True)
class SchemaState:
    applied: list[str]
    missing: list[str]
    unknown: list[str]


def read_schema_state() -> SchemaState:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    applied = sorted(".".join(key) for key in executor.loader.applied_migrations)
    return SchemaState(
        applied=applied,
        missing=[f"{migration.app_label}.{migration.name}" for migration, _ in plan],
        unknown=find_unknown_migrations(applied, executor),
    )


def find_unknown_migrations(
    names: list[str], executor: MigrationExecutor | None = None
) -> list[str]:
    there = (executor or MigrationExecutor(None)).loader.disk_migrations
    return [name for name in names if tuple(name.split(".", 1)) not in there]


def raise_if_schema_unusable() -> None:
    tables = connection.introspection.table_names()
    if "tasks_season" in tables and "scoring_breakdownclasses" not in tables:
        raise UnusableSchema(
            "The database is of 0.1.0, which no later release upgrades: name an empty one, load the seasons "
            "into it and send the runs again."
        )
    if SchemaEpoch._meta.db_table not in tables:  # noqa: SLF001  (public by name)
        return
    newer = (
        SchemaEpoch.objects.filter(number__gt=SCHEMA_EPOCH).order_by("-number").first()
    )
    if newer is not None:
        raise UnusableSchema(
            f"The database was upgraded to schema epoch {newer.number} on {format_utc_minute(newer.since)}, "
            f"and this release works with {SCHEMA_EPOCH}: start the release that it was upgraded to."
        )


def raise_epoch(number: int) -> migrations.RunPython:
    """Return a migration operation that raises the schema epoch of the database. Each
    migration that removes a table or column begins with this operation.
    """

    def insert_schema_epoch(apps: Any, schema_editor: Any) -> None:
        apps.get_model("core", "SchemaEpoch").objects.get_or_create(number=number)

    return migrations.RunPython(insert_schema_epoch, migrations.RunPython.noop)
