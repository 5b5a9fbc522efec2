from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from citeboard.core.words import file_size
from scoring.ops.pruning import prune


class Command(BaseCommand):
    help = (
        "Remove expired sessions, breakdowns, comparisons and matrices of runs that are scored against newer "
        "gold, and files that no row names. Scores stay. The site may go on meanwhile."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say what would go, and remove nothing")

    def handle(self, *args: Any, dry_run: bool, **options: Any) -> None:
        verb = "would be removed" if dry_run else "removed"
        for found in prune(dry_run=dry_run):
            size = f", {file_size(found.size)}" if found.size else ""
            self.stdout.write(f"{found.count:>8} {found.what} {verb}{size}")
