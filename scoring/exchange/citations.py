"""Create citations of seasons, tasks, boards, runs and published tables, as BibTeX and
as text.
"""

import datetime as dt
import re
from dataclasses import dataclass, field
from typing import Any

from django.utils import translation

from citeboard.core.instants import format_day, format_times_in_fact
from citeboard.core.middleware import ENGLISH_CODE
from scoring.exchange.results import ExportedResults, phase_slugs, site_address
from scoring.models import Paper, Snapshot
from scoring.results.board.confirming import Confirmation, confirmation_of
from scoring.results.board.exports import escape_latex
from scoring.results.board.formatting import interval, metric_label, shown
from scoring.results.board.standings import Board, Row
from tasks.models import Gold, Season, Task

_UNSAFE_KEY_CHARACTERS = re.compile(r"[^A-Za-z0-9:._-]+")
_DIGEST_DIGITS = 12


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
    def bibtex(self) -> str:
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
        key = _UNSAFE_KEY_CHARACTERS.sub("-", self.key)
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


def cite_season(season: Season) -> Citation:
    address, facts = (
        site_address("season", season.slug),
        _season_citation_fields(season),
    )
    return Citation(key=season.slug, title=season.title, address=address, **facts)


def cite_task(task: Task) -> Citation:
    season, facts = task.season, _season_citation_fields(task.season)
    key, address = (
        f"{season.slug}-{task.slug}",
        site_address("task", season.slug, task.slug),
    )
    return Citation(key=key, title=f"{season}: {task}", address=address, **facts)


def cite_board(
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
            [*phase_slugs(phase), f"v{board.version}" if board.version else "frozen"]
        ),
        title=f"{task.season}: board of {task}, {phase}",
        authors=(_organisers_as_author(task.season),),
        year=board.updated_at.year,
        address=snapshot_address(kept)
        if kept
        else site_address("board", *phase_slugs(phase)),
        note=_results_state(board, confirmation),
    )


def cite_snapshot(kept: Snapshot) -> Citation:
    phase, task = kept.phase, kept.phase.task
    tail = _results_state_at_snapshot(kept)
    return Citation(
        key="-".join([*phase_slugs(phase), kept.short]),
        title=f"{task.season}: board of {task}, {phase}",
        authors=(_organisers_as_author(task.season),),
        year=kept.created_at.year,
        address=snapshot_address(kept),
        note=f"Version {kept.version} of {_english_day(kept.created_at)}, gold v{kept.gold.number} "
        f"({_short_gold_digest(kept.gold)}), rules {kept.rules}{tail}",
    )


def _results_state_at_snapshot(kept: Snapshot) -> str:
    results = kept.content.get("results")
    if not results:
        return ""
    with translation.override(ENGLISH_CODE):
        return f". Results were {format_times_in_fact(results['words'])}"


def snapshot_address(kept: Snapshot) -> str:
    return site_address("snapshot", *phase_slugs(kept.phase), kept.short)


def cite_run(
    board: Board,
    row: Row,
    kept: Snapshot | None = None,
    *,
    confirmation: Confirmation | None,
) -> Citation:
    phase, task, ranking = board.phase, board.phase.task, board.ranking
    cell = row.scores.get(ranking.name) if ranking else None
    with translation.override(ENGLISH_CODE):
        notes = [board.place_of(row).capitalize()]
        if ranking and cell and cell.is_known:
            value = shown(cell.value, ranking.scale, is_infinite=cell.is_infinite)
            ends = interval(cell.low, cell.high, ranking.scale)
            notes.append(
                " ".join(
                    filter(
                        None,
                        (metric_label(ranking.metric, task.task_type), value, ends),
                    )
                )
            )
            notes.append(f"Column key {ranking.key}")
        note = ". ".join(filter(None, [*notes, _results_state(board, confirmation)]))
    return Citation(
        key="-".join([*phase_slugs(phase), f"run{row.submission}"]),
        title=f"{row.system}: a run for {task} of {task.season}",
        authors=(
            row.team
            or ("Anonymous" if row.competes else _organisers_as_author(task.season)),
        ),
        year=row.submitted_at.year,
        address=f"{snapshot_address(kept)}#run-{row.submission}"
        if kept
        else site_address("standing", *phase_slugs(phase), row.submission),
        note=note,
    )


def cite_paper(paper: Paper) -> Citation:
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
        address=paper.link or site_address("paper", paper.key),
        further={name: value for name, value in further.items() if value},
    )


def board_as_bibtex(results: ExportedResults, kept: Snapshot | None) -> str:
    board, confirmation = results.board, confirmation_of(results.board)
    rows = (row for row in results.rows if not row.is_human)
    runs = (cite_run(board, row, kept, confirmation=confirmation) for row in rows)
    entries = (cite_board(board, kept, confirmation=confirmation), *runs)
    return "\n".join(citation.bibtex for citation in entries)


def _short_gold_digest(gold: Gold) -> str:
    return f"{gold.digest_kind} {gold.digest[:_DIGEST_DIGITS]}"


def _results_state(board: Board, confirmation: Confirmation | None) -> str:
    gold = (
        f", gold v{board.gold.number} ({_short_gold_digest(board.gold)})"
        if board.gold
        else ""
    )
    rules = f", rules {board.rules}" if board.rules else ""
    results = f". {confirmation.sentence}" if confirmation else ""
    state = f"Version {board.version} of" if board.version else "Frozen on"
    return f"{state} {_english_day(board.updated_at)}{gold}{rules}{results}"


def _english_day(at: dt.datetime) -> str:
    with translation.override(ENGLISH_CODE):
        return format_day(at)


def _organisers_as_author(season: Season) -> str:
    return f"Organisers of {season}"


def _season_citation_fields(season: Season) -> dict[str, Any]:
    first = (
        season.tasks.order_by("phases__opens")
        .values_list("phases__opens", flat=True)
        .first()
    )
    return {
        "authors": (_organisers_as_author(season),),
        "year": (first or season.created_at).year,
    }
