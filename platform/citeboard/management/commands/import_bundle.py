"""`manage.py import_bundle BUNDLE [--slug NAME] [--organiser ADDRESS] [--gold PLACE=FILE] [--dry-run]
[--out ZIP]`
"""

import shutil
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core.words import count_with_noun
from citeboard.teams.models import User
from scoring.exchange.bundles.importing import (
    create_drafted_season,
    draft_season_from_bundle,
    group_report_by_heading,
)
from tasks.gold.packing import write_zip_archive
from tasks.management.problems import REFUSED_INPUT_EXIT_CODE, report_refused_input


def _build_file_opener(path: Path) -> Callable[[], IO[bytes]]:
    return lambda: path.open("rb")


@contextmanager
def open_as_zip(path: Path) -> Iterator[Path]:
    """Yield the path of a zip file with the contents of a bundle.

    If the bundle is a folder, the function zips the folder to a temporary file.
    """
    if not path.is_dir():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="citeboard-bundle-") as scratch:
        packed = Path(scratch) / "bundle.zip"
        files = [
            (file.relative_to(path).as_posix(), _build_file_opener(file))
            for file in sorted(path.rglob("*"))
            if file.is_file() and not file.is_symlink()
        ]
        write_zip_archive(packed, files)
        yield packed


def find_organiser_by_email(address: str) -> User | None:
    """Return the account with the given e-mail address, or None if the address is
    empty.

    Raises CommandError if no account has this e-mail address.
    """
    if not address:
        return None
    user = User.objects.filter(email__iexact=address).first()
    if user is None:
        raise CommandError(
            f"{address} has no account", returncode=REFUSED_INPUT_EXIT_CODE
        )
    return user


class Command(BaseCommand):
    help = (
        "Make the draft of a season from a bundle of Codabench or CodaLab, and report what was understood; "
        "docs/bundles.md has each key of both."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("bundle", type=Path, metavar="BUNDLE", help="the zip, or its folder")
        add("--slug", default="", metavar="NAME", help="the season's name in addresses")
        add("--title", default="", metavar="TEXT", help="the season's title")
        add("--organiser", default="", metavar="ADDRESS", help="whose draft it is")
        add(
            "--gold",
            action="append",
            default=[],
            metavar="PLACE=FILE",
            help="the gold where the report names several files; can be repeated",
        )
        add(
            "--out",
            type=Path,
            metavar="ZIP",
            help="write the draft as season.zip, and make no season",
        )
        add("--dry-run", action="store_true", help="show the report, and make nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        path, by = options["bundle"], find_organiser_by_email(options["organiser"])
        named = {name: options[name] for name in ("slug", "title", "gold")}
        with (
            report_refused_input(self, otherwise="nothing was made"),
            open_as_zip(path) as packed,
            draft_season_from_bundle(packed, path.name, by=by, **named) as draft,
        ):
            for heading, lines in group_report_by_heading(draft.report):
                self.stdout.write(f"{heading}:")
                for line in lines:
                    self.stdout.write(f"  {line.place}: {line.message}")
            if draft.values is None or draft.season_zip is None:
                reason = draft.reason
                message = f"not imported, for {reason.place}: {reason.message}"
                raise CommandError(message, returncode=REFUSED_INPUT_EXIT_CODE)
            if options["out"]:
                shutil.copyfile(draft.season_zip, options["out"])
                self.stdout.write(f"{options['out']}: the draft as season.zip")
            elif not options["dry_run"]:
                loaded = create_drafted_season(draft, filename=path.name, by=by)
                tasks = count_with_noun(loaded.season.tasks.count(), "task")
                self.stdout.write(f"season {loaded.season.slug}: a draft with {tasks}")
