"""What a reader chooses on a board, and the rows that are left."""

from __future__ import annotations

from dataclasses import dataclass

from citeboard.core.query import (
    Query,
    number_from,
    numbers_from,
    search_from,
    switch_from,
    text_from,
    texts_from,
)
from scoring.board.ranks import VALUE, WAYS
from scoring.board.standings import Board, Row
from tasks.models.run_cards import MARKING

RANK, SYSTEM, TEAM, DATE = "rank", "system", "team", "date"


@dataclass(frozen=True, kw_only=True)
class BoardQuery(Query):
    """``sort`` is a column, best or newest or A first; a minus sign before it turns it round.

    ``by`` is what ranks go by. ``order`` is the run that orders the classes, as ``sort`` does the rows.
    ``figure`` is a figure of the page as a file, `heat-map.svg`.
    """

    rules: str | None = text_from("rules", default=None)
    gold: int | None = number_from("gold")
    by: str = text_from("rank", default=VALUE, choices=WAYS)
    sort: str = text_from("sort", default=RANK)
    text: str = search_from("q")
    baselines: bool = switch_from("baselines", "no", default=True)
    human: bool = switch_from("human", "no", default=True)
    reported: bool = switch_from("reported", "no", default=True)
    #: The fields of the run card whose marked rows are left out.
    without: tuple[str, ...] = texts_from("without", choices=MARKING)
    all_columns: bool = switch_from("columns", "all", default=False)
    dimension: str = text_from("dimension")
    metric: str = text_from("metric")
    systems: tuple[int, ...] = numbers_from("system")
    order: str = text_from("order", max_length=16)
    figure: str = text_from("figure", max_length=80)
    #: As those see it who do not run the season.
    others: bool = switch_from("as", "others", default=False)

    @property
    def column(self) -> str:
        return self.sort.removeprefix("-")

    @property
    def is_reversed(self) -> bool:
        return self.sort.startswith("-")

    def sorted_by(self, column: str) -> str:
        """The query string that sorts by the column, or turns it round where it is sorted by it already."""
        return self.with_(sort=f"-{column}" if self.sort == column else column)


def chosen_rows(board: Board, query: BoardQuery) -> list[Row]:
    """The rows that the reader asks for, in the order they ask for. Ranks stay those of the whole board."""
    wanted = query.text.casefold()
    rows = [
        row
        for row in board.rows
        if (query.baselines or not row.is_baseline)
        and (query.human or not row.is_human)
        and not any(name in query.without for name, _ in row.marks)
        and (not wanted or wanted in f"{row.system} {row.team or ''}".casefold())
    ]
    return _sorted(rows, board, query)


def _sorted(rows: list[Row], board: Board, query: BoardQuery) -> list[Row]:
    """By the column; what has no value there stays at the end both ways."""
    if query.column == RANK:
        return rows[::-1] if query.is_reversed else rows
    keys = {row.submission: _key(row, board, query.column) for row in rows}
    having = [row for row in rows if keys[row.submission] is not None]
    having.sort(key=lambda row: keys[row.submission], reverse=query.is_reversed)  # type: ignore[arg-type, return-value]
    return having + [row for row in rows if keys[row.submission] is None]


def _key(row: Row, board: Board, column: str) -> str | float | None:
    if column == SYSTEM:
        return row.system.casefold()
    if column == TEAM:
        return row.team.casefold() if row.team else None
    if column == DATE:
        return -row.submitted_at.timestamp()
    known = next((candidate for candidate in board.columns if candidate.name == column), None)
    cell = row.scores.get(column) if known else None
    if known is None or cell is None or cell.value is None:
        return None
    return cell.value if known.higher_is_better is False else -cell.value
