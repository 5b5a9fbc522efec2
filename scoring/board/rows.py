"""The rows of a board as HTML, by hand: a template would take longer over them than all else together."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape

from django.utils.formats import get_format
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from citeboard.core.instants import MONTHS
from scoring.board.numbers import MINUS, decimals, ranks, shown
from scoring.board.ranks import SIGNIFICANCE
from scoring.board.standings import Board, Cell, Column, Row
from scoring.board.whiskers import Axis, whisker

#: So many ways to show the rows of a board are kept: languages, and columns that readers asked for.
MAX_WRITERS = 8


@dataclass(frozen=True)
class Writers:
    """Those of one board, as somebody may see it."""

    board: Board
    known: dict[object, Writer] = field(default_factory=dict)

    @cached_property
    def axis(self) -> Axis | None:
        ranking = self.board.ranking
        if ranking is None:
            return None
        cells = (row.scores[ranking.name] for row in self.board.rows if ranking.name in row.scores)
        return Axis.over(cells, ranking.scale)

    def of(self, columns: Sequence[Column], compare: str) -> Writer:
        """``compare`` is the beginning of the address that compares a row with the first; empty for none."""
        key = (tuple(column.name for column in columns), compare, get_language())
        found = self.known.get(key)
        if found is None:
            others = [(column.name, _form(column)) for column in columns if not column.is_ranking]
            found = Writer(self.board, self.axis, escape(compare), self.board.ranking, others)
            if len(self.known) < MAX_WRITERS:
                self.known[key] = found
        return found


@dataclass(frozen=True)
class Writer:
    """What is the same for every row of a board, in one language, and the rows that it has written."""

    board: Board
    axis: Axis | None
    compare: str
    ranking: Column | None
    others: Sequence[tuple[str, str]]
    written: dict[tuple[int, bool], str] = field(default_factory=dict)

    def row(self, row: Row, *, begins_group: bool, is_own: bool) -> str:
        """What is marked as the viewer's own is never kept: another has other rows."""
        if is_own:
            return self._row(row, begins_group=begins_group, is_own=True)
        key = (row.submission, begins_group)
        found = self.written.get(key)
        if found is None:
            found = self.written[key] = self._row(row, begins_group=begins_group, is_own=False)
        return found

    def _row(self, row: Row, *, begins_group: bool, is_own: bool) -> str:
        """Names come from people and are escaped; all else is numbers."""
        name = row.kind if not row.competes or row.is_contrastive else "group" if begins_group else ""
        kind = f' class="{name}"' if name else ""
        if is_own:
            kind = f' id="run-{row.submission}" class="{f"{name} own".strip()}"'
        return (
            f'<tr{kind}><td class="rank">{self._rank(row)}</td>'
            f'<th scope="row"><span class="system">{escape(row.system)}</span> {self._team(row, is_own)}</th>'
            f"{self._first(row)}{self._others(row)}"
            f'<td class="date rest">{self._date(row.submitted_at)}</td></tr>\n'
        )

    @cached_property
    def _words(self) -> tuple[str, str, str]:
        return _("all numbers"), _("compare"), _("%(low)s to %(high)s")

    @cached_property
    def _mark(self) -> str:
        """The decimal mark of the language."""
        return str(get_format("DECIMAL_SEPARATOR"))

    def _rank(self, row: Row) -> str:
        if self.board.by == SIGNIFICANCE:
            return ranks(row.rank_low, row.rank_high)
        return str(row.rank or "")

    def _team(self, row: Row, is_own: bool) -> str:
        """Under the system; a narrow page has the way to all numbers here, since it shows one."""
        name = escape(row.marked_name)
        if is_own:
            name = _("{name}, your team").format(name=name)
        if row.priority and self.board.goes_by_priority:
            name = _("{name}, priority {priority}").format(name=name, priority=row.priority)
        if row.card:
            name += "".join(f' <span class="run-mark">{escape(words)}</span>' for _name, words in row.marks)
        if not self.board.columns:
            return f'<span class="team">{name}</span>'
        all_numbers, compare, _ends = self._words
        unfold = f'<a class="unfold" href="runs/{row.submission}/">{all_numbers}</a>'
        beside = f'<a href="{self.compare}{row.submission}">{compare}</a>' if self.compare else ""
        return f'<span class="team"><span>{name}</span>{unfold}{beside}</span>'

    def _first(self, row: Row) -> str:
        """The interval stands in figures too, for narrow pages and paper; wide ones have it drawn."""
        if self.ranking is None:
            return ""
        cell = row.scores.get(self.ranking.name)
        if cell is None:
            return '<td class="n first"></td><td class="interval"></td>'
        ends = self._ends(cell)
        figures = f' <span class="ends">{ends}</span>' if ends else ""
        number = f'<a href="runs/{row.submission}/#s{cell.score}">{self._text(cell, self._form)}</a>'
        return (
            f'<td class="n first">{number}{figures}</td>'
            f'<td class="interval">{whisker(cell, self.axis, ends)}</td>'
        )

    def _ends(self, cell: Cell) -> str:
        if cell.low is None or cell.high is None:
            return ""
        low, high = (self._written(end, self._form) for end in (cell.low, cell.high))
        return self._words[2] % {"low": low, "high": high}

    @cached_property
    def _form(self) -> str:
        return _form(self.ranking) if self.ranking else ""

    def _others(self, row: Row) -> str:
        """One loop without a call for each number: there are thousands of them.

        By keyboard one gets to all of them through the row's first links.
        """
        begin = f'<td class="n rest"><a tabindex="-1" href="runs/{row.submission}/#s'
        scores, mark = row.scores, self._mark
        out = []
        for name, form in self.others:
            cell = scores.get(name)
            if cell is None:
                out.append('<td class="n rest"></td>')
            elif (value := cell[1]) is not None and value >= 0:
                out.append(f'{begin}{cell[0]}">{format(value, form).replace(".", mark)}</a></td>')
            else:
                out.append(f'{begin}{cell[0]}">{self._text(cell, form)}</a></td>')
        return "".join(out)

    def _date(self, at: dt.datetime) -> str:
        """The day, in UTC; the instant is in the element."""
        utc = at if at.tzinfo is dt.UTC else at.astimezone(dt.UTC)
        form, months = self._days
        day = form % {"day": utc.day, "month": months[utc.month - 1], "year": utc.year}
        return f'<time datetime="{utc:%Y-%m-%dT%H:%M:%SZ}">{day}</time>'

    @cached_property
    def _days(self) -> tuple[str, list[str]]:
        """How a day is written, and the months; a day is not broken over lines."""
        return _("%(day)d %(month)s %(year)d").replace(" ", "\u00a0"), list(map(str, MONTHS))

    def _text(self, cell: Cell, form: str) -> str:
        if cell.value is None:
            return shown(None, is_infinite=cell.is_infinite)
        return self._written(cell.value, form)

    def _written(self, value: float, form: str) -> str:
        return format(value, form).replace("-", MINUS).replace(".", self._mark)


def _form(column: Column) -> str:
    """How numbers of the column are written, as `format` takes it; what rounds to zero has no sign."""
    return f"z.{decimals(column.scale)}f"
