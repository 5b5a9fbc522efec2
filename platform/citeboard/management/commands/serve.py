import filecmp
import json
import logging
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.apps import StaticFilesConfig
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from citeboard.core import database, processes
from citeboard.ops.serving import (
    SITE_PROCESS_KIND,
    SUPERVISED_PROCESS_KINDS,
    ServingFailed,
    SiteSupervisor,
)
from tasks.seasons.organisers import write_first_organiser_instructions

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = (
        "Migrate the database, then serve the site and score runs: web processes, workers and sweeper, "
        "restarted when they die or hang. "
        "SIGTERM or Ctrl-C ends everything; runs that were being scored are scored again by themselves."
    )
    requires_system_checks = ["environment", "models"]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--only",
            choices=SUPERVISED_PROCESS_KINDS,
            help="one of the two, where the other runs elsewhere",
        )
        parser.add_argument(
            "--no-migrate",
            action="store_true",
            help="refuse a database of an earlier release instead",
        )

    def handle(self, *args: Any, only: str | None, **options: Any) -> None:
        parts = (only,) if only else SUPERVISED_PROCESS_KINDS
        if SITE_PROCESS_KIND in parts and (
            words := processes.find_port_problem(settings.BIND, settings.PORT)
        ):
            raise CommandError(words)
        prepare_database(migrates=not options["no_migrate"])
        if SITE_PROCESS_KIND in parts and not are_static_files_collected():
            collect_static_files()
        if SITE_PROCESS_KIND in parts and (
            words := write_first_organiser_instructions()
        ):
            self.write_status_line(words)
        connection.close()
        try:
            SiteSupervisor(parts, announce=self.write_status_line).run()
        except database.UnusableSchema as reason:
            raise CommandError(str(reason), returncode=reason.exit_code) from reason
        except ServingFailed as reason:
            raise CommandError(str(reason)) from reason

    def write_status_line(self, words: str) -> None:
        self.stdout.write(words)
        self.stdout.flush()


def are_static_files_collected() -> bool:
    root = Path(settings.STATIC_ROOT)
    try:
        paths = json.loads((root / "staticfiles.json").read_text(encoding="utf-8"))[
            "paths"
        ]
        for finder in get_finders():
            for name, storage in finder.list(StaticFilesConfig.ignore_patterns):
                whole = "/".join(filter(None, [getattr(storage, "prefix", None), name]))
                gathered = root / paths[whole]
                if not (
                    gathered.is_file()
                    and filecmp.cmp(storage.path(name), root / whole, shallow=False)
                ):
                    return False
    except (OSError, ValueError, KeyError):
        return False
    return True


def collect_static_files() -> None:
    try:
        call_command("collectstatic", interactive=False, verbosity=0)
    except OSError as reason:
        log.error(  # noqa: TRY400
            "Scripts and styles could not be gathered in %s: %s",
            settings.STATIC_ROOT,
            reason,
        )


def prepare_database(*, migrates: bool) -> None:
    try:
        database.raise_if_schema_unusable()
        missing = database.read_schema_state().missing
        if missing and migrates:
            call_command("migrate", interactive=False, verbosity=0)
            missing = []
    except database.UnusableSchema as reason:
        raise CommandError(str(reason), returncode=reason.exit_code) from reason
    except DatabaseError as reason:
        raise CommandError(f"The database does not answer: {reason}") from reason
    finally:
        connection.close()
    if missing:
        raise CommandError(
            f"The database is {len(missing)} migration(s) behind this release; run `manage.py migrate`."
        )
