"""What a look at the database costs, without a clock: queries, and steps or rows that it takes to answer."""

from collections.abc import Callable
from dataclasses import dataclass

from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

#: Rows of tables and entries of indexes that this transaction has read, as PostgreSQL counts them.
READ = (
    "SELECT coalesce(sum(pg_stat_get_xact_tuples_returned(oid)"
    " + CASE relkind WHEN 'r' THEN pg_stat_get_xact_tuples_fetched(oid) ELSE 0 END), 0)"
    " FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace"
)


@dataclass(frozen=True)
class Look:
    """``rows`` are steps of SQLite's machine, or rows and entries of indexes that PostgreSQL reads."""

    queries: int
    rows: int


def look(work: Callable[[], object]) -> Look:
    """One after a first that fills what processes keep."""
    work()
    with transaction.atomic():
        with CaptureQueriesContext(connection) as seen:
            rows = _steps(work) if connection.vendor == "sqlite" else _read(work)
        own = [
            query
            for query in seen.captured_queries
            if "pg_stat_get" not in query["sql"]
        ]
    return Look(len(own), rows)


def _steps(work: Callable[[], object]) -> int:
    steps = [0]

    def step() -> int:
        steps[0] += 1
        return 0

    connection.ensure_connection()
    connection.connection.set_progress_handler(step, 1)
    try:
        work()
    finally:
        connection.connection.set_progress_handler(None, 0)
    return steps[0]


def _read(work: Callable[[], object]) -> int:
    def read() -> int:
        with connection.cursor() as cursor:
            cursor.execute(READ)
            return int(cursor.fetchone()[0])

    before = read()
    work()
    return read() - before
