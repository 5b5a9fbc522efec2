"""The database's clock, by which leases begin and end, since the clocks of machines differ."""

from __future__ import annotations

import datetime as dt

from django.db import connection
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now

_EPOCH = {
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400",
    "postgresql": "SELECT extract(epoch FROM clock_timestamp())",
}


def from_now(seconds: float = 0) -> CombinedExpression:
    """So many seconds after the moment of the statement that it is part of.

    The sum, even with nothing, is what SQLite needs to write the moment as Django writes one, so that the two
    compare as text.
    """
    return Now() + dt.timedelta(seconds=seconds)


def database_now() -> dt.datetime:
    with connection.cursor() as cursor:
        cursor.execute(_EPOCH[connection.vendor])
        return dt.datetime.fromtimestamp(float(cursor.fetchone()[0]), dt.UTC)
