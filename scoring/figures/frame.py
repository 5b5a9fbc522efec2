"""The field that bars, dots and points are drawn in: its place, its axes and its legend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scoring.figures.axes import Span, ticks
from scoring.figures.description import Axis, Look
from scoring.figures.elements import DASHES, group, tag, width_of, words

WIDTH = 720.0
LINE = 18.0
#: Names of classes are cut where they would take more than this from the field.
MAX_NAME = 210.0
TURNED = -40
MAX_TURNED = 130.0

Swatch = Callable[[Look, float, float], str]
#: Of a name that is turned, how much of its length is height, and how much is width.
RISE, RUN = 0.65, 0.77


@dataclass(frozen=True)
class Field:
    left: float
    top: float
    right: float
    bottom: float
    across: Span
    up: Span

    def x(self, value: float) -> float:
        return self.left + (self.right - self.left) * self.across.share(value)

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * self.up.share(value)


def values_across(field: Field, axis: Axis) -> str:
    named = [(field.x(at), text) for at, text in ticks(axis, field.across)]
    lines = [tag("path", d=f"M{x:.1f} {field.top:.1f}V{field.bottom:.1f}") for x, _ in named]
    # Numbers that would run into the one before are left out.
    numbers, end = [], float("-inf")
    for x, text in named:
        half = width_of(text) / 2
        if x - half > end:
            end = x + half + 6
            numbers.append(words(x, field.bottom + 16, text))
    middle = (field.left + field.right) / 2
    title = [words(middle, field.bottom + 36, axis.title)] if axis.title else []
    return (
        group("grid", lines)
        + group("soft", numbers, text_anchor="middle")
        + group("soft", title, text_anchor="middle")
    )


def values_up(field: Field, axis: Axis) -> str:
    named = [(field.y(at), text) for at, text in ticks(axis, field.up)]
    lines = [tag("path", d=f"M{field.left:.1f} {y:.1f}H{field.right:.1f}") for y, _ in named]
    middle = (field.top + field.bottom) / 2
    return (
        group("grid", lines)
        + group("soft", [words(field.left - 6, y + 4, text) for y, text in named], text_anchor="end")
        + group(
            "soft",
            [words(14, middle, axis.title, transform=f"rotate(-90 14 {middle:.1f})")] if axis.title else [],
            text_anchor="middle",
        )
    )


def left_of(axis: Axis, up: Span) -> float:
    return (26 if axis.title else 8) + 8 + max((width_of(text) for _, text in ticks(axis, up)), default=0)


def names_below(labels: Sequence[str], x: Callable[[float], float], y: float) -> str:
    """Names of groups under their middles, turned where they have too little room."""
    room = x(1) - x(0)
    if is_turned(labels, room):
        parts = [
            words(
                x(place) + 4, y + 14, label,
                width=MAX_TURNED, transform=f"rotate({TURNED} {x(place) + 4:.1f} {y + 14:.1f})",
            )
            for place, label in enumerate(labels)
        ]  # fmt: skip
        return group("ink", parts, text_anchor="end")
    return group(
        "ink", [words(x(place), y + 17, label) for place, label in enumerate(labels)], text_anchor="middle"
    )


def is_turned(labels: Sequence[str], room: float) -> bool:
    return any(width_of(label) > room - 8 for label in labels)


def before_names(labels: Sequence[str], room: float) -> float:
    return RUN * min(MAX_TURNED, width_of(labels[0])) - room / 2 if is_turned(labels, room) else 0.0


def below_names(labels: Sequence[str], room: float) -> float:
    if not is_turned(labels, room):
        return 26.0
    longest = max(map(width_of, labels), default=0)
    return 24.0 + RISE * min(longest, MAX_TURNED)


def legend(names: Sequence[tuple[str, Look]], swatch: Swatch, left: float) -> tuple[str, float]:
    """Each series by its colour and its second channel; with the height that it takes."""
    x, y = left, 14.0
    parts = []
    for name, look in names:
        width = 26 + min(width_of(name), MAX_NAME)
        if x > left and x + width > WIDTH - 8:
            x, y = left, y + LINE
        parts.append(swatch(look, x + 8, y - 4) + words(x + 20, y, name, width=MAX_NAME))
        x += width + 14
    return group("ink", parts), y + 12 if names else 14.0


def line_swatch(look: Look, x: float, y: float) -> str:
    return line(look, f"M{x - 8:.1f} {y:.1f}h18")


def line(look: Look, path: str, *, is_thin: bool = False) -> str:
    return tag(
        "path",
        d=path,
        fill="none",
        stroke=look.color,
        stroke_width=1 if is_thin else 2,
        stroke_dasharray="2 3" if is_thin else DASHES[look.dash],
    )


class Label(NamedTuple):
    left: float
    base: float
    side: str


def labels(places: Sequence[tuple[str, float, float]]) -> list[Label | None]:
    """Of each name with its point; None where it would lie over another: that one is left to the table."""
    taken = [(x - 5, y - 5, x + 5, y + 5) for _, x, y in places]
    chosen: list[Label | None] = []

    def box(label: Label) -> tuple[float, float, float, float]:
        return (label.left, label.base - 10, label.left + width, label.base + 3)

    def is_free(label: Label) -> bool:
        left, top, right, bottom = box(label)
        return (
            left >= 2
            and right <= WIDTH - 2
            and not any(left < o[2] and o[0] < right and top < o[3] and o[1] < bottom for o in taken)
        )

    for name, x, y in places:
        width = width_of(name)
        sides = (
            Label(x - width / 2, y - 10, "top center"),
            Label(x - width / 2, y + 20, "bottom center"),
            Label(x + 9, y + 4, "middle right"),
            Label(x - width - 9, y + 4, "middle left"),
        )
        free = next((side for side in sides if is_free(side)), None)
        chosen.append(free)
        if free:
            taken.append(box(free))
    return chosen
