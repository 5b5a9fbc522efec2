"""Django's `migrate`, by one process at a time and never by a release that is too old."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections

from citeboard.core.database import NewerSchema, migration_lock, refuse_newer_schema


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        with migration_lock(connections[options["database"]], self.stderr.write):
            try:
                refuse_newer_schema()
            except NewerSchema as reason:
                raise CommandError(str(reason), returncode=reason.exit_code) from reason
            super().handle(*args, **options)
