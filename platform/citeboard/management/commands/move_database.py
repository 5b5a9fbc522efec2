import hashlib
import json
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.core.management.color import no_style
from django.db import Error as DatabaseTrouble, connection, connections, transaction
from django.db.models import JSONField, Model

from citeboard.core import database, env
from citeboard.core.refusals import ActionRefused
from citeboard.core.words import count_with_noun
from tasks.management.problems import convert_to_command_error

TARGET_DATABASE_ALIAS = "moved_to"


class Command(BaseCommand):
    help = (
        "Copy this site's SQLite database into an empty one of PostgreSQL, every row compared, all or "
        "nothing. Stop the site before; afterwards start it with DATABASE_URL naming the new one. Files stay."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "address", metavar="ADDRESS", help="postgres://user:password@host:5432/name"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with convert_to_command_error(
            ActionRefused, ValueError, words="Nothing is moved: {}"
        ):
            tables = move_database(options["address"])
        for name, number in tables.items():
            self.stdout.write(f"{number:>10,}  {name}")
        rows = count_with_noun(sum(tables.values()), "row")
        message = f"{rows} are there and are what they were. Start the site with the new DATABASE_URL."
        self.stdout.write(message)


def move_database(address: str) -> dict[str, int]:
    """Copy all rows of the site's SQLite database to an empty PostgreSQL database.

    Returns the number of copied rows of each table. If an error occurs, the new
    database stays empty. Raises Refused if the rows cannot be moved, and ValueError for
    an invalid URL.
    """
    if connection.vendor != "sqlite":
        raise ActionRefused("this site's database is PostgreSQL already")
    if missing := database.read_schema_state().missing:
        raise ActionRefused(
            f"the database is {len(missing)} migration(s) behind; run `manage.py migrate` first"
        )
    connections.databases[TARGET_DATABASE_ALIAS] = {
        **connections.databases["default"],
        **env.build_database_settings(address),
    }
    target = connections[TARGET_DATABASE_ALIAS]
    if target.vendor != "postgresql":
        raise ActionRefused(
            f"the new database is {target.display_name}; expected PostgreSQL"
        )
    try:
        if target.introspection.table_names():
            raise ActionRefused(
                "the new database has tables already; expected an empty one"
            )
        call_command(
            "migrate", database=TARGET_DATABASE_ALIAS, interactive=False, verbosity=0
        )
        models = [
            model
            for model in apps.get_models(include_auto_created=True)
            if model._meta.managed and not model._meta.proxy  # noqa: SLF001  (public by name)
        ]
        # The transaction blocks writes to SQLite while rows are copied and compared.
        with (
            transaction.atomic(),
            transaction.atomic(using=TARGET_DATABASE_ALIAS),
            target.cursor() as cursor,
        ):
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
            names = ", ".join(
                target.ops.quote_name(model._meta.db_table)  # noqa: SLF001
                for model in models
            )
            cursor.execute(f"TRUNCATE {names}")
            tables = {
                model._meta.db_table: _copy_table(model, cursor)  # noqa: SLF001
                for model in models
            }
            for statement in target.ops.sequence_reset_sql(no_style(), models):
                cursor.execute(statement)
    except DatabaseTrouble as reason:
        raise ActionRefused(f"the new database says: {reason}") from reason
    finally:
        target.close()
    return tables


def _copy_table(model: type[Model], cursor: Any) -> int:
    meta = model._meta  # noqa: SLF001  (public by name)
    fields = meta.concrete_fields
    quote = connections[TARGET_DATABASE_ALIAS].ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in fields)
    with cursor.copy(f"COPY {quote(meta.db_table)} ({columns}) FROM STDIN") as copy:
        for row in _iterate_rows(model, "default"):
            copy.write_row(
                [
                    json.dumps(value)
                    if isinstance(field, JSONField) and value is not None
                    else value
                    for field, value in zip(fields, row, strict=True)
                ]
            )
    before, after = (
        _count_and_digest(model, alias) for alias in ("default", TARGET_DATABASE_ALIAS)
    )
    if before != after:
        raise ActionRefused(
            f"{meta.db_table} has {before[0]:,} rows and came as {after[0]:,}, or as others"
        )
    return before[0]


def _iterate_rows(model: type[Model], alias: str) -> Iterator[tuple[Any, ...]]:
    names = [field.attname for field in model._meta.concrete_fields]  # noqa: SLF001
    rows = model._base_manager.using(alias).order_by().values_list(*names)  # noqa: SLF001  (documented)
    return rows.iterator(chunk_size=2000)


def _count_and_digest(model: type[Model], alias: str) -> tuple[int, int]:
    """Return the number of rows of a model's table and a digest of the rows.

    The digest depends neither on the order of the rows nor on the order of keys in
    JSON.
    """
    count = total = 0
    for row in _iterate_rows(model, alias):
        values = [
            bytes(value).hex() if isinstance(value, bytes | memoryview) else value
            for value in row
        ]
        text = json.dumps(values, sort_keys=True, default=str)
        count, total = (
            count + 1,
            total + int.from_bytes(hashlib.sha256(text.encode()).digest()),
        )
    return count, total
