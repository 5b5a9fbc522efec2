"""Descriptions of figures, independent of how they are rendered."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self


class SeriesStyle(NamedTuple):
    """The colour, hatching, symbol and line style of one series in a chart.
    ``pattern``, ``symbol`` and ``dash`` are Plotly's names of a hatching, a symbol and
    a line style.
    """

    color: str
    pattern: str
    symbol: str
    dash: str


#: The colours are the palette of Okabe and Ito 2008 without black, the colour of texts.
#: Yellow is the last colour of the palette.
SERIES_STYLES = (
    SeriesStyle("#0072B2", "", "circle", "solid"),
    SeriesStyle("#E69F00", "/", "square", "dash"),
    SeriesStyle("#009E73", "x", "diamond", "dot"),
    SeriesStyle("#D55E00", "-", "triangle-up", "dashdot"),
    SeriesStyle("#CC79A7", "\\", "cross", "longdash"),
    SeriesStyle("#56B4E9", "|", "x", "longdashdot"),
    SeriesStyle("#F0E442", ".", "star", "12px 3px"),
)
#: A figure shows at most this many series, and the table beside it shows all series.
MAX_SERIES = len(SERIES_STYLES)

MINUS_SIGN = "\u2212"
ENGLISH_MONTHS = (
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
class FigureWording:
    """Localised texts of figures.

    ``interval`` is a text with placeholders for the ends of an interval. ``point`` is a
    text with placeholders for a name and the values on both axes.
    """

    decimal_mark: str = "."
    interval: str = "{low} to {high}"
    point: str = "{name}: {y} at {x}"
    undefined: str = "undefined"
    day: str = "{day} {month}"
    months: tuple[str, ...] = ENGLISH_MONTHS

    def number(self, value: float, decimals: int) -> str:
        """Format a number for a figure. A number that is rounded to zero has no minus
        sign.
        """
        return f"{value:z.{decimals}f}".replace("-", MINUS_SIGN).replace(
            ".", self.decimal_mark
        )

    def date(self, at: dt.datetime) -> str:
        return self.day.format(day=at.day, month=self.months[at.month - 1])


ENGLISH_FIGURE_WORDING = FigureWording()


def find_metric_bounds(scale: float) -> tuple[float, float] | None:
    """Return the smallest and largest possible value of a metric with this scale, or
    None for scale 0, which stands for an unbounded count.
    """
    return (0.0, scale) if scale else None


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis.

    ``bounds`` are the ends of the axis unless a value lies outside the bounds.
    ``labels`` are the names that the axis shows at the positions 0, 1, 2 and so on. An
    axis of dates measures seconds since the Unix epoch.
    """

    title: str = ""
    decimals: int = 2
    kind: Literal["linear", "log", "date"] = "linear"
    bounds: tuple[float, float] | None = None
    has_zero: bool = False
    labels: Sequence[str] = ()
    wording: FigureWording = ENGLISH_FIGURE_WORDING

    def format_value(self, value: float) -> str:
        return self.wording.number(value, self.decimals)


@dataclass(frozen=True, kw_only=True)
class FigureValue:
    """A value in a figure.

    ``text`` is the value in the format of the site's tables. ``is_faint`` marks values
    that are based on few data.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    text: str = ""
    is_faint: bool = False

    @classmethod
    def of(cls, number: Any) -> Self:
        """Return a ``FigureValue`` with the value and the interval of a number. If
        ``number`` is None, the value of the ``FigureValue`` is None.
        """
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
class ValueSeries:
    name: str
    values: Sequence[FigureValue]


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """A heat map.

    ``values`` and ``texts`` are lists of rows with the number and the text of each
    cell. The colour of a cell shows the position of the cell's value between ``low``
    and ``high``.
    """

    title: str
    description: str = ""
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    texts: Sequence[Sequence[str]]
    low: float = 0.0
    high: float = 1.0
    #: The links of the cells; empty without links.
    links: Sequence[Sequence[str]] = ()

    def strength(self, value: float) -> float:
        width = self.high - self.low
        return min(1.0, max(0.0, (value - self.low) / width)) if width else 0.0


@dataclass(frozen=True, kw_only=True)
class _LabelledFigure:
    title: str
    description: str = ""
    labels: Sequence[str]
    series: Sequence[ValueSeries]
    axis: Axis

    @property
    def drawn(self) -> Sequence[ValueSeries]:
        """Return the series that a figure renders. If a figure has more series than
        colours, the remaining series appear only in the table beside the figure.
        """
        return self.series[:MAX_SERIES]

    @property
    def numbers(self) -> Iterator[float]:
        return (
            number
            for series in self.drawn
            for value in series.values
            for number in value.numbers
        )

    def hover(self, series: ValueSeries, place: int) -> str:
        return f"{series.name}, {self.labels[place]}: {describe_value(series.values[place], self.axis)}"


@dataclass(frozen=True, kw_only=True)
class BarChart(_LabelledFigure):
    pass


@dataclass(frozen=True, kw_only=True)
class DotPlot(_LabelledFigure):
    pass


@dataclass(frozen=True, kw_only=True)
class ScatterPoint:
    name: str
    x: FigureValue
    y: FigureValue


@dataclass(frozen=True, kw_only=True)
class PointSeries:
    """A series of points.

    If ``is_stepped`` is True, steps connect the points instead of straight lines. If
    ``is_reference`` is True, the series is a thin guide line that represents no data.
    """

    name: str
    points: Sequence[ScatterPoint]
    has_points: bool = True
    has_line: bool = False
    is_stepped: bool = False
    is_reference: bool = False
    has_names: bool = False


@dataclass(frozen=True, kw_only=True)
class ScatterPlot:
    title: str
    description: str = ""
    series: Sequence[PointSeries]
    x: Axis
    y: Axis

    @property
    def drawn(self) -> Sequence[PointSeries]:
        return self.series[:MAX_SERIES]

    @property
    def drawn_x_numbers(self) -> Iterator[float]:
        return (
            number
            for series in self.drawn
            for point in series.points
            for number in point.x.numbers
        )

    @property
    def drawn_y_numbers(self) -> Iterator[float]:
        return (
            number
            for series in self.drawn
            for point in series.points
            for number in point.y.numbers
        )

    def hover(self, point: ScatterPoint) -> str:
        y, x = describe_value(point.y, self.y), describe_value(point.x, self.x)
        return self.y.wording.point.format(name=point.name, y=y, x=x)


Figure = HeatMap | BarChart | DotPlot | ScatterPlot


def describe_value(measured: FigureValue, axis: Axis) -> str:
    if measured.value is None:
        return measured.text or axis.wording.undefined
    text = measured.text or axis.format_value(measured.value)
    if measured.ends is None:
        return text
    low, high = map(axis.format_value, measured.ends)
    return f"{text} ({axis.wording.interval.format(low=low, high=high)})"
