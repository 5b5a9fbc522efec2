"""Count events for the page `/metrics`, where counters must keep their values when rows
are deleted, and count runs and jobs.
"""

from bisect import bisect_left
from collections import defaultdict
from itertools import accumulate
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, F, Q, Sum

from tasks.models import Tallied, Tally

#: `HISTOGRAM_BUCKET_SECONDS` are the upper bounds in seconds, and a last bucket has no bound.
HISTOGRAM_BUCKET_SECONDS = (0.5, 1, 2, 5, 10, 30, 60, 300, 1800)

JOB_DURATION_COUNTER, UPLOAD_TO_SCORE_DURATION_COUNTER = (
    "job_seconds",
    "upload_to_score_seconds",
)
LOST_LEASES_COUNTER, RESTARTED_JOBS_COUNTER = "leases_lost", "jobs_begun_again"


def increment_counter(
    name: str, label: str = "", *, place: int = 0, total: float = 0.0
) -> None:
    """Increment a counter in the transaction of the counted event. Callers should
    increment late in the transaction, because the counter stays locked until the end of
    the transaction.
    """
    key = {"name": name, "label": label, "place": place}
    same = Tally.objects.filter(**key)
    if not same.update(number=F("number") + 1, total=F("total") + total):
        try:
            with transaction.atomic():
                Tally.objects.create(**key, number=1, total=total)
        except IntegrityError:
            same.update(number=F("number") + 1, total=F("total") + total)


def observe_duration(name: str, label: str, seconds: float) -> None:
    increment_counter(
        name, label, place=bisect_left(HISTOGRAM_BUCKET_SECONDS, seconds), total=seconds
    )


def load_counter_values(name: str) -> dict[str, int]:
    return dict(Tally.objects.filter(name=name).values_list("label", "number"))


def load_duration_histogram(name: str) -> dict[str, tuple[list[int], float]]:
    """Return for each label of a histogram the cumulative counts of the buckets and the
    sum of all observed seconds. The last count is the total.
    """
    numbers: dict[str, list[int]] = {}
    sums: dict[str, float] = {}
    for tally in Tally.objects.filter(name=name):
        numbers.setdefault(tally.label, [0] * (len(HISTOGRAM_BUCKET_SECONDS) + 1))[
            tally.place
        ] = tally.number
        sums[tally.label] = sums.get(tally.label, 0.0) + tally.total
    return {
        label: (list(accumulate(places)), sums[label])
        for label, places in numbers.items()
    }


#: Rows of ``Tallied`` count runs, runs by day in UTC, or jobs.
RUN_COUNT_KIND, DAILY_RUN_COUNT_KIND, JOB_COUNT_KIND = "run", "day", "job"
TALLIED_KEY_COLUMNS = ("what", "phase", "team", "day", "queue", "state")
#: One statement deletes at most MAX_ROWS_DELETED_AT_ONCE rows, as SQLite limits parameters.
MAX_ROWS_DELETED_AT_ONCE = 5000

# The key of a run is phase, team and state, and the team may be missing.
# The key of a job is queue and state.
_COUNT_RUN_SQL = """
    SELECT 'run' AS what, {row}phase_id AS phase, COALESCE({row}team_id, 0) AS team,
        CAST(NULL AS date) AS day, '' AS queue, {row}status AS state, {sign}1 AS number,
        {sign}{row}size AS size {rows}"""
_COUNT_RUN_BY_DAY_SQL = """
    SELECT 'day', {row}phase_id, 0, {day}, '', {row}status, {sign}1, 0 {rows}
    WHERE {row}team_id IS NOT NULL"""
_COUNT_JOB_SQL = """
    SELECT 'job', 0, 0, CAST(NULL AS date), {row}queue, {row}state, {sign}1, 0 {rows}
    WHERE {row}kind IN ('write', 'check', 'score')"""
_RUN_CHANGED_SQL_CONDITION = """
    OLD.status <> NEW.status OR OLD.size <> NEW.size OR OLD.submitted_at <> NEW.submitted_at
    OR OLD.phase_id <> NEW.phase_id OR COALESCE(OLD.team_id, 0) <> COALESCE(NEW.team_id, 0)"""
_JOB_CHANGED_SQL_CONDITION = (
    "OLD.state <> NEW.state OR OLD.queue <> NEW.queue OR OLD.kind <> NEW.kind"
)
COUNTED_TABLES = {
    "tasks_submission": (
        (_COUNT_RUN_SQL, _COUNT_RUN_BY_DAY_SQL),
        _RUN_CHANGED_SQL_CONDITION,
    ),
    "tasks_job": ((_COUNT_JOB_SQL,), _JOB_CHANGED_SQL_CONDITION),
}
COUNTING_TRIGGERS = {
    f"tallied_{table}_{event.lower()}": (table, event)
    for table in COUNTED_TABLES
    for event in ("INSERT", "DELETE", "UPDATE")
}
_INSERT_TALLIED_SQL = (
    f"INSERT INTO tasks_tallied ({', '.join(TALLIED_KEY_COLUMNS)}, number, size)"
)
_CREATE_TALLIED_SQL = """
CREATE TABLE IF NOT EXISTS tasks_tallied (
    id {serial}, what varchar(3) NOT NULL, phase bigint NOT NULL, team bigint NOT NULL, day date,
    queue varchar(60) NOT NULL, state varchar(10) NOT NULL, number bigint NOT NULL, size bigint NOT NULL
)"""


def create_counting_triggers(connection: BaseDatabaseWrapper) -> None:
    """Create missing database triggers that count runs and jobs. SQLite drops the
    triggers of a table when a migration rebuilds the table.
    """
    is_postgresql = connection.vendor == "postgresql"
    with transaction.atomic(connection.alias), connection.cursor() as cursor:
        cursor.execute(
            "SELECT tgname FROM pg_trigger"
            if is_postgresql
            else "SELECT name FROM sqlite_schema"
        )
        missing = {
            name: COUNTING_TRIGGERS[name]
            for name in COUNTING_TRIGGERS.keys()
            - {name for (name,) in cursor.fetchall()}
        }
        serial = (
            "bigserial PRIMARY KEY"
            if is_postgresql
            else "integer PRIMARY KEY AUTOINCREMENT"
        )
        cursor.execute(_CREATE_TALLIED_SQL.format(serial=serial))
        cursor.execute(
            "CREATE INDEX IF NOT EXISTS tallied_of_phase ON tasks_tallied (what, phase, team)"
        )
        for name, (table, event) in missing.items():
            parts, differs = COUNTED_TABLES[table]
            body = " ".join(
                f"{_INSERT_TALLIED_SQL} {_format_counting_sql(part, connection, row=row, sign=sign)};"
                for row, sign, other in (
                    ("OLD.", "-", "INSERT"),
                    ("NEW.", "", "DELETE"),
                )
                for part in parts
                if event != other
            )
            does = f"BEGIN {body} END"
            if is_postgresql:
                cursor.execute(
                    f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql"
                    f" AS $$ BEGIN {body} RETURN NULL; END $$"
                )
                does = f"EXECUTE FUNCTION {name}()"
            when = f"WHEN ({differs})" if event == "UPDATE" else ""
            cursor.execute(
                f"CREATE TRIGGER {name} AFTER {event} ON {table} FOR EACH ROW {when} {does}"
            )
        if missing:
            correct_tallied_counts(connection)


def correct_tallied_counts(connection: BaseDatabaseWrapper = connection) -> int:
    """Count all runs and jobs again and correct the counters. Return the number of
    corrections.

    The correction is a single statement on one snapshot, so new runs may arrive at the
    same time.
    """
    parts = [
        _format_counting_sql(part, connection, rows=f"FROM {table}")
        for table in COUNTED_TABLES
        for part in COUNTED_TABLES[table][0]
    ]
    parts.append(
        f"SELECT {', '.join(TALLIED_KEY_COLUMNS)}, -number, -size FROM tasks_tallied"  # noqa: S608
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"{_INSERT_TALLIED_SQL} SELECT {', '.join(TALLIED_KEY_COLUMNS)}, SUM(number), SUM(size)"  # noqa: S608  (names of our own)
            f" FROM ({' UNION ALL '.join(parts)}) AS counted"
            f" GROUP BY {', '.join(TALLIED_KEY_COLUMNS)} HAVING SUM(number) <> 0 OR SUM(size) <> 0"
        )
        return int(cursor.rowcount)


def _format_counting_sql(
    part: str,
    connection: BaseDatabaseWrapper,
    *,
    row: str = "",
    sign: str = "",
    rows: str = "",
) -> str:
    at = f"{row}submitted_at"
    day = (
        f"CAST({at} AT TIME ZONE 'UTC' AS date)"
        if connection.vendor == "postgresql"
        else f"date({at})"
    )
    return part.format(row=row, sign=sign, rows=rows, day=day)


def sum_tallied_run_counts(which: Q) -> int:
    return int(
        Tallied.objects.filter(which, what=RUN_COUNT_KIND).aggregate(
            all=Sum("number", default=0)
        )["all"]
    )


def merge_tallied_rows() -> None:
    """Merge the rows of ``Tallied`` that have the same key. Rows of transactions in
    progress are merged by the next sweep.
    """
    if (
        not Tallied.objects.values(*TALLIED_KEY_COLUMNS)
        .annotate(rows=Count("pk"))
        .filter(rows__gt=1)
        .exists()
    ):
        return
    alike: dict[tuple[Any, ...], list[Tallied]] = defaultdict(list)
    with transaction.atomic():
        for row in Tallied.objects.select_for_update(skip_locked=True):
            alike[tuple(getattr(row, name) for name in TALLIED_KEY_COLUMNS)].append(row)
        several = {key: rows for key, rows in alike.items() if len(rows) > 1}
        gone = [row.pk for rows in several.values() for row in rows]
        for start in range(0, len(gone), MAX_ROWS_DELETED_AT_ONCE):
            Tallied.objects.filter(
                pk__in=gone[start : start + MAX_ROWS_DELETED_AT_ONCE]
            ).delete()
        for key, rows in several.items():
            number, size = (
                sum(row.number for row in rows),
                sum(row.size for row in rows),
            )
            if number or size:
                Tallied.objects.create(
                    **dict(zip(TALLIED_KEY_COLUMNS, key, strict=True)),
                    number=number,
                    size=size,
                )
