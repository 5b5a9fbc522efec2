from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from scoring.exchange.mounted import (
    ArchiveMountRefused,
    unmount_archive,
    verify_and_mount_archive,
)
from tasks.management.problems import convert_to_command_error
from tasks.types import InputRefused


class Command(BaseCommand):
    help = (
        "Show the archive of a season of another site as a past season that nobody can change. Its numbers "
        "are computed again first; one that does not hold is refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "archive",
            type=Path,
            metavar="DIR",
            nargs="?",
            help="of `export_season --archive`",
        )
        parser.add_argument(
            "--as",
            dest="slug",
            default="",
            metavar="SLUG",
            help="its address; its own unless given",
        )
        parser.add_argument("--unmount", metavar="SLUG", help="take it away again")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["archive"]) == bool(options["unmount"]):
            raise CommandError("give a folder to be mounted, or --unmount SLUG")
        with convert_to_command_error(
            InputRefused, ArchiveMountRefused, words="not mounted: {}"
        ):
            if options["unmount"]:
                unmount_archive(options["unmount"])
                self.stdout.write(f"{options['unmount']} is not shown any more")
                return
            made = verify_and_mount_archive(options["archive"], options["slug"])
        self.stdout.write(
            f"{made.title}: {made.mount['verified']}; shown at /archives/{made.slug}/"
        )
