"""`manage.py load_season DIR [--data ROOT] [--reason TEXT] [--dry-run] [--apply KEY …] [--keep KEY …]`"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.template.loader import render_to_string

from citeboard.acts.rehearsal import rehearse_season_load
from citeboard.core.words import format_setting
from tasks.gold.early import EmbargoBreach, UnequalPublicParts, confirm_disclosure
from tasks.management.problems import (
    EMBARGO_BREACH_OPTION_HELP,
    REFUSED_INPUT_EXIT_CODE,
    report_refused_input,
)
from tasks.seasons.file.entries import SEASON_FILE_NAME
from tasks.seasons.file.load import SeasonLoadResult, load_season
from tasks.seasons.file.plan import (
    UNKNOWN_LAST_VALUE,
    ConflictDecisions,
    SettingDifference,
    UndecidedLoadConflicts,
    UnknownDecisionKey,
)
from tasks.seasons.file.sent import open_season_zip

#: The exit code CONFLICT_EXIT_CODE means that a season file would undo changes of the season.
CONFLICT_EXIT_CODE = 3


@contextmanager
def _open_season_reader(
    folder: Path, given: Mapping[str, Any]
) -> Iterator[Callable[..., SeasonLoadResult]]:
    if folder.suffix.lower() != ".zip":
        yield partial(load_season, folder, **given)
        return
    facts = {name: given[name] for name in ("reason", "decisions")}
    with open_season_zip(folder, folder.name, by=None, slug=None) as load:
        yield partial(load, **facts)


class Command(BaseCommand):
    help = "Bring the site to what DIR/season.toml says; docs/season-file.md describes the file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add(
            "folder",
            type=Path,
            metavar="DIR",
            help="the folder of season.toml, or that file, or a season.zip",
        )
        add(
            "--data",
            type=Path,
            metavar="ROOT",
            help="where gold and runs are looked for beside DIR",
        )
        add(
            "--reason",
            default="",
            metavar="TEXT",
            help="why gold that the site has already is corrected",
        )
        add("--let-out", metavar="TASK", default="", help=EMBARGO_BREACH_OPTION_HELP)
        add(
            "--dry-run",
            action="store_true",
            help="show what would change and what would follow, and change nothing",
        )
        for name, value in (
            ("--apply", "the file's value"),
            ("--keep", "the site's value"),
        ):
            message = f"keys that were changed on the site since the last load and take {value}, or all"
            add(
                name,
                nargs="+",
                action="extend",
                default=[],
                metavar="KEY",
                help=message,
            )

    def handle(self, *args: Any, **options: Any) -> None:
        decisions = ConflictDecisions(
            frozenset(options["apply"]), frozenset(options["keep"])
        )
        folder: Path = options["folder"]
        folder = folder.parent if folder.name == SEASON_FILE_NAME else folder
        given = {
            "data": options["data"],
            "reason": options["reason"].strip(),
            "decisions": decisions,
        }
        rehearsal = None
        try:
            with (
                report_refused_input(self, otherwise="nothing was loaded"),
                confirm_disclosure(options["let_out"], options["reason"]),
                _open_season_reader(folder, given) as load,
            ):
                loaded = load(dry_run=options["dry_run"])
                if options["dry_run"]:
                    rehearsal = rehearse_season_load(
                        loaded.season if loaded.season.pk else None, load
                    )
        except (UnknownDecisionKey, UnequalPublicParts, EmbargoBreach) as refused:
            more = (
                ", by --let-out and --reason"
                if isinstance(refused, EmbargoBreach)
                else "; nothing was loaded"
            )
            raise CommandError(
                f"{refused}{more}", returncode=REFUSED_INPUT_EXIT_CODE
            ) from refused
        except UndecidedLoadConflicts as found:
            self._print_conflicts(found.conflicts)
            raise CommandError(
                f"{found}; nothing was loaded. --apply KEY … or --apply all gives them what the file says, "
                "--keep KEY … leaves them",
                returncode=CONFLICT_EXIT_CODE,
            ) from found
        for change in loaded.changes:
            self.stdout.write(change)
        for row in loaded.differences:
            self.stdout.write(
                f"  {row.key}: {format_setting(row.site, row.key)} → {format_setting(row.file, row.key)}"
            )
        self._print_conflicts(loaded.conflicts)
        if not loaded.changes and not loaded.differences and not loaded.conflicts:
            self.stdout.write(f"season {loaded.season.slug}: nothing to change")
        for notice in loaded.notices:
            self.stdout.write(f"note: {notice}")
        if rehearsal:
            context = {"rehearsal": rehearsal, "effects": rehearsal.effects}
            text = render_to_string("organise/rehearsed.txt", context)
            self.stdout.write("\n".join(line for line in text.splitlines() if line))

    def _print_conflicts(self, conflicts: list[SettingDifference]) -> None:
        for row in conflicts:
            last = (
                ""
                if row.last is UNKNOWN_LAST_VALUE
                else f", which said {format_setting(row.last, row.key)} before"
            )
            here, there = (
                format_setting(row.site, row.key),
                format_setting(row.file, row.key),
            )
            self.stderr.write(
                f"{row.key}: changed on the site to {here}; the file says {there}{last}"
            )
