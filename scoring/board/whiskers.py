"""Intervals as drawings on a common scale."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scoring.board.numbers import MINUS
from scoring.board.standings import Cell

#: Of a drawing, in pixels.
WIDTH, HEIGHT, MARGIN = 132, 14, 5
#: The ends of an axis are multiples of this where the values are counts.
STEP_OF_COUNTS = 5.0


@dataclass(frozen=True)
class Axis:
    """The common scale of the intervals: from ``low`` to ``high``, both round numbers."""

    low: float
    high: float
    scale: float

    @classmethod
    def over(cls, cells: Iterable[Cell], scale: float) -> Axis | None:
        """A scale on which every number has its place; None where there is no number."""
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
        """Both ends as they are written over the drawings."""
        return [f"{end:.{2 if self.scale == 1 else 0}f}".replace("-", MINUS) for end in (self.low, self.high)]

    def place(self, value: float) -> float:
        """So many pixels from the left."""
        return MARGIN + (WIDTH - 2 * MARGIN) * (value - self.low) / (self.high - self.low)


def whisker(cell: Cell | None, axis: Axis | None, ends: str) -> str:
    """The value and its interval as a drawing; ``ends`` say it to those who do not see it."""
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
