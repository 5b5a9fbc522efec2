"""From where to where an axis goes, and which of its places are named; the same in every drawing."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scoring.figures.description import Axis, Wording

MINUTE, HOUR, DAY = 60, 3600, 86400
#: Steps between named times; longer ones are whole multiples of the last.
TIME_STEPS = (
    MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR,
    DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 182 * DAY, 365 * DAY,
)  # fmt: skip
#: So much of an axis stays free beyond the outermost value.
PADDING = 0.05
MAX_TICKS = 6


@dataclass(frozen=True)
class Span:
    """``low`` and ``high`` are decimal logarithms where the axis is logarithmic."""

    low: float
    high: float
    is_log: bool = False

    def share(self, value: float) -> float:
        """Where a value stands, from 0 at the low end to 1 at the high."""
        number = math.log10(value) if self.is_log else value
        return (number - self.low) / (self.high - self.low)


def span(axis: Axis, numbers: Iterable[float]) -> Span:
    if axis.labels:
        return Span(-0.5, len(axis.labels) - 0.5)
    known = [number for number in numbers if math.isfinite(number) and (axis.kind != "log" or number > 0)]
    if axis.kind == "log":
        low, high = (math.log10(number) for number in (min(known, default=1.0), max(known, default=10.0)))
        free = PADDING * (high - low) or 0.5
        return Span(low - free, high + free, is_log=True)
    if axis.has_zero:
        known.append(0.0)
    low, high = min(known, default=0.0), max(known, default=0.0)
    if axis.kind == "date":
        free = max(PADDING * (high - low), 5 * MINUTE)
        return Span(low - free, high + free)
    if low == high == 0:
        return Span(*(axis.bounds or (0.0, 1.0)))
    free = PADDING * (high - low) or abs(high) * PADDING
    start = low if axis.has_zero and low == 0 else low - free
    end = high if axis.has_zero and high == 0 else high + free
    if axis.bounds and axis.bounds[0] <= low and high <= axis.bounds[1]:
        start, end = max(start, axis.bounds[0]), min(end, axis.bounds[1])
    return Span(start, end)


def ticks(axis: Axis, over: Span) -> list[tuple[float, str]]:
    if axis.labels:
        return [(float(place), label) for place, label in enumerate(axis.labels)]
    if axis.kind == "date":
        return list(_times(over, axis.wording))
    if over.is_log:
        return [(value, _short(value, axis.wording)) for value in _powers(over)]
    # 1, 2 or 5 times a power of ten, so that there are at most as many ticks as can be read.
    width = over.high - over.low
    power = 10.0 ** math.floor(math.log10(width / MAX_TICKS))
    step = next(power * factor for factor in (1, 2, 5, 10) if width / (power * factor) <= MAX_TICKS)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(over.low / step - 1e-9), math.floor(over.high / step + 1e-9)
    return [(place * step, axis.wording.number(place * step, digits)) for place in range(first, last + 1)]


def _powers(over: Span) -> Iterator[float]:
    factors = (1, 2, 5) if over.high - over.low < 3 else (1,)
    for power in range(math.floor(over.low), math.ceil(over.high) + 1):
        yield from (
            value for factor in factors if over.low <= math.log10(value := factor * 10.0**power) <= over.high
        )


def _short(value: float, wording: Wording) -> str:
    if value >= 1:
        return f"{value:,.0f}".replace(",", "\u2009")
    return f"{value:g}".replace(".", wording.decimal_mark)


def _times(over: Span, wording: Wording) -> Iterator[tuple[float, str]]:
    """Round times in UTC; the year is said with the first of them and wherever it changes."""
    width = over.high - over.low
    step = next((step for step in TIME_STEPS if width / step <= MAX_TICKS), None)
    if step is None:
        step = math.ceil(width / MAX_TICKS / (365 * DAY)) * 365 * DAY
    year = None
    for place in range(math.ceil(over.low / step), math.floor(over.high / step) + 1):
        at = dt.datetime.fromtimestamp(place * step, dt.UTC)
        words = wording.date(at) if at.year == year else f"{wording.date(at)} {at.year}"
        year = at.year
        yield place * step, words if step >= DAY else f"{words}, {at:%H:%M}"
