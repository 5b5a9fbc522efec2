"""Tables that statements write, so that tests read again only what may have changed."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

from tasks.jobs import tallies
from tasks.models import Tallied

#: The table that a statement writes.
WRITTEN = re.compile(r'\b(?:INTO|UPDATE|DELETE FROM)\s+"?(\w+)', re.IGNORECASE)
#: The first words of statements that write no table.
READING = (
    "SELECT",
    "WITH",
    "SAVEPOINT",
    "RELEASE SAVEPOINT",
    "ROLLBACK TO SAVEPOINT",
    "NOTIFY",
    "LISTEN",
    "SET",
    "LOCK",
)


@contextmanager
def noting_tables() -> Iterator[set[str]]:
    """Collect the tables that statements and triggers write in the block."""
    tables: set[str] = set()

    def note(execute, sql, params, many, context):
        written = WRITTEN.findall(sql)
        is_known = bool(written) or sql.lstrip().startswith(READING)
        assert is_known, f"which table does this statement write? {sql}"
        tables.update(written)
        if not tables.isdisjoint(tallies.COUNTED_TABLES):
            tables.add(Tallied._meta.db_table)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield tables
