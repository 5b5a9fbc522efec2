"""A board as its template wants it: heads that sort, and the rows; by hand, as `rows` says."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from citeboard.core.words import in_decimals
from scoring.board.names import metric_label
from scoring.board.query import DATE, RANK, SYSTEM, BoardQuery
from scoring.board.ranks import SIGNIFICANCE
from scoring.board.rows import Writer, Writers
from scoring.board.standings import Board, Column, Row

#: How a column is sorted at first, and when it is turned round.
BEST = (gettext_noop("best first"), gettext_noop("worst first"))
ORDERS = {
    SYSTEM: (gettext_noop("A to Z"), gettext_noop("Z to A")),
    DATE: (gettext_noop("newest first"), gettext_noop("oldest first")),
}


@dataclass(frozen=True)
class Table:
    """What `_table.html` shows: the cells of the head, and the rows."""

    heads: SafeString
    rows: SafeString


def table(
    writers: Writers,
    rows: Sequence[Row],
    query: BoardQuery,
    compare: str = "",
    own: Collection[str] = (),
) -> Table:
    """Of these rows; ``own`` are the slugs of the viewer's teams."""
    board = writers.board
    shown = shown_columns(board, query)
    marks_groups = board.by == SIGNIFICANCE and query.sort == RANK
    written = _written(rows, writers.of(shown, compare), own, marks_groups=marks_groups)
    return Table(heads=_heads(writers, shown, query), rows=written)


def shown_columns(board: Board, query: BoardQuery) -> list[Column]:
    """The main ones and what the table is sorted by, or all of them."""
    if query.all_columns:
        return board.main_first
    main = board.main
    return main + [column for column in board.filled if column.name == query.column and column not in main]


def _written(rows: Sequence[Row], writer: Writer, own: Collection[str], *, marks_groups: bool) -> SafeString:
    """The rows, those that begin a group marked where ranks go by significance and stand in order."""
    out = []
    before: int | None = None
    for row in rows:
        begins = marks_groups and row.group is not None and before is not None and row.group != before
        before = row.group if row.group is not None else before
        out.append(writer.row(row, begins_group=begins, is_own=row.team_slug in own))
    return SafeString("".join(out))


def _heads(writers: Writers, shown: Sequence[Column], query: BoardQuery) -> SafeString:
    ranking = writers.board.ranking
    heads = [
        _head(RANK, _("Rank"), query, "rank", rises=True),
        _head(SYSTEM, _("System"), query, "name", rises=True),
    ]
    if ranking:
        heads += [_metric_head(ranking, query, "n"), _axis_head(writers)]
    heads += [_metric_head(column, query, "n rest") for column in shown if column is not ranking]
    return SafeString("".join([*heads, _head(DATE, _("Sent"), query, "date rest", rises=False)]))


def _axis_head(writers: Writers) -> str:
    if writers.axis is None:
        return '<th scope="col" class="interval"></th>'
    low, high = map(in_decimals, writers.axis.ends)
    name = _("95 % interval")
    return (
        f'<th scope="col" class="interval"><span class="axis"><span class="over">{name}</span>'
        f"<span>{low}</span><span>{high}</span></span></th>"
    )


def _metric_head(column: Column, query: BoardQuery, kind: str) -> str:
    rises = column.higher_is_better is False
    differently = _("computed differently")
    mark = f' <span class="sorted">{differently}</span>' if column.name != column.metric else ""
    return _head(column.name, metric_label(column.metric), query, kind, rises=rises, mark=mark)


def _head(name: str, label: str, query: BoardQuery, kind: str, *, rises: bool, mark: str = "") -> str:
    """A head that sorts. An arrow and aria-sort say the direction, the caption says it in words.

    ``rises`` says that values grow down the page before the order is turned round.
    """
    sort = arrow = ""
    if query.column == name:
        sign, aria = ("↑", "ascending") if rises != query.is_reversed else ("↓", "descending")
        sort, arrow = f' aria-sort="{aria}"', f' <span class="arrow" aria-hidden="true">{sign}</span>'
    return (
        f'<th scope="col" class="{kind}"{sort}><a id="sort-{escape(name)}"'
        f' href="{escape(query.sorted_by(name))}">{_unbroken(label)}</a>{arrow}{mark}</th>'
    )


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
    plain = {RANK: _("rank"), SYSTEM: _("system"), DATE: _("date")}
    metric = next((column.metric for column in board.columns if column.name == query.column), None)
    if metric is None and query.column not in plain:
        return _("Sorted by rank")
    label = plain.get(query.column) or metric_label(metric or "")
    forwards, backwards = ORDERS.get(query.column, BEST)
    order = _(backwards if query.is_reversed else forwards)
    return _("Sorted by {column}, {order}").format(column=label, order=order)
