"""Create citations of seasons, tasks, boards, runs and published tables, as BibTeX and
as text.
"""

import datetime as dt
import re
from dataclasses import dataclass, field
from typing import Any

from django.utils import translation

from citeboard.core.instants import format_day, localize_times_in_history_value
from citeboard.core.middleware import ENGLISH_LANGUAGE_CODE
from scoring.exchange.results import (
    BoardRowsForExport,
    build_absolute_site_address,
    list_season_task_and_phase_slugs,
)
from scoring.models import Paper, Snapshot
from scoring.results.board.confirming import Confirmation, compute_confirmation_of_board
from scoring.results.board.exports import escape_latex
from scoring.results.board.formatting import (
    display_name_of_metric,
    format_interval,
    format_score,
)
from scoring.results.board.standings import Board, BoardRow
from tasks.models import Gold, Season, Task

_UNSAFE_BIBTEX_KEY_PATTERN = re.compile(r"[^A-Za-z0-9:._-]+")
_SHORT_DIGEST_DIGITS = 12


@dataclass(frozen=True, kw_only=True)
class Citation:
    """The data of a citation, such as authors, title and year.

    ``authors`` are the names of people, or the name of one organisation if
    ``is_of_people`` is False. The last word of a person's name is the surname.
    """

    key: str
    title: str
    authors: tuple[str, ...]
    address: str
    year: int | None = None
    note: str = ""
    is_of_people: bool = False
    further: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def bibtex_entry(self) -> str:
        names = [escape_latex(name) for name in self.authors]
        fields = {
            "author": " and ".join(
                names if self.is_of_people else [f"{{{name}}}" for name in names]
            ),
            "title": f"{{{escape_latex(self.title)}}}",
            "year": "" if self.year is None else str(self.year),
            **{name: escape_latex(value) for name, value in self.further.items()},
            "url": self.address,
            "note": escape_latex(self.note),
        }
        lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
        key = _UNSAFE_BIBTEX_KEY_PATTERN.sub("-", self.key)
        return f"@misc{{{key},\n" + ",\n".join(lines) + "\n}\n"

    @property
    def text(self) -> str:
        """Return the citation as one line of text with the authors, the title, the year
        and the URL.
        """
        parts = [", ".join(self.authors), self.title, *self.further.values(), self.note]
        bare = [part.rstrip(".") for part in parts if part]
        year = [] if self.year is None else [str(self.year)]
        return ". ".join([*bare[:2], *year, *bare[2:]]) + f". {self.address}"


def build_citation_of_season(season: Season) -> Citation:
    address, facts = (
        build_absolute_site_address("season", season.slug),
        _build_season_citation_fields(season),
    )
    return Citation(key=season.slug, title=season.title, address=address, **facts)


def build_citation_of_task(task: Task) -> Citation:
    season, facts = task.season, _build_season_citation_fields(task.season)
    key, address = (
        f"{season.slug}-{task.slug}",
        build_absolute_site_address("task", season.slug, task.slug),
    )
    return Citation(key=key, title=f"{season}: {task}", address=address, **facts)


def build_citation_of_board(
    board: Board,
    kept: Snapshot | None = None,
    *,
    confirmation: Confirmation | None,
) -> Citation:
    """Return the citation of a board, which states the versions of the board and of the
    gold.

    The URL of the board may later show other scores, but the URL of a ``kept`` board (a
    snapshot) never does.
    """
    phase, task = board.phase, board.phase.task
    return Citation(
        key="-".join(
            [
                *list_season_task_and_phase_slugs(phase),
                f"v{board.version}" if board.version else "frozen",
            ]
        ),
        title=f"{task.season}: board of {task}, {phase}",
        authors=(_build_organisers_author_name(task.season),),
        year=board.updated_at.year,
        address=build_snapshot_address(kept)
        if kept
        else build_absolute_site_address(
            "board", *list_season_task_and_phase_slugs(phase)
        ),
        note=_describe_results_state(board, confirmation),
    )


def build_citation_of_snapshot(kept: Snapshot) -> Citation:
    phase, task = kept.phase, kept.phase.task
    tail = _read_results_state_in_snapshot(kept)
    return Citation(
        key="-".join([*list_season_task_and_phase_slugs(phase), kept.short]),
        title=f"{task.season}: board of {task}, {phase}",
        authors=(_build_organisers_author_name(task.season),),
        year=kept.created_at.year,
        address=build_snapshot_address(kept),
        note=f"Version {kept.version} of {_format_english_day(kept.created_at)}, gold v{kept.gold.number} "
        f"({_shorten_gold_digest(kept.gold)}), rules {kept.rules}{tail}",
    )


def _read_results_state_in_snapshot(kept: Snapshot) -> str:
    results = kept.content.get("results")
    if not results:
        return ""
    with translation.override(ENGLISH_LANGUAGE_CODE):
        return f". Results were {localize_times_in_history_value(results['words'])}"


def build_snapshot_address(kept: Snapshot) -> str:
    return build_absolute_site_address(
        "snapshot", *list_season_task_and_phase_slugs(kept.phase), kept.short
    )


def build_citation_of_run(
    board: Board,
    row: BoardRow,
    kept: Snapshot | None = None,
    *,
    confirmation: Confirmation | None,
) -> Citation:
    phase, task, ranking = board.phase, board.phase.task, board.ranking
    cell = row.scores.get(ranking.name) if ranking else None
    with translation.override(ENGLISH_LANGUAGE_CODE):
        notes = [board.place_of(row).capitalize()]
        if ranking and cell and cell.is_known:
            value = format_score(
                cell.value, ranking.scale, is_infinite=cell.is_infinite
            )
            ends = format_interval(cell.low, cell.high, ranking.scale)
            notes.append(
                " ".join(
                    filter(
                        None,
                        (
                            display_name_of_metric(ranking.metric, task.task_type),
                            value,
                            ends,
                        ),
                    )
                )
            )
            notes.append(f"Column key {ranking.key}")
        note = ". ".join(
            filter(None, [*notes, _describe_results_state(board, confirmation)])
        )
    return Citation(
        key="-".join(
            [*list_season_task_and_phase_slugs(phase), f"run{row.submission}"]
        ),
        title=f"{row.system}: a run for {task} of {task.season}",
        authors=(
            row.team
            or (
                "Anonymous"
                if row.is_competing
                else _build_organisers_author_name(task.season)
            ),
        ),
        year=row.submitted_at.year,
        address=f"{build_snapshot_address(kept)}#run-{row.submission}"
        if kept
        else build_absolute_site_address(
            "standing", *list_season_task_and_phase_slugs(phase), row.submission
        ),
        note=note,
    )


def build_citation_of_paper(paper: Paper) -> Citation:
    further = {
        "howpublished": paper.venue,
        "pages": paper.pages,
        "doi": paper.doi,
        "eprint": paper.arxiv,
    }
    return Citation(
        key=paper.key,
        title=paper.title,
        authors=tuple(paper.authors),
        is_of_people=True,
        year=paper.year,
        address=paper.link or build_absolute_site_address("paper", paper.key),
        further={name: value for name, value in further.items() if value},
    )


def board_as_bibtex(results: BoardRowsForExport, kept: Snapshot | None) -> str:
    board, confirmation = results.board, compute_confirmation_of_board(results.board)
    rows = (row for row in results.rows if not row.is_human)
    runs = (
        build_citation_of_run(board, row, kept, confirmation=confirmation)
        for row in rows
    )
    entries = (build_citation_of_board(board, kept, confirmation=confirmation), *runs)
    return "\n".join(citation.bibtex_entry for citation in entries)


def _shorten_gold_digest(gold: Gold) -> str:
    return f"{gold.public_digest_algorithm_slug} {gold.digest[:_SHORT_DIGEST_DIGITS]}"


def _describe_results_state(board: Board, confirmation: Confirmation | None) -> str:
    gold = (
        f", gold v{board.gold.number} ({_shorten_gold_digest(board.gold)})"
        if board.gold
        else ""
    )
    rules = f", rules {board.rules}" if board.rules else ""
    results = f". {confirmation.sentence}" if confirmation else ""
    state = f"Version {board.version} of" if board.version else "Frozen on"
    return f"{state} {_format_english_day(board.updated_at)}{gold}{rules}{results}"


def _format_english_day(at: dt.datetime) -> str:
    with translation.override(ENGLISH_LANGUAGE_CODE):
        return format_day(at)


def _build_organisers_author_name(season: Season) -> str:
    return f"Organisers of {season}"


def _build_season_citation_fields(season: Season) -> dict[str, Any]:
    first = (
        season.tasks.order_by("phases__opens")
        .values_list("phases__opens", flat=True)
        .first()
    )
    return {
        "authors": (_build_organisers_author_name(season),),
        "year": (first or season.created_at).year,
    }
