"""Django's `migrate` command, which runs in one process at a time and refuses a
database of a newer release.
"""

from typing import Any

from django.apps import apps
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Model

from citeboard.core.database import (
    SCHEMA_EPOCH,
    UnusableSchema,
    hold_migration_lock,
    raise_if_schema_unusable,
)
from citeboard.core.models import SchemaEpoch


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        with hold_migration_lock(connection, self.stderr.write):
            try:
                raise_if_schema_unusable()
            except UnusableSchema as reason:
                raise CommandError(str(reason), returncode=reason.exit_code) from reason
            is_whole = not any(
                options[name]
                for name in ("app_label", "plan", "check_unapplied", "fake")
            )
            if is_whole and not connection.introspection.table_names():
                _create_all_tables(connection)
            super().handle(*args, **options)


def _create_all_tables(connection: BaseDatabaseWrapper) -> None:
    executor = MigrationExecutor(connection)
    with connection.schema_editor() as editor:
        models: list[type[Model]] = [executor.recorder.Migration, *apps.get_models()]
        for model in models:
            if model._meta.can_migrate(connection):  # noqa: SLF001  (public by name)
                editor.create_model(model)
        for label, name in executor.loader.disk_migrations:
            executor.recorder.migration_qs.create(app=label, name=name)
        SchemaEpoch.objects.using(connection.alias).create(number=SCHEMA_EPOCH)
