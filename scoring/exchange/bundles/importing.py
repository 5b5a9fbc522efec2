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
from citeboard.core.audit import find_history_of_place
from citeboard.core.confinement import (
    UploadUnreadable,
    build_organiser_upload_limits,
    read_upload,
)
from citeboard.teams.models import User
from scoring.exchange.bundles.drafting import DRAFTING_PROGRAM, GOLD_CHOICE_SEPARATOR
from scoring.exchange.bundles.report import (
    MAX_REPORT_LINES,
    VERDICT_NEEDS_DECISION,
    VERDICTS_BY_SEVERITY,
    ReportLine,
)
from tasks.gold.packing import write_zip_archive
from tasks.models import Season
from tasks.seasons.file.entries import SEASON_FILE_NAME
from tasks.seasons.file.load import SeasonLoadResult
from tasks.seasons.file.sent import LoadSeasonFunction, open_season_zip
from tasks.seasons.file.tables import format_season_file
from tasks.types import InputRefused, Problem

#: The history entry with the action BUNDLE_IMPORT_ACTION contains the report on the import.
BUNDLE_IMPORT_ACTION = "bundle-imported"
#: A bundle may set the season settings in IMPORTED_SEASON_KEYS, but not people or visibility.
IMPORTED_SEASON_KEYS = ("title", "summary", "registration", "time_zone", "terms")
PLANNED_PHASES_KEY = "planned_phases"
PART_NAME_PATTERN = re.compile(r"part-\d{1,6}")


@dataclass(frozen=True)
class GoldFileChoice:
    """A key of a bundle's description for which an organiser must choose one of several
    possible gold files.

    ``chosen`` is the file that the organiser has chosen as gold, or empty before the
    choice.
    """

    place: str
    files: Sequence[str]
    chosen: str


@dataclass(frozen=True)
class SeasonDraft:
    """The draft of a season, with the report of the import and the values of a season
    file.

    ``values`` are the values of the season file, or None if the bundle cannot be
    imported.
    """

    report: Sequence[ReportLine]
    values: Mapping[str, Any] | None
    season_zip: Path | None
    choices: Sequence[GoldFileChoice] = ()

    @property
    def reason(self) -> ReportLine:
        """Return the reason why a competition bundle cannot be imported."""
        return self.report[0]


@contextmanager
def draft_season_from_bundle(
    path: Path,
    filename: str,
    *,
    by: User | None,
    slug: str = "",
    title: str = "",
    gold: Sequence[str] = (),
) -> Iterator[SeasonDraft]:
    """Yield the draft of a season from a bundle, and delete the draft's `season.zip`
    when the block ends. Raises InputRefused.

    Each item of ``gold`` has the form `PLACE=FILE` and chooses the gold file for the
    key path PLACE of the bundle's description.
    """
    given = {"filename": filename, "gold": _validate_gold_choices(gold)}
    with tempfile.TemporaryDirectory(prefix="citeboard-bundle-") as scratch:
        try:
            with read_upload(
                DRAFTING_PROGRAM,
                path,
                given,
                owner=by,
                limits=build_organiser_upload_limits(),
            ) as done:
                told = done.result
                report = sort_report_lines(told["report"])
                if told["values"] is None:
                    yield SeasonDraft(report, None, None)
                    return
                values = _build_season_file_values(told["values"], slug, title)
                files: dict[str, Callable[[], IO[bytes]]] = {
                    name: partial(BytesIO, text.encode())
                    for name, text in told["files"].items()
                } | {
                    name: _make_file_opener(done.file(part))
                    for name, part in told["parts"].items()
                    if PART_NAME_PATTERN.fullmatch(part)
                }
                toml = partial(BytesIO, format_season_file(values).encode())
                season_zip = Path(scratch) / "season.zip"
                write_zip_archive(
                    season_zip, [(SEASON_FILE_NAME, toml), *files.items()]
                )
        except UploadUnreadable as unreadable:
            problem = Problem(file=filename, message=str(unreadable))
            raise InputRefused([problem]) from unreadable
        choices = [GoldFileChoice(**one) for one in told["choices"]]
        yield SeasonDraft(report, values, season_zip, choices)


def _validate_gold_choices(items: Sequence[str]) -> list[str]:
    """Return the organiser's choices of gold files as stripped texts. Raises
    InputRefused for a choice without the form `PLACE=FILE`.

    Key paths and file names may contain the separator, so only the process that reads
    the bundle's description splits a choice into both.
    """
    for item in items:
        place, _sign, file = item.partition(GOLD_CHOICE_SEPARATOR)
        if not (place.strip() and file.strip()):
            problem = Problem(
                message=f"“{item[:100]}” chooses no gold",
                expected="PLACE=FILE, as the report names them",
            )
            raise InputRefused([problem])
    return list(items)


def _make_file_opener(path: Path) -> Callable[[], IO[bytes]]:
    return lambda: path.open("rb")


def sort_report_lines(lines: Sequence[Mapping[str, Any]]) -> list[ReportLine]:
    """Return the lines of the report on an imported bundle, sorted by verdict."""
    own = [
        ReportLine(str(line["verdict"]), str(line["place"]), str(line["message"]))
        for line in lines[:MAX_REPORT_LINES]
        if line["verdict"] in VERDICTS_BY_SEVERITY
    ]
    return sorted(own, key=lambda line: VERDICTS_BY_SEVERITY.index(line.verdict))


def _build_season_file_values(
    told: Mapping[str, Any], slug: str, title: str
) -> dict[str, Any]:
    own = told["season"]
    season: dict[str, Any] = {"slug": slug or own["slug"]}
    season |= {name: own[name] for name in IMPORTED_SEASON_KEYS if name in own}
    season |= {"title": title or own["title"], "public": False}
    if PLANNED_PHASES_KEY in own:
        season[PLANNED_PHASES_KEY] = [
            _parse_phase_times(phase) for phase in own[PLANNED_PHASES_KEY]
        ]
    tasks = [
        {**task, "phases": [_parse_phase_times(phase) for phase in task["phases"]]}
        for task in told["tasks"]
    ]
    return {"season": season, "tasks": tasks}


def _parse_phase_times(phase: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: dt.datetime.fromisoformat(value) if key in ("opens", "closes") else value
        for key, value in phase.items()
    }


@contextmanager
def validate_draft_and_get_loader(
    draft: SeasonDraft, *, by: User | None
) -> Iterator[LoadSeasonFunction]:
    """Yield the function that loads the drafted season from its `season.zip`. Raises
    InputRefused.
    """
    assert draft.season_zip is not None
    with open_season_zip(draft.season_zip, "season.zip", by=by, slug="") as load:
        yield load


def create_drafted_season(
    draft: SeasonDraft, *, filename: str, by: User | None
) -> SeasonLoadResult:
    """Create the drafted season, and store the report of the import in the history of
    the season. Raises InputRefused.
    """
    with validate_draft_and_get_loader(draft, by=by) as load:
        loaded = load()
    left = sum(line.verdict == VERDICT_NEEDS_DECISION for line in draft.report)
    audit.record_action(
        BUNDLE_IMPORT_ACTION,
        actor=by,
        subject=loaded.season,
        place=loaded.season,
        facts={
            "file": filename[:100],
            "decisions": left,
            "report": _import_report_as_tsv(draft),
        },
    )
    return loaded


def _import_report_as_tsv(draft: SeasonDraft) -> str:
    return "\n".join(
        "\t".join(
            " ".join(cell.split()) for cell in (one.verdict, one.place, one.message)
        )
        for one in draft.report
    )


def is_imported_from_bundle(season: Season) -> bool:
    return find_history_of_place(season).filter(action=BUNDLE_IMPORT_ACTION).exists()


def load_stored_import_report(season: Season) -> list[ReportLine]:
    """Return the report on the import of a season from a competition bundle, or an
    empty report if the season was not imported.
    """
    entry = (
        find_history_of_place(season)
        .filter(action=BUNDLE_IMPORT_ACTION)
        .order_by("pk")
        .first()
    )
    if entry is None or not entry.facts:
        return []
    cells = (line.split("\t") for line in str(entry.facts["report"]).splitlines())
    return [ReportLine(*own) for own in cells if len(own) == 3]


def list_report_headings_by_verdict() -> dict[str, str]:
    """Return the headings in the report on an import, in the order of the verdicts."""
    words = (
        _("Prevents the import"),
        _("Decisions for you"),
        _("Left out of the draft"),
        _("Understood"),
    )
    return dict(zip(VERDICTS_BY_SEVERITY, words, strict=True))


def group_report_by_heading(
    report: Sequence[ReportLine],
) -> list[tuple[str, list[ReportLine]]]:
    """Return the lines of the report on an import, grouped by heading."""
    named = [
        (words, [line for line in report if line.verdict == verdict])
        for verdict, words in list_report_headings_by_verdict().items()
    ]
    return [(words, lines) for words, lines in named if lines]
