"""The rows of a board as HTML, by hand: a template would take longer over them than all else together."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

from django.utils.safestring import SafeString

from scoring.board.numbers import MINUS, decimals, ranks, shown
from scoring.board.ranks import SIGNIFICANCE
from scoring.board.standings import Board, Cell, Column, Row
from scoring.board.whiskers import Axis, whisker

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True)
class Writer:
    """What is the same for every row of a board."""

    board: Board
    axis: Axis | None
    compare: str
    ranking: Column | None
    others: Sequence[tuple[str, str]]
    shows_scores: bool
    own: Collection[str]

    @classmethod
    def of(
        cls,
        board: Board,
        columns: Sequence[Column],
        axis: Axis | None,
        compare: str,
        own: Collection[str] = (),
    ) -> Writer:
        """``compare`` is the beginning of the address that compares a row with the first; empty for none.

        ``own`` are the slugs of the viewer's teams.
        """
        others = [(column.name, _form(column)) for column in columns if not column.is_ranking]
        return cls(board, axis, escape(compare), board.ranking, others, bool(board.columns), own)

    def row(self, row: Row, *, begins_group: bool) -> SafeString:
        """Names come from people and are escaped; all else is numbers."""
        name = row.kind if not row.competes or row.is_contrastive else "group" if begins_group else ""
        kind = f' class="{name}"' if name else ""
        if row.team_slug in self.own:
            kind = f' id="run-{row.submission}" class="{f"{name} own".strip()}"'
        return SafeString(
            f'<tr{kind}><td class="rank">{self._rank(row)}</td>'
            f'<th scope="row"><span class="system">{escape(row.system)}</span> {self._team(row)}</th>'
            f"{self._first(row)}{self._others(row)}"
            f'<td class="date rest">{_date(row.submitted_at)}</td></tr>\n'
        )

    def _rank(self, row: Row) -> str:
        if self.board.by == SIGNIFICANCE:
            return ranks(row.rank_low, row.rank_high)
        return str(row.rank or "")

    def _team(self, row: Row) -> str:
        """Under the system; a narrow page has the way to all numbers here, since it shows one."""
        name = escape(row.marked_name)
        if row.team_slug in self.own:
            name = f"{name}, your team"
        if row.priority and self.board.goes_by_priority:
            name = f"{name}, priority {row.priority}"
        name += "".join(f' <span class="run-mark">{escape(words)}</span>' for _, words in row.marks)
        if not self.shows_scores:
            return f'<span class="team">{name}</span>'
        all_numbers = f'<a class="unfold" href="runs/{row.submission}/">all numbers</a>'
        compare = f'<a href="{self.compare}{row.submission}">compare</a>' if self.compare else ""
        return f'<span class="team"><span>{name}</span>{all_numbers}{compare}</span>'

    def _first(self, row: Row) -> str:
        if self.ranking is None:
            return ""
        cell = row.scores.get(self.ranking.name)
        link = _link(row.submission, cell, _form(self.ranking)) if cell else ""
        drawing = whisker(cell, self.axis, self.ranking.scale)
        ends = _ends(cell, self.ranking) if cell else ""
        return f'<td class="n first">{link}{ends}</td><td class="interval">{drawing}</td>'

    def _others(self, row: Row) -> str:
        """One loop without a call for each number: there are thousands of them.

        By keyboard one gets to all of them through the row's first links.
        """
        begin = f'<td class="n rest"><a tabindex="-1" href="runs/{row.submission}/#s'
        scores = row.scores
        out = []
        for name, form in self.others:
            cell = scores.get(name)
            if cell is None:
                out.append('<td class="n rest"></td>')
            elif (value := cell[1]) is not None and value >= 0:
                out.append(f'{begin}{cell[0]}">{format(value, form)}</a></td>')
            else:
                out.append(f'{begin}{cell[0]}">{_text(cell, form)}</a></td>')
        return "".join(out)


def _ends(cell: Cell, column: Column) -> str:
    """The interval in figures, for narrow pages and paper; wide ones have it drawn."""
    if cell.low is None or cell.high is None:
        return ""
    form = _form(column)
    low, high = (format(end, form).replace("-", MINUS) for end in (cell.low, cell.high))
    return f' <span class="ends">{low} to {high}</span>'


def _date(at: dt.datetime) -> str:
    """The day, in UTC; the instant is in the element."""
    utc = at.astimezone(dt.UTC)
    day = f"{utc.day}\u00a0{MONTHS[utc.month - 1]}\u00a0{utc.year}"
    return f'<time datetime="{utc.isoformat(timespec="seconds")[:-6]}Z">{day}</time>'


def _form(column: Column) -> str:
    """How numbers of the column are written, as `format` takes it; what rounds to zero has no sign."""
    return f"z.{decimals(column.scale)}f"


def _link(submission: int, cell: Cell, form: str) -> str:
    """The number, leading to the words that say how it was computed."""
    return f'<a href="runs/{submission}/#s{cell.score}">{_text(cell, form)}</a>'


def _text(cell: Cell, form: str) -> str:
    value = cell.value
    if value is None:
        return shown(None, is_infinite=cell.is_infinite)
    return format(value, form).replace("-", MINUS)
