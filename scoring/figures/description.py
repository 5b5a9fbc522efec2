"""The content of a figure, apart from its drawing."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self


class Look(NamedTuple):
    """``pattern``, ``symbol`` and ``dash`` bear Plotly's names."""

    color: str
    pattern: str
    symbol: str
    dash: str


#: Okabe and Ito 2008; black is left to text, yellow comes last.
LOOKS = (
    Look("#0072B2", "", "circle", "solid"),
    Look("#E69F00", "/", "square", "dash"),
    Look("#009E73", "x", "diamond", "dot"),
    Look("#D55E00", "-", "triangle-up", "dashdot"),
    Look("#CC79A7", "\\", "cross", "longdash"),
    Look("#56B4E9", "|", "x", "longdashdot"),
    Look("#F0E442", ".", "star", "12px 3px"),
)
#: More series than this no figure draws; the table beside it has them all.
MAX_SERIES = len(LOOKS)

MINUS = "\u2212"
MONTHS = (
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
)


@dataclass(frozen=True, kw_only=True)
class Wording:
    """``interval`` has places for its ends, ``point`` for a name and its value on either axis."""

    decimal_mark: str = "."
    interval: str = "{low} to {high}"
    point: str = "{name}: {y} at {x}"
    undefined: str = "undefined"
    day: str = "{day} {month}"
    months: tuple[str, ...] = MONTHS

    def number(self, value: float, decimals: int) -> str:
        """Format a number. Zero has no sign."""
        return f"{value:z.{decimals}f}".replace("-", MINUS).replace(
            ".", self.decimal_mark
        )

    def date(self, at: dt.datetime) -> str:
        return self.day.format(day=at.day, month=self.months[at.month - 1])


ENGLISH = Wording()


def bounds_of(scale: float) -> tuple[float, float] | None:
    """The ends of what a metric of this scale can be; a scale of 0 is that of counts, which have no end."""
    return (0.0, scale) if scale else None


@dataclass(frozen=True, kw_only=True)
class Axis:
    """``bounds`` are passed only where a value does; ``labels`` name places 0, 1, 2; dates are seconds."""

    title: str = ""
    decimals: int = 2
    kind: Literal["linear", "log", "date"] = "linear"
    bounds: tuple[float, float] | None = None
    has_zero: bool = False
    labels: Sequence[str] = ()
    wording: Wording = ENGLISH

    def written(self, value: float) -> str:
        return self.wording.number(value, self.decimals)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """``text`` is how a table writes the value; ``is_faint`` marks what rests on little."""

    value: float | None
    low: float | None = None
    high: float | None = None
    text: str = ""
    is_faint: bool = False

    @classmethod
    def of(cls, number: Any) -> Self:
        """Return a point with an interval; None if there is no value."""
        return (
            cls(value=number.value, low=number.low, high=number.high)
            if number
            else cls(value=None)
        )

    @property
    def numbers(self) -> list[float]:
        return [
            number for number in (self.value, self.low, self.high) if number is not None
        ]

    @property
    def ends(self) -> tuple[float, float] | None:
        if self.value is None or self.low is None or self.high is None:
            return None
        return self.low, self.high


@dataclass(frozen=True, kw_only=True)
class Series:
    name: str
    values: Sequence[Measured]


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """``values`` and ``texts`` go by row and column; the colour grows from ``low`` to ``high``."""

    title: str
    description: str = ""
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    texts: Sequence[Sequence[str]]
    low: float = 0.0
    high: float = 1.0
    #: Links of the fields; empty if there are none.
    links: Sequence[Sequence[str]] = ()

    def strength(self, value: float) -> float:
        width = self.high - self.low
        return min(1.0, max(0.0, (value - self.low) / width)) if width else 0.0


@dataclass(frozen=True, kw_only=True)
class _ByLabel:
    title: str
    description: str = ""
    labels: Sequence[str]
    series: Sequence[Series]
    axis: Axis

    @property
    def drawn(self) -> Sequence[Series]:
        """Series past the last colour are left to the table beside."""
        return self.series[:MAX_SERIES]

    @property
    def numbers(self) -> Iterator[float]:
        return (
            number
            for series in self.drawn
            for value in series.values
            for number in value.numbers
        )

    def hover(self, series: Series, place: int) -> str:
        return f"{series.name}, {self.labels[place]}: {describe_value(series.values[place], self.axis)}"


@dataclass(frozen=True, kw_only=True)
class Bars(_ByLabel):
    pass


@dataclass(frozen=True, kw_only=True)
class Dots(_ByLabel):
    pass


@dataclass(frozen=True, kw_only=True)
class Point:
    name: str
    x: Measured
    y: Measured


@dataclass(frozen=True, kw_only=True)
class PointSeries:
    """``is_stepped`` joins points by steps. ``is_reference`` is a thin line that stands for no data."""

    name: str
    points: Sequence[Point]
    has_points: bool = True
    has_line: bool = False
    is_stepped: bool = False
    is_reference: bool = False
    has_names: bool = False


@dataclass(frozen=True, kw_only=True)
class Scatter:
    title: str
    description: str = ""
    series: Sequence[PointSeries]
    x: Axis
    y: Axis

    @property
    def drawn(self) -> Sequence[PointSeries]:
        return self.series[:MAX_SERIES]

    @property
    def across(self) -> Iterator[float]:
        return (
            number
            for series in self.drawn
            for point in series.points
            for number in point.x.numbers
        )

    @property
    def up(self) -> Iterator[float]:
        return (
            number
            for series in self.drawn
            for point in series.points
            for number in point.y.numbers
        )

    def hover(self, point: Point) -> str:
        y, x = describe_value(point.y, self.y), describe_value(point.x, self.x)
        return self.y.wording.point.format(name=point.name, y=y, x=x)


Figure = HeatMap | Bars | Dots | Scatter


def describe_value(measured: Measured, axis: Axis) -> str:
    if measured.value is None:
        return measured.text or axis.wording.undefined
    text = measured.text or axis.written(measured.value)
    if measured.ends is None:
        return text
    low, high = map(axis.written, measured.ends)
    return f"{text} ({axis.wording.interval.format(low=low, high=high)})"
