from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core.words import count_with_noun
from scoring.worker.entailment_labels import import_labels
from scoring.worker.local_copies import UploadedFileRefused
from tasks.management.problems import format_problem_lines, get_season_or_command_error


class Command(BaseCommand):
    help = (
        "Keep the labels of a file of JSON lines, all or none; runs that wait for nothing else go on. "
        "All seasons share them unless one is named. The same labels again change nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            metavar="FILE",
            help="as `python -m scoring decide` writes it",
        )
        parser.add_argument(
            "--model",
            default="",
            metavar="NAME",
            help="whose labels they are, where the file does not say",
        )

        parser.add_argument(
            "--season",
            default="",
            metavar="SLUG",
            help="the only season whose runs they decide",
        )

    def handle(
        self, *args: Any, file: Path, model: str, season: str, **options: Any
    ) -> None:
        if not file.is_file():
            raise CommandError(f"there is no file {file}")
        own = get_season_or_command_error(season) if season else None
        try:
            done = import_labels(
                path=file, filename=file.name, by=None, model=model, season=own
            )
        except UploadedFileRefused as refused:
            raise CommandError(
                "\n".join(
                    ["nothing was kept:", *format_problem_lines(refused.problems)]
                )
            ) from refused
        self.stdout.write(
            f"{count_with_noun(done.added, 'label')} of {done.judge} added, {done.known} were there; "
            f"{count_with_noun(done.resumed, 'scoring')} {'goes' if done.resumed == 1 else 'go'} on"
        )
