"""Create seasons from competition bundles of Codabench and CodaLab. Only sandboxed
processes read the content of a competition bundle.
"""

import datetime as dt
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.audit import history
from citeboard.core.confinement import (
    UploadUnreadable,
    limits_for_organisers,
    read_upload,
)
from citeboard.teams.models import User
from scoring.exchange.bundles.drafting import CHOOSES, PROGRAM
from scoring.exchange.bundles.report import DECIDE, MAX_LINES, VERDICTS, Line
from tasks.gold.packing import write_archive
from tasks.models import Season
from tasks.seasons.file.entries import NAME
from tasks.seasons.file.load import Loaded
from tasks.seasons.file.sent import Load, season_in_zip
from tasks.seasons.file.tables import document
from tasks.types import InputRefused, Problem

#: The history entry with the action IMPORTED contains the report on the import.
IMPORTED = "bundle-imported"
#: A bundle may set the season settings in SEASON_KEYS, but not people or visibility.
SEASON_KEYS = ("title", "summary", "registration", "time_zone", "terms")
PLANNED = "planned_phases"
PART = re.compile(r"part-\d{1,6}")


@dataclass(frozen=True)
class Choice:
    """A key of a bundle's description for which an organiser must choose one of several
    possible gold files.

    ``chosen`` is the file that the organiser has chosen as gold, or empty before the
    choice.
    """

    place: str
    files: Sequence[str]
    chosen: str


@dataclass(frozen=True)
class Draft:
    """The draft of a season, with the report of the import and the values of a season
    file.

    ``values`` are the values of the season file, or None if the bundle cannot be
    imported.
    """

    report: Sequence[Line]
    values: Mapping[str, Any] | None
    season_zip: Path | None
    choices: Sequence[Choice] = ()

    @property
    def reason(self) -> Line:
        """Return the reason why a competition bundle cannot be imported."""
        return self.report[0]


@contextmanager
def drafted(
    path: Path,
    filename: str,
    *,
    by: User | None,
    slug: str = "",
    title: str = "",
    gold: Sequence[str] = (),
) -> Iterator[Draft]:
    """Yield the draft of a season from a bundle, and delete the draft's `season.zip`
    when the block ends. Raises InputRefused.

    Each item of ``gold`` has the form `PLACE=FILE` and chooses the gold file for the
    key path PLACE of the bundle's description.
    """
    given = {"filename": filename, "gold": _checked_choices(gold)}
    with tempfile.TemporaryDirectory(prefix="citeboard-bundle-") as scratch:
        try:
            with read_upload(
                PROGRAM, path, given, owner=by, limits=limits_for_organisers()
            ) as done:
                told = done.result
                report = report_of(told["report"])
                if told["values"] is None:
                    yield Draft(report, None, None)
                    return
                values = _values(told["values"], slug, title)
                files: dict[str, Callable[[], IO[bytes]]] = {
                    name: partial(BytesIO, text.encode())
                    for name, text in told["files"].items()
                } | {
                    name: _file_opener(done.file(part))
                    for name, part in told["parts"].items()
                    if PART.fullmatch(part)
                }
                toml = partial(BytesIO, document(values).encode())
                season_zip = Path(scratch) / "season.zip"
                write_archive(season_zip, [(NAME, toml), *files.items()])
        except UploadUnreadable as unreadable:
            problem = Problem(file=filename, message=str(unreadable))
            raise InputRefused([problem]) from unreadable
        choices = [Choice(**one) for one in told["choices"]]
        yield Draft(report, values, season_zip, choices)


def _checked_choices(items: Sequence[str]) -> list[str]:
    """Return the organiser's choices of gold files as stripped texts. Raises
    InputRefused for a choice without the form `PLACE=FILE`.

    Key paths and file names may contain the separator, so only the process that reads
    the bundle's description splits a choice into both.
    """
    for item in items:
        place, _sign, file = item.partition(CHOOSES)
        if not (place.strip() and file.strip()):
            problem = Problem(
                message=f"“{item[:100]}” chooses no gold",
                expected="PLACE=FILE, as the report names them",
            )
            raise InputRefused([problem])
    return list(items)


def _file_opener(path: Path) -> Callable[[], IO[bytes]]:
    return lambda: path.open("rb")


def report_of(lines: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Return the lines of the report on an imported bundle, sorted by verdict."""
    own = [
        Line(str(line["verdict"]), str(line["place"]), str(line["message"]))
        for line in lines[:MAX_LINES]
        if line["verdict"] in VERDICTS
    ]
    return sorted(own, key=lambda line: VERDICTS.index(line.verdict))


def _values(told: Mapping[str, Any], slug: str, title: str) -> dict[str, Any]:
    own = told["season"]
    season: dict[str, Any] = {"slug": slug or own["slug"]}
    season |= {name: own[name] for name in SEASON_KEYS if name in own}
    season |= {"title": title or own["title"], "public": False}
    if PLANNED in own:
        season[PLANNED] = [_with_instants(phase) for phase in own[PLANNED]]
    tasks = [
        {**task, "phases": [_with_instants(phase) for phase in task["phases"]]}
        for task in told["tasks"]
    ]
    return {"season": season, "tasks": tasks}


def _with_instants(phase: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: dt.datetime.fromisoformat(value) if key in ("opens", "closes") else value
        for key, value in phase.items()
    }


@contextmanager
def loading(draft: Draft, *, by: User | None) -> Iterator[Load]:
    """Yield the function that loads the drafted season from its `season.zip`. Raises
    InputRefused.
    """
    assert draft.season_zip is not None
    with season_in_zip(draft.season_zip, "season.zip", by=by, slug="") as load:
        yield load


def make_season(draft: Draft, *, filename: str, by: User | None) -> Loaded:
    """Create the drafted season, and store the report of the import in the history of
    the season. Raises InputRefused.
    """
    with loading(draft, by=by) as load:
        loaded = load()
    left = sum(line.verdict == DECIDE for line in draft.report)
    audit.record(
        IMPORTED,
        actor=by,
        subject=loaded.season,
        place=loaded.season,
        facts={
            "file": filename[:100],
            "decisions": left,
            "report": _report_as_tsv(draft),
        },
    )
    return loaded


def _report_as_tsv(draft: Draft) -> str:
    return "\n".join(
        "\t".join(
            " ".join(cell.split()) for cell in (one.verdict, one.place, one.message)
        )
        for one in draft.report
    )


def is_from_bundle(season: Season) -> bool:
    return history(season).filter(action=IMPORTED).exists()


def kept_report(season: Season) -> list[Line]:
    """Return the report on the import of a season from a competition bundle, or an
    empty report if the season was not imported.
    """
    entry = history(season).filter(action=IMPORTED).order_by("pk").first()
    if entry is None or not entry.facts:
        return []
    cells = (line.split("\t") for line in str(entry.facts["report"]).splitlines())
    return [Line(*own) for own in cells if len(own) == 3]


def headings() -> dict[str, str]:
    """Return the headings in the report on an import, in the order of the verdicts."""
    words = (
        _("Prevents the import"),
        _("Decisions for you"),
        _("Left out of the draft"),
        _("Understood"),
    )
    return dict(zip(VERDICTS, words, strict=True))


def parts_of(report: Sequence[Line]) -> list[tuple[str, list[Line]]]:
    """Return the lines of the report on an import, grouped by heading."""
    named = [
        (words, [line for line in report if line.verdict == verdict])
        for verdict, words in headings().items()
    ]
    return [(words, lines) for words, lines in named if lines]
