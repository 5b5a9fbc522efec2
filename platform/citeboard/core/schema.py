"""Of which release the database is: what of this release's migrations it lacks, and what they do not know.

A migration that only adds leaves the epoch as it is, and processes of the release before go on beside it. One
that takes away what that release still uses raises the database's epoch, and `EPOCH` with it:

    operations = [raise_epoch(2), migrations.RemoveField(...)]

Processes of an older release find it and end, rather than read or write what is not there any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection, migrations
from django.db.migrations.executor import MigrationExecutor

from citeboard.core.models import SchemaEpoch

#: The latest that this release works with.
EPOCH = 1


class NewerSchema(Exception):
    """The database is of a release that has taken away what this one uses; the message says so."""

    #: Of commands that end for this reason, so that a supervisor need not start them again.
    exit_code = 4


@dataclass(frozen=True, kw_only=True)
class SchemaState:
    """Migrations as `app.name`: ``missing`` ones the database lacks, ``unknown`` ones it alone has."""

    applied: list[str]
    missing: list[str]
    unknown: list[str]


def schema_state() -> SchemaState:
    """Raises DatabaseError where the database does not answer."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    applied = sorted(".".join(key) for key in executor.loader.applied_migrations)
    return SchemaState(
        applied=applied,
        missing=[f"{migration.app_label}.{migration.name}" for migration, _ in plan],
        unknown=unknown_migrations(applied, executor),
    )


def unknown_migrations(names: list[str], executor: MigrationExecutor | None = None) -> list[str]:
    """Those of the names that this release does not have."""
    known = (executor or MigrationExecutor(None)).loader.disk_migrations
    return [name for name in names if tuple(name.split(".", 1)) not in known]


def refuse_newer_schema() -> None:
    """Raises NewerSchema where a migration has taken away what this release uses."""
    table = SchemaEpoch._meta.db_table  # noqa: SLF001  (public by name)
    if table not in connection.introspection.table_names():
        return
    newer = SchemaEpoch.objects.filter(number__gt=EPOCH).order_by("-number").first()
    if newer is not None:
        raise NewerSchema(
            f"The database was upgraded to schema epoch {newer.number} on {newer.since:%Y-%m-%d %H:%M} UTC, "
            f"and this release works with {EPOCH}: start the release that it was upgraded to."
        )


def raise_epoch(number: int) -> migrations.RunPython:
    """The operation of a migration that takes something away; it stands first."""

    def forwards(apps: Any, schema_editor: Any) -> None:
        apps.get_model("core", "SchemaEpoch").objects.get_or_create(number=number)

    return migrations.RunPython(forwards, migrations.RunPython.noop)
