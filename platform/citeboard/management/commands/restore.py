from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core.words import count_with_noun
from citeboard.ops import backups, bucket_backups
from tasks.management.problems import convert_to_command_error

#: The exit code DIFFERENT_BOARDS_EXIT_CODE means that a restored file or board differs from the backup.
DIFFERENT_BOARDS_EXIT_CODE = 3


class Command(BaseCommand):
    help = (
        "Put a backup in the place of this system: database, files, secret key, and static files made anew. "
        "Everything is verified first, and every file and board afterwards. Stop the site before."
    )
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "target", metavar="TARGET", type=Path, help="the folder of the backup"
        )
        parser.add_argument(
            "--bucket",
            metavar="s3://BUCKET/…",
            help="fetch it from a bucket first, into TARGET, which is not there yet",
        )
        parser.add_argument(
            "--moment", help="which of the bucket's; by default the newest"
        )
        parser.add_argument(
            "--overwrite",
            action="store_true",
            help="although this system has people or seasons of its own",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        target = options["target"].absolute()
        with convert_to_command_error(
            backups.BackupNotPossible, OSError, words=f"{target}: {{}}"
        ):
            if options["bucket"]:
                bucket_backups.download_backup(
                    bucket_backups.open_bucket(options["bucket"]),
                    options["moment"],
                    target,
                )
            manifest, differing, has_other_key = backups.restore_backup(
                target, overwrite=options["overwrite"]
            )
        self.stdout.write(
            f"Restored as of {manifest.made_at}: {count_with_noun(len(manifest.files), 'file')}, "
            f"{count_with_noun(len(manifest.boards), 'board')}; secret key {manifest.secret}"
        )
        if has_other_key:
            self.stdout.write(
                "The secret key is another one than the site had: everybody signs in anew, receipts wait for "
                "another key (`manage.py receipt_key`), and links in "
                "mails that were sent before do not work any more."
            )
        for name in manifest.lost:
            self.stdout.write(f"{name}: was lost before the backup was made")
        if differing:
            for name in differing:
                self.stderr.write(f"{name} is not what it was")
            raise CommandError(
                "The site is restored and is not what it was",
                returncode=DIFFERENT_BOARDS_EXIT_CODE,
            )
        self.stdout.write("Every file and every board is what it was.")
