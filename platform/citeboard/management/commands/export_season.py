from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.archive.write import write_archive
from citeboard.core.words import count_with_noun
from tasks.management.problems import (
    convert_to_command_error,
    get_season_or_command_error,
)
from tasks.seasons.file.export import export_season


class Command(BaseCommand):
    help = (
        "Write a season as the folder of a season file with its gold and baselines, which load_season reads; "
        "with --archive as one that works from disk: public boards as pages with charts and as JSON, the "
        "runs on them, scores with signatures, checksums, metadata; `citeboard verify` computes it again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("season", metavar="SLUG")
        parser.add_argument(
            "--out",
            type=Path,
            required=True,
            metavar="DIR",
            help="a folder that is not there yet",
        )
        parser.add_argument(
            "--archive", action="store_true", help="write the archive of what is public"
        )
        parser.add_argument(
            "--with-gold",
            action="store_true",
            help="put in all gold, which the organisers have released; else what everybody may download",
        )
        parser.add_argument(
            "--archive-version",
            default="1",
            metavar="TEXT",
            help="of a deposit; 1 unless given",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        season = get_season_or_command_error(options["season"])
        if not options["archive"]:
            exported, folder = export_season(season), options["out"]
            try:
                exported.write(folder)
            except FileExistsError as there:
                raise CommandError(f"{folder} is there already") from there
            self.stdout.write(
                f"{folder}: season.toml and {count_with_noun(len(exported.files), 'file')}"
            )
            if any(task.published for task in season.tasks.all()):
                self.stderr.write(
                    "published results are loaded from their own files, before the season"
                )
            return
        with convert_to_command_error(FileExistsError):
            written = write_archive(
                season,
                options["out"],
                version=options["archive_version"],
                with_gold=options["with_gold"],
            )
        self.stdout.write(
            f"{options['out']}: {written.boards} boards, {written.runs} runs, "
            f"{written.gold} versions of the gold, {written.files} files"
        )
        if written.withheld:
            self.stderr.write(
                f"not over, so without their runs and their splits' gold: {', '.join(written.withheld)}"
            )
