"""A board as its template wants it: heads that sort, and the rows; by hand, as `rows` says."""

import datetime as dt
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape

from django.core.cache import caches
from django.utils.formats import get_format
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext as _, gettext_noop

from citeboard.core.instants import MONTHS
from citeboard.core.words import in_decimals
from scoring.models import Comparison
from scoring.results.board.cache import SECONDS, digest_of
from scoring.results.board.comparisons import SIGNIFICANCE
from scoring.results.board.formatting import MINUS, decimals, metric_label, shown
from scoring.results.board.query import DATE, RANK, SYSTEM, BoardQuery
from scoring.results.board.standings import HUMAN_COLUMNS, Board, Cell, Column, Row
from scoring.stats.significance import ALPHA

#: How a column is sorted at first, and when it is turned round.
BEST = (gettext_noop("best first"), gettext_noop("worst first"))
ORDERS = {
    SYSTEM: (gettext_noop("A to Z"), gettext_noop("Z to A")),
    DATE: (gettext_noop("newest first"), gettext_noop("oldest first")),
}


@dataclass(frozen=True)
class Table:
    heads: SafeString
    rows: SafeString


def table(
    writers: "Writers",
    rows: Sequence[Row],
    query: BoardQuery,
    compare: str = "",
    own_teams: Collection[str] = (),
) -> Table:
    board = writers.board
    columns = shown_columns(board, query)
    writer = writers.of(columns, compare)
    is_whole = query.sort == RANK and len(rows) == len(board.rows) and not own_teams
    written = list(writer.whole) if is_whole else []
    marks_groups = board.by == SIGNIFICANCE and query.sort == RANK
    reached: int | None = None
    for row in () if written else rows:
        begins = (
            marks_groups
            and row.rank is not None
            and reached is not None
            and row.rank > reached
        )
        reached = max(row.rank or 0, reached or 0) or None
        written.append(
            writer.row(row, begins_group=begins, is_own=row.team_slug in own_teams)
        )
    if is_whole:
        writer.whole[:] = ["".join(written)]
    ranking = board.ranking
    heads = [
        _head(RANK, _("Rank"), query, "rank", rises=True),
        _head(SYSTEM, _("System"), query, "name", rises=True),
    ]
    if ranking:
        heads.append(_metric_head(ranking, query, "n"))
        axis = ""
        if writers.axis is not None:
            low, high = map(in_decimals, writers.axis.ends)
            name = _("95 % interval")
            axis = (
                f'<span class="axis"><span class="over">{name}</span>'
                f"<span>{low}</span><span>{high}</span></span>"
            )
        heads.append(f'<th scope="col" class="interval">{axis}</th>')
    heads += [
        _metric_head(column, query, "n rest")
        for column in columns
        if column is not ranking
    ]
    heads.append(_head(DATE, _("Sent"), query, "date rest", rises=False))
    return Table(heads=SafeString("".join(heads)), rows=SafeString("".join(written)))


def shown_columns(board: Board, query: BoardQuery) -> list[Column]:
    if query.all_columns:
        return board.main_first
    main = board.main
    return main + [
        column
        for column in board.filled
        if column.name == query.column and column not in main
    ]


def _metric_head(column: Column, query: BoardQuery, kind: str) -> str:
    rises = column.higher_is_better is False
    differently = _("computed differently")
    mark = (
        f' <span class="sorted">{differently}</span>'
        if column.name != column.metric
        else ""
    )
    return _head(
        column.name, metric_label(column.metric), query, kind, rises=rises, mark=mark
    )


def _head(
    name: str, label: str, query: BoardQuery, kind: str, *, rises: bool, mark: str = ""
) -> str:
    sort = arrow = ""
    if query.column == name:
        sign, aria = (
            ("↑", "ascending") if rises != query.is_reversed else ("↓", "descending")
        )
        sort, arrow = (
            f' aria-sort="{aria}"',
            f' <span class="arrow" aria-hidden="true">{sign}</span>',
        )
    words = " ".join(
        f'<span class="word">{escape(word)}</span>' if "-" in word else escape(word)
        for word in label.split()
    )
    return (
        f'<th scope="col" class="{kind}"{sort}><a id="sort-{escape(name)}"'
        f' href="{escape(query.sorted_by(name))}">{words}</a>{arrow}{mark}</th>'
    )


def sorted_in_words(board: Board, query: BoardQuery) -> str:
    plain = {RANK: _("rank"), SYSTEM: _("system"), DATE: _("date")}
    metric = next(
        (column.metric for column in board.columns if column.name == query.column), None
    )
    if metric is None and query.column not in plain:
        return _("Sorted by rank")
    label = plain.get(query.column) or metric_label(metric or "")
    forwards, backwards = ORDERS.get(query.column, BEST)
    order = _(backwards if query.is_reversed else forwards)
    return _("Sorted by {column}, {order}").format(column=label, order=order)


#: So many ways to show the rows of a board are kept: languages, and columns that readers asked for.
MAX_WRITERS = 8
#: So many times the rows of a board are kept as they were written for earlier ones.
MAX_WRITTEN = 3


@dataclass(frozen=True)
class Writers:
    board: Board
    known: "dict[object, Writer]" = field(default_factory=dict)

    @cached_property
    def axis(self) -> "Axis | None":
        ranking = self.board.ranking
        if ranking is None:
            return None
        cells = (
            row.scores[ranking.name]
            for row in self.board.rows
            if ranking.name in row.scores
        )
        return Axis.over(cells, ranking.scale)

    def of(self, columns: Sequence[Column], compare: str) -> "Writer":
        """``compare`` is the beginning of the address that compares a row with the first; empty for none."""
        key = (tuple(column.name for column in columns), compare, get_language())
        writer = self.known.get(key)
        if writer is None:
            others = [
                (column.name, _form(column))
                for column in columns
                if not column.is_ranking
            ]
            before = self._written_before(*key, self.axis, self.board.ranking, *others)
            writer = Writer(
                self.board,
                self.axis,
                escape(compare),
                self.board.ranking,
                others,
                before,
            )
            if len(self.known) < MAX_WRITERS:
                self.known[key] = writer
        return writer

    def _written_before(self, *shown_alike: object) -> dict[object, str]:
        """Of an earlier board of this phase that shows the same scores by the same axis."""
        board = self.board
        if not board.is_small or any(
            column.position >= HUMAN_COLUMNS for column in board.columns
        ):
            # What people said changes without a new score.
            return {}
        keys = [(column.name, column.key) for column in board.columns]
        facts = digest_of(board.rules, board.goes_by_priority, keys, *shown_alike)
        key = f"rows:{board.phase.pk}:{facts}"
        written: dict[object, str] = caches["boards"].get(key) or {}
        if len(written) > MAX_WRITTEN * len(board.rows):
            written = {}
        caches["boards"].set(key, written, SECONDS)
        return written


@dataclass(frozen=True)
class Writer:
    board: Board
    axis: "Axis | None"
    compare: str
    ranking: Column | None
    others: Sequence[tuple[str, str]]
    #: Rows as they were written, for boards before this one too.
    written: dict[object, str] = field(default_factory=dict)
    #: All rows of this one, once they were written together.
    whole: list[str] = field(default_factory=list)

    def row(self, row: Row, *, begins_group: bool, is_own: bool) -> str:
        """What is marked as the viewer's own is never kept: another has other rows."""
        if is_own:
            return self._row(row, begins_group=begins_group, is_own=True)
        # All that a row shows: its numbers are those of one scoring.
        key = (
            row.submission,
            row.scoring,
            self.board.rank_of(row),
            begins_group,
            row.team,
            row.team_slug,
            row.has_organiser,
            row.kind,
            row.priority,
            row.system,
            *row.card.items(),
        )
        text = self.written.get(key)
        if text is None:
            text = self.written[key] = self._row(
                row, begins_group=begins_group, is_own=False
            )
        return text

    def _row(self, row: Row, *, begins_group: bool, is_own: bool) -> str:
        """Names come from people and are escaped; all else is numbers."""
        name = (
            row.kind
            if not row.competes or row.is_contrastive
            else "group"
            if begins_group
            else ""
        )
        kind = f' class="{name}"' if name else ""
        if is_own:
            kind = f' id="run-{row.submission}" class="{f"{name} own".strip()}"'
        rank = self.board.rank_of(row)
        utc = row.submitted_at.astimezone(dt.UTC)
        form, months = self._days
        day = form % {"day": utc.day, "month": months[utc.month - 1], "year": utc.year}
        team, system = escape(row.marked_name), escape(row.system)
        if is_own:
            team = _("{name}, your team").format(name=team)
        if row.priority and self.board.goes_by_priority:
            team = _("{name}, priority {priority}").format(
                name=team, priority=row.priority
            )
        if row.card:
            team += "".join(
                f' <span class="run-mark">{escape(words)}</span>'
                for _name, words in row.marks
            )
        if self.board.columns:
            all_numbers, compare, _ends = self._words
            unfold = f'<a tabindex="-1" class="unfold" href="runs/{row.submission}/">{all_numbers}</a>'
            system = f'<a href="runs/{row.submission}/">{system}</a>'
            beside = (
                f'<a href="{self.compare}{row.submission}">{compare}</a>'
                if self.compare
                else ""
            )
            team = f"<span>{team}</span>{unfold}{beside}"
        return (
            f'<tr{kind}><td class="rank">{rank}</td><th scope="row"><span class="system">'
            f'{system}</span> <span class="team">{team}</span></th>'
            f"{self._first(row)}{self._others(row)}"
            f'<td class="date rest"><time datetime="{utc:%Y-%m-%dT%H:%M:%SZ}">{day}</time></td></tr>\n'
        )

    @cached_property
    def _words(self) -> tuple[str, str, str]:
        return _("all numbers"), _("compare"), _("%(low)s to %(high)s")

    @cached_property
    def _mark(self) -> str:
        return str(get_format("DECIMAL_SEPARATOR"))

    def _first(self, row: Row) -> str:
        if self.ranking is None:
            return ""
        cell = row.scores.get(self.ranking.name)
        if cell is None:
            return '<td class="n first"></td><td class="interval"></td>'
        ends = figures = ""
        if cell.low is not None and cell.high is not None:
            low, high = (
                self._written(end, self._form) for end in (cell.low, cell.high)
            )
            ends = self._words[2] % {"low": low, "high": high}
            figures = f' <span class="ends">{ends}</span>'
        number = f'<a href="runs/{row.submission}/#s{cell.score}">{self._text(cell, self._form)}</a>'
        return (
            f'<td class="n first">{number}{figures}</td>'
            f'<td class="interval">{whisker(cell, self.axis, ends)}</td>'
        )

    @cached_property
    def _form(self) -> str:
        return _form(self.ranking) if self.ranking else ""

    def _others(self, row: Row) -> str:
        """One loop without a call for each number: there are thousands of them."""
        begin = f'<td class="n rest"><a tabindex="-1" href="runs/{row.submission}/#s'
        scores, mark = row.scores, self._mark
        out = []
        for name, form in self.others:
            cell = scores.get(name)
            if cell is None:
                out.append('<td class="n rest"></td>')
            elif (value := cell[1]) is not None and value >= 0:
                out.append(
                    f'{begin}{cell[0]}">{format(value, form).replace(".", mark)}</a></td>'
                )
            else:
                out.append(f'{begin}{cell[0]}">{self._text(cell, form)}</a></td>')
        return "".join(out)

    @cached_property
    def _days(self) -> tuple[str, list[str]]:
        return _("%(day)d %(month)s %(year)d").replace(" ", "\u00a0"), list(
            map(str, MONTHS)
        )

    def _text(self, cell: Cell, form: str) -> str:
        if cell.value is None:
            return shown(None, is_infinite=cell.is_infinite, withheld=cell.withheld)
        return self._written(cell.value, form)

    def _written(self, value: float, form: str) -> str:
        return format(value, form).replace("-", MINUS).replace(".", self._mark)


def _form(column: Column) -> str:
    return f"z.{decimals(column.scale)}f"


#: Of a drawing, in pixels.
WIDTH, HEIGHT, MARGIN = 132, 14, 5
#: The ends of an axis are multiples of this where the values are counts.
STEP_OF_COUNTS = 5.0


@dataclass(frozen=True)
class Axis:
    low: float
    high: float
    scale: float

    @classmethod
    def over(cls, cells: Iterable[Cell], scale: float) -> "Axis | None":
        ends = [
            end
            for cell in cells
            if cell.value is not None
            for end in (cell.value, cell.low, cell.high)
            if end is not None
        ]
        if not ends:
            return None
        step = scale / 20 or STEP_OF_COUNTS
        low = math.floor(min(ends) / step) * step
        return cls(low, max(math.ceil(max(ends) / step) * step, low + step), scale)

    @property
    def ends(self) -> list[str]:
        return [
            f"{end:.{2 if self.scale == 1 else 0}f}".replace("-", MINUS)
            for end in (self.low, self.high)
        ]

    def place(self, value: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * (value - self.low) / (
            self.high - self.low
        )


def whisker(cell: Cell | None, axis: Axis | None, ends: str) -> str:
    if cell is None or axis is None or cell.value is None:
        return ""
    line, label = "", ' aria-hidden="true"'
    if cell.low is not None and cell.high is not None:
        start, end = f"{axis.place(cell.low):.1f}", f"{axis.place(cell.high):.1f}"
        line = f'<path d="M{start} 7H{end}M{start} 4v6M{end} 4v6"/>'
        label = f' role="img" aria-label="{ends}"'
    return (
        f'<svg class="whisker" width="{WIDTH}" height="{HEIGHT}"{label}>{line}'
        f'<circle cx="{axis.place(cell.value):.1f}" cy="7" r="3"/></svg>'
    )


@dataclass(frozen=True, kw_only=True)
class OwnRun:
    """``gap`` and ``p`` are empty where numbers are hidden or not compared; ``p`` is of these two alone."""

    row: Row
    place: str
    above: Row | None = None
    gap: str = ""
    p: float | None = None
    is_first: bool = False

    @property
    def differs(self) -> bool:
        return self.p is not None and self.p <= ALPHA

    @property
    def verdict(self) -> str:
        if self.p is None:
            return ""
        p = (
            "p < " + in_decimals("0.001")
            if self.p < 0.001
            else "p = " + in_decimals(f"{self.p:.3f}")
        )
        if self.differs:
            return _("%(p)s for these two alone: they differ") % {"p": p}
        return _("%(p)s for these two alone: chance can explain it") % {"p": p}


def own_runs(board: Board, teams: Collection[str]) -> list[OwnRun]:
    ranked = [row for row in board.rows if row.rank is not None] if teams else []
    ranking, is_first_sure = board.ranking, len(board.may_be_first) == 1
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
            and ranking is not None
            and row.value is not None
            and above.value is not None
        ):
            first, second = sorted((row.evaluation, above.evaluation))
            pair = Comparison.objects.filter(
                first=first, second=second, metric=ranking.metric
            )
            p = pair.values_list("p", flat=True).first()
            gap = shown(above.value - row.value, ranking.scale)
        is_first = above is None and is_first_sure
        runs.append(
            OwnRun(
                row=row,
                place=board.place_of(row),
                above=above,
                gap=gap,
                p=p,
                is_first=is_first,
            )
        )
    return runs
