"""`manage.py load_season DIR [--data ROOT] [--reason TEXT] [--dry-run] [--apply KEY …] [--keep KEY …]`"""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from citeboard.core.words import counted, setting
from scoring.acts.rehearsal import GoldStep, Moved, Rehearsal, rehearsed_load
from tasks.gold.early import WouldLetOut, going_on
from tasks.management.problems import LET_OUT, REFUSED, problems_told
from tasks.seasons.file.entries import NAME
from tasks.seasons.file.load import load_season
from tasks.seasons.file.plan import UNSAID, Decisions, Difference, KeyNotKnown, LoadConflicts

#: Nothing was loaded, since it would undo what was changed in the site.
CONFLICT = 3
UNDONE = "the settings, by the file as it was before; what was shown or sent meanwhile may have been read"


class Command(BaseCommand):
    help = "Bring the site to what DIR/season.toml says; docs/season-file.md describes the file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("folder", type=Path, metavar="DIR", help="the folder of season.toml, or that file")
        add("--data", type=Path, metavar="ROOT", help="where gold and runs are looked for beside DIR")
        add("--reason", default="", metavar="TEXT", help="why gold that the site has already is corrected")
        add("--let-out", metavar="TASK", default="", help=LET_OUT)
        add(
            "--dry-run",
            action="store_true",
            help="show what would change and what would follow, and change nothing",
        )
        for name, value in (("--apply", "the file's value"), ("--keep", "the site's value")):
            words = f"keys that were changed in the site since the last load and take {value}, or all"
            add(name, nargs="+", action="extend", default=[], metavar="KEY", help=words)

    def handle(self, *args: Any, **options: Any) -> None:
        decisions = Decisions(frozenset(options["apply"]), frozenset(options["keep"]))
        folder: Path = options["folder"]
        load = partial(
            load_season,
            folder.parent if folder.name == NAME else folder,
            data=options["data"],
            reason=options["reason"].strip(),
            decisions=decisions,
        )
        rehearsal = None
        try:
            with (
                problems_told(self, otherwise="nothing was loaded"),
                going_on(options["let_out"], options["reason"]),
            ):
                loaded = load(dry_run=options["dry_run"])
                if options["dry_run"]:
                    rehearsal = rehearsed_load(loaded.season if loaded.season.pk else None, load)
        except KeyNotKnown as unknown:
            raise CommandError(f"{unknown}; nothing was loaded", returncode=REFUSED) from unknown
        except WouldLetOut as early:
            raise CommandError(f"{early}, by --let-out and --reason", returncode=REFUSED) from early
        except LoadConflicts as found:
            self._tell_conflicts(found.conflicts)
            raise CommandError(
                f"{found}; nothing was loaded. --apply KEY … or --apply all gives them what the file says, "
                "--keep KEY … leaves them",
                returncode=CONFLICT,
            ) from found
        for change in loaded.changes:
            self.stdout.write(change)
        for row in loaded.differences:
            self.stdout.write(f"  {row.key}: {setting(row.site, row.key)} → {setting(row.file, row.key)}")
        self._tell_conflicts(loaded.conflicts)
        if not loaded.changes and not loaded.differences and not loaded.conflicts:
            self.stdout.write(f"season {loaded.season.slug}: nothing to change")
        for notice in loaded.notices:
            self.stdout.write(f"note: {notice}")
        for title, lines in _parts(rehearsal) if rehearsal else ():
            if lines:
                self.stdout.write("\n".join([f"{title}:", *(f"- {line}" for line in lines)]))

    def _tell_conflicts(self, conflicts: list[Difference]) -> None:
        for row in conflicts:
            last = "" if row.last is UNSAID else f", which said {setting(row.last, row.key)} before"
            here, there = setting(row.site, row.key), setting(row.file, row.key)
            self.stderr.write(f"{row.key}: changed in the site to {here}; the file says {there}{last}")


def _parts(rehearsal: Rehearsal) -> Iterator[tuple[str, Sequence[str]]]:
    """What pages show of it; the settings that would change are told with the plan."""
    yield "in the words of the history", rehearsal.done
    yield "made", [f"{row.title}: {row.opens} – {row.closes}, board: {row.board}" for row in rehearsal.made]
    yield "known before its time", [part.words for part in rehearsal.early.told] if rehearsal.early else ()
    yield "touches what is settled", rehearsal.confirmed
    yield "gold", list(map(_gold, rehearsal.gold))
    yield "in other splits too", [words for step in rehearsal.gold for words in step.shared]
    yield "scored again", rehearsal.scored
    yield "ranks and scores", list(map(_moved, rehearsal.moved))
    yield "who will see what they do not see now", rehearsal.seen
    yield "who will not see any more what they see now", rehearsal.unseen
    told = [
        f"{counted(part.people, 'person', 'people')}, {part.mails} by e-mail: {part.title}. {part.text}"
        for part in rehearsal.told
    ]
    posts = [f"{counted(rehearsal.posted, 'post')} to webhooks"] if rehearsal.posted else []
    yield "who will be told", [*told, *posts]
    if rehearsal.asks:
        yield "what can be undone", [UNDONE]


def _gold(step: GoldStep) -> str:
    words = f"{step.split}: {f'v{step.before} → ' if step.before else ''}v{step.version}, "
    words += counted(step.instances, "instance")
    if count := step.counts:
        words += f": {count.same} in common, {count.answered} with another answer, {count.added} added"
        words += f", {count.gone} gone"
    return words


def _moved(row: Moved) -> str:
    of = ((row.before, row.score_before), (row.after, row.score_after))
    places = [f"{rank} ({score})" if score else rank or "not on the board" for rank, score in of]
    return f"{row.phase}: {row.system}, {row.team}: {' → '.join(places)}"
