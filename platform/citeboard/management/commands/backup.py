from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core.words import count_with_noun, format_file_size
from citeboard.ops import backups, bucket_backups
from tasks.management.problems import convert_to_command_error

#: The exit code MISSING_FILES_EXIT_CODE means that the site has lost files, which the backup lacks.
MISSING_FILES_EXIT_CODE = 3


class Command(BaseCommand):
    help = (
        "Write database, files and secret key into a folder, with the digest of each and of every board, and "
        "read them back. The site may go on meanwhile. Exits 3 where the site has itself lost files."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "target", metavar="TARGET", type=Path, help="a folder that is not there yet"
        )
        parser.add_argument(
            "--without-secret", action="store_true", help="leave the secret key out"
        )
        linked = "link what the newest backup beside this one has already"
        parser.add_argument("--incremental", action="store_true", help=linked)
        parser.add_argument(
            "--bucket",
            metavar="s3://BUCKET/…",
            help="send it to a bucket too, each content of a file once",
        )
        text = "remove all but the N newest backups, here and in the bucket"
        parser.add_argument("--keep", type=int, metavar="N", help=text)

    def handle(self, *args: Any, **options: Any) -> None:
        target, keep = options["target"].absolute(), options["keep"]
        if keep is not None and keep < 1:
            raise CommandError("--keep takes a number of at least 1")
        with convert_to_command_error(
            backups.BackupNotPossible, OSError, words="No backup was made: {}"
        ):
            bucket = (
                bucket_backups.open_bucket(options["bucket"])
                if options["bucket"]
                else None
            )
            manifest = backups.write_backup(
                target,
                with_secret=not options["without_secret"],
                is_incremental=options["incremental"],
            )
        files, boards = (
            count_with_noun(len(manifest.files), "file"),
            count_with_noun(len(manifest.boards), "board"),
        )
        self.stdout.write(
            f"{target}: {files} of {format_file_size(manifest.size)} and {boards}, "
            f"read back and found equal; secret key {manifest.secret}"
        )
        if keep is not None:
            for folder in backups.remove_older_backups(target, keep):
                self.stdout.write(f"{folder}: removed")
        if bucket is not None:
            with convert_to_command_error(
                OSError, words="The backup is here and not in the bucket: {}"
            ):
                moment, sent = bucket_backups.upload_backup(target, bucket)
                self.stdout.write(
                    f"{moment}: {count_with_noun(sent, 'new file')} in the bucket"
                )
                for old in (
                    bucket_backups.remove_older_backups(bucket, keep) if keep else ()
                ):
                    self.stdout.write(f"{old}: removed from the bucket")
        if manifest.lost:
            for name in manifest.lost:
                self.stderr.write(f"{name}: lost or damaged in the site's own storage")
            number = count_with_noun(len(manifest.lost), "file")
            raise CommandError(
                f"The backup lacks {number} that the site has lost",
                returncode=MISSING_FILES_EXIT_CODE,
            )
