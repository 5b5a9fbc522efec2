"""`manage.py clone_season SLUG NEW --title TEXT [--days N]`"""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from citeboard.core.words import count_with_noun
from tasks.management.problems import get_season_or_command_error, report_refused_input
from tasks.seasons.presets import DAYS_IN_52_WEEKS, clone_season


class Command(BaseCommand):
    help = "Make next year's season: the tasks and phases of SLUG, later, without people, runs and gold."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("season", metavar="SLUG")
        parser.add_argument("new", metavar="NEW", help="the slug of the new season")
        parser.add_argument("--title", required=True, metavar="TEXT")
        message = f"by how many its phases are later; {DAYS_IN_52_WEEKS}"
        parser.add_argument(
            "--days", type=int, default=DAYS_IN_52_WEEKS, metavar="N", help=message
        )

    def handle(self, *args: Any, **options: Any) -> None:
        season = get_season_or_command_error(options["season"])
        with report_refused_input(self, otherwise="nothing was made"):
            made = clone_season(
                season=season,
                slug=options["new"],
                title=options["title"],
                days=options["days"],
                by=None,
            )
        self.stdout.write(
            f"season {made.slug}: a draft with {count_with_noun(made.tasks.count(), 'task')}"
        )
