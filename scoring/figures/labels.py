"""Names beside points, so that none lies over another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scoring.figures.elements import width_of
from scoring.figures.frame import WIDTH


class Label(NamedTuple):
    """Where a name begins, in pixels of the drawing, and the side of its point, as Plotly calls it."""

    left: float
    base: float
    side: str


def labels(places: Sequence[tuple[str, float, float]]) -> list[Label | None]:
    """Of each name with its point; None where it would lie over another: that one is left to the table."""
    taken = [(x - 5, y - 5, x + 5, y + 5) for _, x, y in places]
    found: list[Label | None] = []
    for name, x, y in places:
        width = width_of(name)
        sides = (
            Label(x - width / 2, y - 10, "top center"),
            Label(x - width / 2, y + 20, "bottom center"),
            Label(x + 9, y + 4, "middle right"),
            Label(x - width - 9, y + 4, "middle left"),
        )
        free = next((side for side in sides if _is_free(side, width, taken)), None)
        found.append(free)
        if free:
            taken.append(_box(free, width))
    return found


Box = tuple[float, float, float, float]


def _box(label: Label, width: float) -> Box:
    return (label.left, label.base - 10, label.left + width, label.base + 3)


def _is_free(label: Label, width: float, taken: Sequence[Box]) -> bool:
    box = _box(label, width)
    return box[0] >= 2 and box[2] <= WIDTH - 2 and not any(_overlap(box, other) for other in taken)


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
