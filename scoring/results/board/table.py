"""Prepare the table of a board for its template, with sortable column heads and a line
for each row.
"""

import datetime as dt
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext as _, gettext_noop

from citeboard.core.instants import format_day
from citeboard.core.words import localize_separators
from scoring.models import Comparison
from scoring.results.board.comparisons import RANK_BY_SIGNIFICANCE
from scoring.results.board.formatting import (
    MINUS_SIGN,
    display_name_of_metric,
    format_interval,
    format_score,
)
from scoring.results.board.query import (
    SORT_BY_DATE,
    SORT_BY_RANK,
    SORT_BY_SYSTEM,
    BoardQuery,
)
from scoring.results.board.standings import Board, BoardRow, BoardScoreColumn, ScoreCell
from scoring.stats.significance import FAMILYWISE_ERROR_RATE

#: SCORE_ORDER_NAMES contains the names of a column's default order and of the reverse order.
SCORE_ORDER_NAMES = (gettext_noop("best first"), gettext_noop("worst first"))
ORDER_NAMES_BY_COLUMN = {
    SORT_BY_SYSTEM: (gettext_noop("A to Z"), gettext_noop("Z to A")),
    SORT_BY_DATE: (gettext_noop("newest first"), gettext_noop("oldest first")),
}


@dataclass(frozen=True, kw_only=True)
class ColumnHead:
    """The head of a column in the table of a board. ``sort`` is `ascending` or
    `descending`, or empty if the table is sorted by another column.
    """

    name: str
    label: str
    href: str
    kind: str
    sort: str = ""
    is_ranking: bool = False
    is_computed_differently: bool = False

    @property
    def words(self) -> list[str]:
        return self.label.split()


class ScoreLink(NamedTuple):
    """A score as text, and the URL of the page that explains the score, both of which
    are empty in an empty cell.

    The Tab key focuses one score in each row, and the arrow keys focus the other
    scores.
    """

    text: str = ""
    href: str = ""
    is_stop: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardTableRow:
    """A row in the displayed table of a board. ``first`` is the score of the row by the
    ranking metric.
    """

    row: BoardRow
    kind: str
    rank: str
    #: ``first_rank`` is the rank by the first judge, or None if it is the shown rank.
    first_rank: int | None
    name: str
    is_own: bool
    href: str
    compare_href: str
    first: ScoreLink
    interval: str
    whisker: "IntervalWhisker | None"
    rest: list[ScoreLink]
    sent: str
    day: str


@dataclass(frozen=True, kw_only=True)
class BoardTable:
    heads: list[ColumnHead]
    lines: list[BoardTableRow]
    axis_ends: list[str]
    has_ranking: bool
    #: ``has_intervals`` is True if the score of any row has an interval.
    has_intervals: bool = True


def build_board_table(
    board: Board,
    rows: Sequence[BoardRow],
    query: BoardQuery,
    *,
    compare: str = "",
    own_teams: Collection[str] = (),
    root: str = "",
    first_ranks: Mapping[int, int] | None = None,
) -> BoardTable:
    """Return the table that displays these ``rows`` of the board. ``compare`` is the
    start of the URLs that compare a run with the first run. ``root`` is the URL of the
    board, if the table is on another page. On the board of a further judge,
    ``first_ranks`` contains the ranks by the labels of the first judge.
    """
    columns = select_shown_columns(board, query)
    axis = build_interval_axis_of_board(board)
    others = [column for column in columns if not column.is_ranking]
    lines = []
    begins_group = _mark_group_starts(board, rows, query)
    for row, begins in zip(rows, begins_group, strict=True):
        is_own = row.team_slug in own_teams
        places = DataSharedByTableRows(
            root=root,
            compare=compare,
            axis=axis,
            others=others,
            first_ranks=first_ranks or {},
        )
        kind = _build_row_css_classes(row, begins_group=begins, is_own=is_own)
        name = _build_row_name(board, row, is_own=is_own)
        lines.append(
            _build_table_row(board, row, places, kind=kind, name=name, is_own=is_own)
        )
        for run in row.runs:
            name = _("run {number}").format(number=run.number)
            lines.append(_build_table_row(board, run, places, kind="seed", name=name))
    return BoardTable(
        heads=_build_column_heads(board.ranking, others, query),
        lines=lines,
        axis_ends=[localize_separators(end) for end in axis.ends] if axis else [],
        has_ranking=board.ranking is not None,
        has_intervals=any(line.interval for line in lines),
    )


@dataclass(frozen=True, kw_only=True)
class DataSharedByTableRows:
    """The data that all rows of the displayed table share, such as URLs and the axis of
    intervals.
    """

    root: str
    compare: str
    axis: "IntervalAxis | None"
    others: list[BoardScoreColumn]
    first_ranks: Mapping[int, int]


def _build_table_row(
    board: Board,
    row: BoardRow,
    places: DataSharedByTableRows,
    *,
    kind: str,
    name: str,
    is_own: bool = False,
) -> BoardTableRow:
    # A mean over seeds has no page, because the pages of its runs explain the scores.
    run = "" if row.runs else f"{places.root}runs/{row.submission}/"
    compares = bool(run) and bool(places.compare)
    first = row.scores.get(board.ranking.name) if board.ranking else None
    scale = board.ranking.scale if board.ranking else 1.0
    ends = format_interval(first.low, first.high, scale) if first else ""
    sent = row.submitted_at.astimezone(dt.UTC)
    number, *rest = _mark_score_with_tab_focus(
        [
            _build_score_link(first, scale, run),
            *(
                _build_score_link(row.scores.get(column.name), column.scale, run)
                for column in places.others
            ),
        ]
    )
    return BoardTableRow(
        row=row,
        kind=kind,
        rank=board.format_rank_of_row(row),
        first_rank=_find_first_rank_if_different(row, places.first_ranks),
        name=name,
        is_own=is_own,
        href=run if board.columns else "",
        compare_href=f"{places.root}{places.compare}{row.submission}"
        if compares
        else "",
        first=number,
        interval=ends,
        whisker=build_interval_whisker(first, places.axis, ends),
        rest=rest,
        sent=f"{sent:%Y-%m-%dT%H:%M:%SZ}",
        day=_format_day_without_breaks(sent),
    )


def _find_first_rank_if_different(
    row: BoardRow, first_ranks: Mapping[int, int]
) -> int | None:
    first = first_ranks.get(row.submission)
    return first if row.rank is not None and first != row.rank else None


def _mark_group_starts(
    board: Board, rows: Sequence[BoardRow], query: BoardQuery
) -> list[bool]:
    """Return for each row whether a new group of ranks begins, which is the case if the
    rank is worse than all previous ranks.
    """
    if board.by != RANK_BY_SIGNIFICANCE or query.sort != SORT_BY_RANK:
        return [False] * len(rows)
    begins, reached = [], 0
    for row in rows:
        begins.append(row.rank is not None and 0 < reached < row.rank)
        reached = max(row.rank or 0, reached)
    return begins


def _build_row_css_classes(row: BoardRow, *, begins_group: bool, is_own: bool) -> str:
    kind = "group" if begins_group else ""
    if not row.is_competing or row.is_contrastive:
        kind = row.kind
    return f"{kind} own".strip() if is_own else kind


def _build_row_name(board: Board, row: BoardRow, *, is_own: bool) -> str:
    name = row.marked_name
    if is_own:
        name = _("{name}, your team").format(name=name)
    if row.priority and board.selects_runs_by_priority:
        name = _("{name}, priority {priority}").format(name=name, priority=row.priority)
    return name


def _build_score_link(cell: ScoreCell | None, scale: float, run: str) -> ScoreLink:
    if cell is None:
        return ScoreLink()
    text = format_score(
        cell.value, scale, is_infinite=cell.is_infinite, withheld=cell.withheld
    )
    return ScoreLink(text, f"{run}#s{cell.score}" if run else "")


def _mark_score_with_tab_focus(numbers: list[ScoreLink]) -> list[ScoreLink]:
    """Make the first score with a URL the one that the Tab key focuses."""
    for place, number in enumerate(numbers):
        if number.href:
            numbers[place] = number._replace(is_stop=True)
            break
    return numbers


def _format_day_without_breaks(sent: dt.datetime) -> str:
    return format_day(sent).replace(" ", "\u00a0")


def _build_column_heads(
    ranking: BoardScoreColumn | None,
    others: Sequence[BoardScoreColumn],
    query: BoardQuery,
) -> list[ColumnHead]:
    heads = [
        _build_column_head(query, SORT_BY_RANK, _("Rank"), "rank", rises=True),
        _build_column_head(query, SORT_BY_SYSTEM, _("System"), "name", rises=True),
    ]
    if ranking:
        heads.append(_build_metric_column_head(query, ranking, "n"))
    heads += [_build_metric_column_head(query, column, "n rest") for column in others]
    heads.append(
        _build_column_head(
            query, SORT_BY_DATE, _("Submitted"), "date rest", rises=False
        )
    )
    return heads


def _build_metric_column_head(
    query: BoardQuery, column: BoardScoreColumn, kind: str
) -> ColumnHead:
    return _build_column_head(
        query,
        column.name,
        display_name_of_metric(column.metric),
        kind,
        rises=column.higher_is_better is False,
        column=column,
    )


def _build_column_head(
    query: BoardQuery,
    name: str,
    label: str,
    kind: str,
    *,
    rises: bool,
    column: BoardScoreColumn | None = None,
) -> ColumnHead:
    """Return the head of a column in the table of a board. ``rises`` is True if lower
    values of the column are better.
    """
    sort = ""
    if query.column == name:
        sort = "ascending" if rises != query.is_sort_reversed else "descending"
    return ColumnHead(
        name=name,
        label=label,
        href=query.query_string_sorted_by(name),
        kind=kind,
        sort=sort,
        is_ranking=column is not None and column.is_ranking,
        is_computed_differently=column is not None and column.name != column.metric,
    )


def select_shown_columns(board: Board, query: BoardQuery) -> list[BoardScoreColumn]:
    if query.all_columns:
        return board.columns_in_display_order
    main = board.main
    return main + [
        column
        for column in board.filled
        if column.name == query.column and column not in main
    ]


def find_sort_order_names(column: str) -> tuple[str, str]:
    """Return the names of the two orders of a column, first the name of the default
    order.
    """
    forwards, backwards = ORDER_NAMES_BY_COLUMN.get(column, SCORE_ORDER_NAMES)
    return _(forwards), _(backwards)


def describe_sort_order(board: Board, query: BoardQuery) -> str:
    plain = {
        SORT_BY_RANK: _("rank"),
        SORT_BY_SYSTEM: _("system"),
        SORT_BY_DATE: _("date"),
    }
    metric = next(
        (column.metric for column in board.columns if column.name == query.column), None
    )
    if metric is None and query.column not in plain:
        return _("Sorted by rank")
    label = plain.get(query.column) or display_name_of_metric(metric or "")
    forwards, backwards = find_sort_order_names(query.column)
    order = backwards if query.is_sort_reversed else forwards
    return _("Sorted by {column}, {order}").format(column=label, order=order)


#: The template `boards/_whisker.html` draws intervals in a box of WHISKER_WIDTH_PIXELS pixels.
WHISKER_WIDTH_PIXELS, WHISKER_MARGIN_PIXELS = 132, 5
#: The bounds of an axis of counts are multiples of AXIS_STEP_FOR_COUNTS.
AXIS_STEP_FOR_COUNTS = 5.0


@dataclass(frozen=True)
class IntervalAxis:
    low: float
    high: float
    scale: float

    @classmethod
    def from_score_cells(
        cls, cells: Iterable[ScoreCell], scale: float
    ) -> "IntervalAxis | None":
        ends = [
            end
            for cell in cells
            if cell.value is not None
            for end in (cell.value, cell.low, cell.high)
            if end is not None
        ]
        if not ends:
            return None
        step = scale / 20 or AXIS_STEP_FOR_COUNTS
        low = math.floor(min(ends) / step) * step
        return cls(low, max(math.ceil(max(ends) / step) * step, low + step), scale)

    @property
    def ends(self) -> list[str]:
        return [
            f"{end:.{2 if self.scale == 1 else 0}f}".replace("-", MINUS_SIGN)
            for end in (self.low, self.high)
        ]

    def place(self, value: float) -> float:
        return WHISKER_MARGIN_PIXELS + (
            WHISKER_WIDTH_PIXELS - 2 * WHISKER_MARGIN_PIXELS
        ) * (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, kw_only=True, slots=True)
class IntervalWhisker:
    """The positions in pixels of a score and of its confidence interval on an axis.
    ``start`` and ``end`` are empty if the score has no interval.
    """

    at: str
    start: str = ""
    end: str = ""
    label: str = ""


def build_interval_whisker(
    cell: ScoreCell | None, axis: IntervalAxis | None, interval: str
) -> IntervalWhisker | None:
    """Return the positions in pixels of a score and of its confidence interval on the
    axis. ``interval`` is the interval as text for screen readers.
    """
    if cell is None or axis is None or cell.value is None:
        return None
    at = f"{axis.place(cell.value):.1f}"
    if cell.low is None or cell.high is None:
        return IntervalWhisker(at=at)
    start, end = f"{axis.place(cell.low):.1f}", f"{axis.place(cell.high):.1f}"
    return IntervalWhisker(at=at, start=start, end=end, label=interval)


def build_interval_axis_of_board(board: Board) -> IntervalAxis | None:
    """Return the axis on which the scores by the ranking metric are drawn."""
    if board.ranking is None:
        return None
    name = board.ranking.name
    cells = [
        row.scores[name] for row in board.rows_with_seed_runs if name in row.scores
    ]
    return IntervalAxis.from_score_cells(cells, board.ranking.scale)


@dataclass(frozen=True, kw_only=True)
class RunOfOwnTeamOnBoard:
    """A run of the viewer's team, compared with the next better row of the board.
    ``gap`` and ``p`` are empty if scores are hidden or not compared, and ``p`` is not
    corrected for multiple comparisons.
    """

    row: BoardRow
    place: str
    above: BoardRow | None = None
    gap: str = ""
    p: float | None = None
    is_first: bool = False

    @property
    def differs(self) -> bool:
        return self.p is not None and self.p <= FAMILYWISE_ERROR_RATE

    @property
    def verdict(self) -> str:
        if self.p is None:
            return ""
        p = (
            "p < " + localize_separators("0.001")
            if self.p < 0.001
            else "p = " + localize_separators(f"{self.p:.3f}")
        )
        if self.differs:
            return _("%(p)s for these two alone: they differ") % {"p": p}
        return _("%(p)s for these two alone: chance can explain it") % {"p": p}


def list_runs_of_own_teams(
    board: Board, teams: Collection[str]
) -> list[RunOfOwnTeamOnBoard]:
    ranked = [row for row in board.rows if row.rank is not None] if teams else []
    ranking, is_first_sure = board.ranking, len(board.rows_that_may_be_first) == 1
    runs = []
    for place, row in enumerate(ranked):
        if row.team_slug not in teams:
            continue
        above = next(
            (other for other in reversed(ranked[:place]) if other.rank != row.rank),
            None,
        )
        gap, p = "", None
        if (
            above is not None
            and not (row.runs or above.runs)
            and ranking is not None
            and row.value is not None
            and above.value is not None
        ):
            first, second = sorted((row.evaluation, above.evaluation))
            pair = Comparison.objects.filter(
                first=first, second=second, metric=ranking.metric
            )
            p = pair.values_list("p", flat=True).first()
            gap = format_score(above.value - row.value, ranking.scale)
        is_first = above is None and is_first_sure
        runs.append(
            RunOfOwnTeamOnBoard(
                row=row,
                place=board.place_of(row),
                above=above,
                gap=gap,
                p=p,
                is_first=is_first,
            )
        )
    return runs
