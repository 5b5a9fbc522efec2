"""`manage.py score_old_runs SEASON TASK PHASE RUNS --organiser ADDRESS`"""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from citeboard.core.words import count_with_noun
from citeboard.management.commands.import_bundle import (
    find_organiser_by_email,
    open_as_zip,
)
from scoring.exchange.bundles.scored_again import queue_and_finish_old_runs
from tasks.management.problems import get_phase_or_command_error, report_refused_input


class Command(BaseCommand):
    help = (
        "Score runs of another site again, as runs of teams by name, with their old scores of scores.csv "
        "beside the new ones; docs/bundles.md describes the folder."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        for name in ("season", "task", "phase"):
            add(name, metavar=name.upper(), help=f"the slug of the {name}")
        add("runs", type=Path, metavar="RUNS", help="a folder or a zip, by team")
        add(
            "--organiser",
            required=True,
            metavar="ADDRESS",
            help="the account in whose name the old scores are entered",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path, by = options["runs"], find_organiser_by_email(options["organiser"])
        phase = get_phase_or_command_error(
            season=options["season"], task=options["task"], phase=options["phase"]
        )
        with (
            report_refused_input(self, otherwise="no run was taken"),
            open_as_zip(path) as packed,
        ):
            done = queue_and_finish_old_runs(
                phase=phase, path=packed, filename=path.name, by=by
            )
        self.stdout.write(f"{count_with_noun(len(done.runs), 'run')} queued")
        for name in done.measures:
            self.stdout.write(f"beside the board: {name}")
        for problem in done.problems:
            self.stderr.write(str(problem))
