from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core.words import count_with_noun
from citeboard.ops.backups import BackupNotPossible
from citeboard.ops.later_runs import export_runs, find_runs_missing_in_backup
from tasks.management.problems import convert_to_command_error


class Command(BaseCommand):
    help = (
        "List the runs that teams sent after a backup, and save them for `send_again`. "
        "Stop the site before, and restore the backup afterwards."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "backup", metavar="BACKUP", type=Path, help="the folder of the backup"
        )
        parser.add_argument(
            "--save",
            metavar="FOLDER",
            type=Path,
            help="save the runs in this new folder; it holds files that only their teams may read",
        )

    def handle(self, *args: Any, backup: Path, **options: Any) -> None:
        folder: Path | None = options["save"]
        with convert_to_command_error(
            BackupNotPossible, OSError, words=f"{folder or backup}: {{}}"
        ):
            runs = find_runs_missing_in_backup(backup)
            lost = export_runs(runs, folder) if folder else []
        for run in runs:
            task, sent = run.phase.task, f"{run.submitted_at:%Y-%m-%d %H:%M:%S} UTC"
            place = f"{task.season.slug}/{task.slug}/{run.phase.slug}"
            self.stdout.write(
                f"{sent} {place} {run.team}: {run.system}, {run.filename}"
            )
        where = f"; saved in {folder}" if folder else ""
        self.stdout.write(
            f"{count_with_noun(len(runs), 'run')} came after the backup{where}"
        )
        if lost:
            raise CommandError("\n".join(lost))
