from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core.words import count_with_noun
from citeboard.ops.later_runs import RunNotAccepted, read_saved_runs, submit_saved_run
from tasks.management.problems import convert_to_command_error


class Command(BaseCommand):
    help = (
        "Send the runs again that `later_runs` has saved, with the times at which they came first, and "
        "whatever dates and limits say. What a team has sent again by itself is left out."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "folder", metavar="FOLDER", type=Path, help="what `later_runs` has saved"
        )

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        sent, there, refused = 0, 0, []
        with convert_to_command_error(RunNotAccepted, OSError, words=f"{folder}: {{}}"):
            for saved in read_saved_runs(folder):
                try:
                    run = submit_saved_run(saved, folder)
                except RunNotAccepted as reason:
                    refused.append(str(reason))
                    continue
                sent, there = sent + (run is not None), there + (run is None)
        self.stdout.write(
            f"{count_with_noun(sent, 'run')} sent again; {count_with_noun(there, 'run')} there already"
        )
        if refused:
            raise CommandError("\n".join([*refused, "These runs were not taken"]))
