"""A board as its template wants it: heads that sort, and the rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString

from scoring.board.names import metric_label
from scoring.board.query import DATE, RANK, SYSTEM, BoardQuery
from scoring.board.ranks import SIGNIFICANCE
from scoring.board.rows import Writer
from scoring.board.standings import Board, Column, Row
from scoring.board.whiskers import Axis

#: How a column is sorted at first, and when it is turned round.
BEST = ("best first", "worst first")
ORDERS = {SYSTEM: ("A to Z", "Z to A"), DATE: ("newest first", "oldest first")}


def table(
    board: Board, rows: Sequence[Row], query: BoardQuery, compare: str = "", own: Collection[str] = ()
) -> dict[str, Any]:
    """What `_table.html` shows of these rows."""
    ranking = board.ranking
    shown = shown_columns(board, query)
    axis = None
    if ranking:
        cells = (row.scores[ranking.name] for row in board.rows if ranking.name in row.scores)
        axis = Axis.over(cells, ranking.scale)
    marks_groups = board.by == SIGNIFICANCE and query.sort == RANK
    return {
        "rank_head": _head(RANK, "Rank", query, rises=True),
        "system_head": _head(SYSTEM, "System", query, rises=True),
        "date_head": _head(DATE, "Sent", query, rises=False),
        "ranking_head": _metric_head(ranking, query) if ranking else None,
        "other_heads": [_metric_head(column, query) for column in shown if column is not ranking],
        "axis": axis.ends if axis else None,
        "rows": _written(rows, Writer.of(board, shown, axis, compare, own), marks_groups=marks_groups),
    }


def shown_columns(board: Board, query: BoardQuery) -> list[Column]:
    """The main ones and what the table is sorted by, or all of them."""
    if query.all_columns:
        return board.main_first
    main = board.main
    return main + [column for column in board.filled if column.name == query.column and column not in main]


def _written(rows: Sequence[Row], writer: Writer, *, marks_groups: bool) -> SafeString:
    """The rows, those that begin a group marked where ranks go by significance and stand in order."""
    out = []
    before: int | None = None
    for row in rows:
        begins = marks_groups and row.group is not None and before is not None and row.group != before
        before = row.group if row.group is not None else before
        out.append(writer.row(row, begins_group=begins))
    return SafeString("".join(out))


def _metric_head(column: Column, query: BoardQuery) -> dict[str, Any]:
    upward = {True: "higher is better", False: "lower is better", None: ""}[column.higher_is_better]
    head = _head(column.name, metric_label(column.metric), query, rises=column.higher_is_better is False)
    return {**head, "upward": upward, "is_other_key": column.name != column.metric}


def _head(name: str, label: str, query: BoardQuery, *, rises: bool) -> dict[str, Any]:
    """A head that sorts. ``rises`` says that values grow down the page before the order is turned round."""
    rises_now = rises != query.is_reversed
    return {
        "label": _unbroken(label),
        "href": query.sorted_by(name),
        "id": f"sort-{name}",
        "is_sorted": query.column == name,
        "arrow": "↑" if rises_now else "↓",
        "aria": "ascending" if rises_now else "descending",
    }


def _unbroken(label: str) -> SafeString:
    """A narrow head breaks between words and not at the hyphen of ROUGE-L."""
    return SafeString(
        " ".join(
            f'<span class="word">{escape(word)}</span>' if "-" in word else escape(word)
            for word in label.split()
        )
    )


def sorted_in_words(board: Board, query: BoardQuery) -> str:
    """`Sorted by Overlap recall, micro, best first`."""
    plain = {RANK: "rank", SYSTEM: "system", DATE: "date"}
    metric = next((column.metric for column in board.columns if column.name == query.column), None)
    if metric is None and query.column not in plain:
        return "Sorted by rank"
    label = plain.get(query.column) or metric_label(metric or "")
    forwards, backwards = ORDERS.get(query.column, BEST)
    return f"Sorted by {label}, {backwards if query.is_reversed else forwards}"
