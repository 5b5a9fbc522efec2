from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand

from citeboard.core.words import format_file_size
from citeboard.ops.pruning import ROWS_DELETABLE_BY_AGE, delete_unneeded_data

#: `prune` keeps rows younger than MIN_RETENTION_DAYS, which users or API clients may request.
MIN_RETENTION_DAYS = 30


def _parse_kind_and_days(text: str) -> tuple[str, int]:
    kind, _, days = text.partition("=")
    if (
        kind not in ROWS_DELETABLE_BY_AGE
        or not days.isdecimal()
        or int(days) < MIN_RETENTION_DAYS
    ):
        raise ArgumentTypeError(
            f"{text!r} is not one of {', '.join(ROWS_DELETABLE_BY_AGE)}, "
            f"then = and at least {MIN_RETENTION_DAYS} days"
        )
    return kind, int(days)


class Command(BaseCommand):
    help = (
        "Remove expired sessions, breakdowns, comparisons and matrices of runs that are scored against newer "
        "gold, and files that no row names. Scores stay. The site may go on meanwhile."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="say what would go, and remove nothing",
        )
        parser.add_argument(
            "--older-than",
            nargs="+",
            default=[],
            type=_parse_kind_and_days,
            metavar="KIND=DAYS",
            help=f"also remove rows by age, of {' and '.join(ROWS_DELETABLE_BY_AGE)}; "
            f"at least {MIN_RETENTION_DAYS} days",
        )

    def handle(
        self,
        *args: Any,
        dry_run: bool,
        older_than: list[tuple[str, int]],
        **options: Any,
    ) -> None:
        verb = "would be removed" if dry_run else "removed"
        for found in delete_unneeded_data(dry_run=dry_run, days=dict(older_than)):
            size = f", {format_file_size(found.size)}" if found.size else ""
            self.stdout.write(f"{found.count:>8} {found.what} {verb}{size}")
