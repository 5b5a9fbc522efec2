import hashlib
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import storages
from django.core.management.base import BaseCommand, CommandError

from citeboard.core import env, words
from citeboard.core.storage.copying import copy_storage
from citeboard.ops.pruning import list_referenced_files

MAX_REFUSED_FILES_PRINTED = 20


class Command(BaseCommand):
    help = (
        "`storage copy FROM TO`: copy all runs, gold and statistics between two places, each an absolute "
        "folder or s3://NAME/PREFIX?endpoint=URL, and compare each by its checksum. Nothing is removed or "
        "overwritten. What was interrupted goes on where it was when it is started again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("act", choices=["copy"])
        parser.add_argument(
            "source",
            metavar="FROM",
            help="a folder, or a bucket as in CITEBOARD_STORAGE",
        )
        parser.add_argument("target", metavar="TO", help="the same")
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would be copied"
        )

    def handle(
        self, *args: Any, source: str, target: str, dry_run: bool, **options: Any
    ) -> None:
        given, wanted = _parse_storage_location(source), _parse_storage_location(target)
        if given == wanted:
            raise CommandError("FROM and TO are the same place.")
        name = hashlib.sha256(repr((given, wanted)).encode()).hexdigest()[:16]
        journal = Path(settings.DATA_DIR) / "copying" / f"{name}.jsonl"
        of = storages.create_storage(given)
        to: Any = storages.create_storage(wanted)
        tell = self.stdout.write if options["verbosity"] > 1 else lambda _: None
        try:
            done = copy_storage(of, to, journal, tell, is_dry_run=dry_run)
            if not dry_run:
                lost = {file.name for file in list_referenced_files()} - {
                    entry.name for entry in to.entries("")
                }
                done.refused += [
                    f"{name} is named by the database and is not there"
                    for name in sorted(lost)
                ]
        except OSError as reason:
            raise CommandError(
                f"{reason}. What was copied stands; start the command again."
            ) from reason
        verb = "would be copied" if dry_run else "copied and compared"
        self.stdout.write(
            f"{words.count_with_noun(done.copied, 'file')} ({words.format_file_size(done.bytes)}) {verb}, "
            f"{words.count_with_noun(done.unchanged, 'file')} there already, "
            f"{done.known} of them known from before."
        )
        if done.refused:
            raise CommandError(
                f"{words.count_with_noun(len(done.refused), 'file')} not copied; "
                "let the site stay where it is. "
                + "; ".join(done.refused[:MAX_REFUSED_FILES_PRINTED])
            )


def _parse_storage_location(address: str) -> dict[str, Any]:
    if not address.startswith("s3:"):
        folder = Path(address)
        if not folder.is_absolute():
            raise CommandError(
                f"“{address}” is neither an absolute folder nor the address of a bucket."
            )
        return env.build_storage_settings(None, folder)
    try:
        return env.build_storage_settings(env.parse_bucket_url(address), Path())
    except ValueError:
        raise CommandError(
            "That is not the address of a bucket, such as s3://name?endpoint=https://s3.example.org, without "
            "credentials."
        ) from None
