"""Draw the elements, axes, plot area and legend of an SVG chart."""

from __future__ import annotations

import datetime as dt
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from scoring.figures.description import Axis, FigureWording, SeriesStyle

FIGURE_WIDTH_PIXELS = 720.0
LINE_HEIGHT_PIXELS = 18.0
#: Class names on an axis have at most this width in pixels.
#: Longer names are truncated.
MAX_NAME_WIDTH = 210.0
TURNED_NAME_DEGREES = -40
MAX_TURNED_NAME_WIDTH = 130.0

SwatchRenderer = Callable[[SeriesStyle, float, float], str]
TURNED_NAME_SINE, TURNED_NAME_COSINE = 0.65, 0.77


@dataclass(frozen=True)
class PlotArea:
    left: float
    top: float
    right: float
    bottom: float
    across: AxisRange
    up: AxisRange

    def x(self, value: float) -> float:
        return self.left + (self.right - self.left) * self.across.share(value)

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * self.up.share(value)


def draw_horizontal_axis(field: PlotArea, axis: Axis) -> str:
    named = [(field.x(at), text) for at, text in compute_axis_ticks(axis, field.across)]
    lines = [
        format_xml_element("path", d=f"M{x:.1f} {field.top:.1f}V{field.bottom:.1f}")
        for x, _ in named
    ]
    # The axis omits numbers that would overlap the previous number.
    numbers, end = [], float("-inf")
    for x, text in named:
        half = estimate_text_width(text) / 2
        if x - half > end:
            end = x + half + 6
            numbers.append(draw_text(x, field.bottom + 16, text))
    title = (
        [draw_text((field.left + field.right) / 2, field.bottom + 36, axis.title)]
        if axis.title
        else []
    )
    written = (
        draw_group("soft", part, text_anchor="middle") for part in (numbers, title)
    )
    return draw_group("grid", lines) + "".join(written)


def draw_vertical_axis(field: PlotArea, axis: Axis) -> str:
    named = [(field.y(at), text) for at, text in compute_axis_ticks(axis, field.up)]
    lines = [
        format_xml_element("path", d=f"M{field.left:.1f} {y:.1f}H{field.right:.1f}")
        for y, _ in named
    ]
    numbers = [draw_text(field.left - 6, y + 4, text) for y, text in named]
    middle = (field.top + field.bottom) / 2
    title = (
        [draw_text(14, middle, axis.title, transform=f"rotate(-90 14 {middle:.1f})")]
        if axis.title
        else []
    )
    titled = draw_group("soft", title, text_anchor="middle")
    return (
        draw_group("grid", lines)
        + draw_group("soft", numbers, text_anchor="end")
        + titled
    )


def compute_left_margin(axis: Axis, up: AxisRange) -> float:
    return (
        (26 if axis.title else 8)
        + 8
        + max(
            (estimate_text_width(text) for _, text in compute_axis_ticks(axis, up)),
            default=0,
        )
    )


def draw_names_below(
    labels: Sequence[str], x: Callable[[float], float], y: float
) -> str:
    if not must_turn_names(labels, x(1) - x(0)):
        parts = [
            draw_text(x(index), y + 17, label) for index, label in enumerate(labels)
        ]
        return draw_group("ink", parts, text_anchor="middle")
    parts = []
    for place, label in enumerate(labels):
        left, base = x(place) + 4, y + 14
        turned = f"rotate({TURNED_NAME_DEGREES} {left:.1f} {base:.1f})"
        parts.append(
            draw_text(left, base, label, width=MAX_TURNED_NAME_WIDTH, transform=turned)
        )
    return draw_group("ink", parts, text_anchor="end")


def must_turn_names(labels: Sequence[str], room: float) -> bool:
    return any(estimate_text_width(label) > room - 8 for label in labels)


def compute_margin_before_names(labels: Sequence[str], room: float) -> float:
    return (
        TURNED_NAME_COSINE * min(MAX_TURNED_NAME_WIDTH, estimate_text_width(labels[0]))
        - room / 2
        if must_turn_names(labels, room)
        else 0.0
    )


def compute_margin_below_names(labels: Sequence[str], room: float) -> float:
    if not must_turn_names(labels, room):
        return 26.0
    return 24.0 + TURNED_NAME_SINE * min(
        max(map(estimate_text_width, labels), default=0), MAX_TURNED_NAME_WIDTH
    )


def draw_legend(
    names: Sequence[tuple[str, SeriesStyle]], swatch: SwatchRenderer, left: float
) -> tuple[str, float]:
    x, y = left, 14.0
    parts = []
    for name, look in names:
        width = 26 + min(estimate_text_width(name), MAX_NAME_WIDTH)
        if x > left and x + width > FIGURE_WIDTH_PIXELS - 8:
            x, y = left, y + LINE_HEIGHT_PIXELS
        parts.append(
            swatch(look, x + 8, y - 4)
            + draw_text(x + 20, y, name, width=MAX_NAME_WIDTH)
        )
        x += width + 14
    return draw_group("ink", parts), y + 12 if names else 14.0


def draw_line(look: SeriesStyle, path: str, *, is_thin: bool = False) -> str:
    return format_xml_element(
        "path",
        d=path,
        fill="none",
        stroke=look.color,
        stroke_width=1 if is_thin else 2,
        stroke_dasharray="2 3" if is_thin else DASH_ARRAYS[look.dash],
    )


class NameLabel(NamedTuple):
    left: float
    base: float
    side: str


def place_point_labels(
    places: Sequence[tuple[str, float, float]],
) -> list[NameLabel | None]:
    """Return the position of each name beside the name's point in a chart, or None if
    the name would overlap another name.
    """
    taken = [(x - 5, y - 5, x + 5, y + 5) for _, x, y in places]
    chosen: list[NameLabel | None] = []

    def compute_label_box(label: NameLabel) -> tuple[float, float, float, float]:
        return (label.left, label.base - 10, label.left + width, label.base + 3)

    def is_label_free(label: NameLabel) -> bool:
        left, top, right, bottom = compute_label_box(label)
        lies_over = any(
            left < o[2] and o[0] < right and top < o[3] and o[1] < bottom for o in taken
        )
        return left >= 2 and right <= FIGURE_WIDTH_PIXELS - 2 and not lies_over

    for name, x, y in places:
        width = estimate_text_width(name)
        sides = (
            NameLabel(x - width / 2, y - 10, "top center"),
            NameLabel(x - width / 2, y + 20, "bottom center"),
            NameLabel(x + 9, y + 4, "middle right"),
            NameLabel(x - width - 9, y + 4, "middle left"),
        )
        free = next((side for side in sides if is_label_free(side)), None)
        chosen.append(free)
        if free:
            taken.append(compute_label_box(free))
    return chosen


MINUTE_SECONDS, HOUR_SECONDS, DAY_SECONDS = 60, 3600, 86400
#: A time axis has ticks at these intervals, or at multiples of the last interval.
TIME_TICK_SECONDS = (
    MINUTE_SECONDS,
    5 * MINUTE_SECONDS,
    15 * MINUTE_SECONDS,
    HOUR_SECONDS,
    3 * HOUR_SECONDS,
    6 * HOUR_SECONDS,
    12 * HOUR_SECONDS,
    DAY_SECONDS,
    2 * DAY_SECONDS,
    7 * DAY_SECONDS,
    14 * DAY_SECONDS,
    28 * DAY_SECONDS,
    91 * DAY_SECONDS,
    182 * DAY_SECONDS,
    365 * DAY_SECONDS,
)
#: An axis extends beyond the outermost value by this fraction of the axis.
AXIS_PADDING_SHARE = 0.05
MAX_TICKS = 6


@dataclass(frozen=True)
class AxisRange:
    """The range of an axis. The ends ``low`` and ``high`` of a logarithmic axis are
    decimal logarithms.
    """

    low: float
    high: float
    is_log: bool = False

    def share(self, value: float) -> float:
        number = math.log10(value) if self.is_log else value
        return (number - self.low) / (self.high - self.low)


def compute_axis_range(axis: Axis, numbers: Iterable[float]) -> AxisRange:
    if axis.labels:
        return AxisRange(-0.5, len(axis.labels) - 0.5)
    drawn = [
        number
        for number in numbers
        if math.isfinite(number) and (axis.kind != "log" or number > 0)
    ]
    if axis.kind == "log":
        low, high = (
            math.log10(number)
            for number in (min(drawn, default=1.0), max(drawn, default=10.0))
        )
        free = AXIS_PADDING_SHARE * (high - low) or 0.5
        return AxisRange(low - free, high + free, is_log=True)
    if axis.has_zero:
        drawn.append(0.0)
    low, high = min(drawn, default=0.0), max(drawn, default=0.0)
    if axis.kind == "date":
        free = max(AXIS_PADDING_SHARE * (high - low), 5 * MINUTE_SECONDS)
        return AxisRange(low - free, high + free)
    if low == high == 0:
        return AxisRange(*(axis.bounds or (0.0, 1.0)))
    free = AXIS_PADDING_SHARE * (high - low) or abs(high) * AXIS_PADDING_SHARE
    start = low if axis.has_zero and low == 0 else low - free
    end = high if axis.has_zero and high == 0 else high + free
    if axis.bounds and axis.bounds[0] <= low and high <= axis.bounds[1]:
        start, end = max(start, axis.bounds[0]), min(end, axis.bounds[1])
    return AxisRange(start, end)


def compute_axis_ticks(axis: Axis, over: AxisRange) -> list[tuple[float, str]]:
    if axis.labels:
        return [(float(index), label) for index, label in enumerate(axis.labels)]
    if axis.kind == "date":
        return list(_iterate_time_ticks(over, axis.wording))
    if over.is_log:
        factors = (1, 2, 5) if over.high - over.low < 3 else (1,)
        powers = range(math.floor(over.low), math.ceil(over.high) + 1)
        values = [factor * 10.0**power for power in powers for factor in factors]
        shown = [
            value for value in values if over.low <= math.log10(value) <= over.high
        ]
        mark = axis.wording.decimal_mark
        return [
            (
                value,
                f"{value:,.0f}".replace(",", "\u2009")
                if value >= 1
                else f"{value:g}".replace(".", mark),
            )
            for value in shown
        ]
    # The ticks of an axis have steps of 1, 2 or 5 times a power of ten.
    width = over.high - over.low
    power = 10.0 ** math.floor(math.log10(width / MAX_TICKS))
    step = next(
        power * factor
        for factor in (1, 2, 5, 10)
        if width / (power * factor) <= MAX_TICKS
    )
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(over.low / step - 1e-9), math.floor(over.high / step + 1e-9)
    return [
        (place * step, axis.wording.number(place * step, digits))
        for place in range(first, last + 1)
    ]


def _iterate_time_ticks(
    over: AxisRange, wording: FigureWording
) -> Iterator[tuple[float, str]]:
    width = over.high - over.low
    step = next((step for step in TIME_TICK_SECONDS if width / step <= MAX_TICKS), None)
    if step is None:
        step = math.ceil(width / MAX_TICKS / (365 * DAY_SECONDS)) * 365 * DAY_SECONDS
    year = None
    for place in range(math.ceil(over.low / step), math.floor(over.high / step) + 1):
        at = dt.datetime.fromtimestamp(place * step, dt.UTC)
        words = wording.date(at) if at.year == year else f"{wording.date(at)} {at.year}"
        year = at.year
        yield place * step, words if step >= DAY_SECONDS else f"{words}, {at:%H:%M}"


#: SVG files outside of pages have these light colours.
#: Drawings on pages have the colours of the style sheet.
PAINT_BY_KIND = {
    "paper": {"fill": "#ffffff"},
    "ink": {"fill": "#1e1c19"},
    "soft": {"fill": "#5c574f"},
    "grid": {"stroke": "#e6e0d3", "fill": "none"},
    "axis": {"stroke": "#5c574f", "fill": "none"},
    "interval": {"stroke": "#1e1c19", "fill": "none"},
    "low": {"fill": "#f6f2e8"},
    "high": {"fill": "#6ba3d0"},
}
FONT_FAMILIES = (
    "Citeboard Sans, Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif"
)
FONT_SIZE_PIXELS = 12
DASH_ARRAYS = {
    "solid": None,
    "dash": "7 4",
    "dot": "2 3",
    "dashdot": "7 3 2 3",
    "longdash": "11 4",
    "longdashdot": "11 4 2 4",
    "12px 3px": "12 3",
}
#: A fallback font may make a text wider than Arial by this factor.
FALLBACK_WIDTH_FACTOR = 1.12
#: Widths of Arial's characters in em.
_CHARACTER_WIDTHS = {
    char: width
    for width, chars in (
        (0.22, "ijl'|"),
        (0.28, "ftI.,/:;[]!\\ "),
        (0.34, "r-()*\u2009"),
        (0.5, "cksvxyzJ"),
        (0.61, "FTZ"),
        (0.67, "ABEKPSVXY&"),
        (0.72, "CDHNRUw"),
        (0.78, "GOQ"),
        (0.84, "mM%"),
        (0.95, "W@"),
    )
    for char in chars
}
#: Characters that XML cannot contain, even as character references.
_INVALID_XML_CHARACTERS = re.compile(
    r"[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]"
)


def format_xml_element(name: str, content: str = "", /, **attributes: object) -> str:
    """Return an XML element as text.

    The element omits attributes with the value None. Underscores in attribute names
    become hyphens, so that ``text_anchor`` is written as `text-anchor`.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_format_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def draw_group(kind: str, parts: Iterable[str], **attributes: object) -> str:
    content = "".join(parts)
    return (
        format_xml_element(
            "g", content, class_=kind, **PAINT_BY_KIND[kind], **attributes
        )
        if content
        else ""
    )


def draw_text(
    x: float, y: float, text: str, *, width: float | None = None, **attributes: object
) -> str:
    shown = text if width is None else truncate_to_width(text, width)
    title = "" if shown == text else format_xml_element("title", escape_xml_text(text))
    return format_xml_element(
        "text", title + escape_xml_text(shown), x=x, y=y, **attributes
    )


def escape_xml_text(text: str) -> str:
    return escape(_INVALID_XML_CHARACTERS.sub("\ufffd", text))


def estimate_text_width(text: str) -> float:
    """Estimate the width of a text in pixels without reading a font."""
    widths = (
        _CHARACTER_WIDTHS.get(char)
        or (1.0 if unicodedata.east_asian_width(char) in "WF" else 0.56)
        for char in text
    )
    return FALLBACK_WIDTH_FACTOR * FONT_SIZE_PIXELS * sum(widths)


def truncate_to_width(text: str, width: float) -> str:
    if estimate_text_width(text) <= width:
        return text
    end = len(text)
    while (
        end > 1 and estimate_text_width(text[:end]) + estimate_text_width("…") > width
    ):
        end -= 1
    return f"{text[:end].rstrip()}…"


def draw_interval(at: float, low: float, high: float, *, is_across: bool) -> str:
    middle, before, start, end = map(_format_attribute, (at, at - 3, low, high))
    if is_across:
        return format_xml_element(
            "path", d=f"M{start} {middle}H{end}M{start} {before}v6M{end} {before}v6"
        )
    return format_xml_element(
        "path", d=f"M{middle} {start}V{end}M{before} {start}h6M{before} {end}h6"
    )


def draw_symbol(look: SeriesStyle, x: float, y: float, *, is_open: bool = False) -> str:
    return format_xml_element(
        "path",
        d=f"M{_format_attribute(x)} {_format_attribute(y)}{_SYMBOL_PATHS[look.symbol]}",
        fill="none" if is_open else look.color,
        stroke=look.color,
        stroke_width=1.5 if is_open else 1,
        stroke_linejoin="round",
    )


#: SVG paths of the symbols of points, relative to the centre of the symbol.
_SYMBOL_PATHS = {
    "circle": "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "square": "m-4-4h8v8h-8z",
    "diamond": "m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
    "triangle-up": "m0-5.2l5 8.6h-10z",
    "cross": "m-1.6-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
    "x": "m-2.5-4.6l2.5 2.5 2.5-2.5 2.1 2.1-2.5 2.5 2.5 2.5-2.1 2.1-2.5-2.5-2.5 2.5-2.1-2.1 2.5-2.5-2.5-2.5z",
    "star": "m0-6l1.5 4.2l4.4.1l-3.5 2.7l1.3 4.3l-3.7-2.5l-3.7 2.5l1.3-4.3l-3.5-2.7l4.4-.1z",
}
#: SVG paths of the hatchings that cover the colour of a bar, in tiles of 8 by 8 pixels.
_HATCH_PATHS = {
    "/": "M-1 1l2-2M0 8l8-8M7 9l2-2",
    "\\": "M-1 7l2 2M0 0l8 8M7-1l2 2",
    "x": "M0 8l8-8M0 0l8 8",
    "-": "M0 4h8",
    "|": "M4 0v8",
    ".": "M4 3v2",
}


def draw_bar(
    look: SeriesStyle,
    x: float,
    y: float,
    width: float,
    height: float,
    hatch_id: str | None = None,
) -> str:
    size = {"x": x, "y": y, "width": width, "height": max(height, 0.5)}
    over = (
        format_xml_element("rect", **size, fill=f"url(#{hatch_id})") if hatch_id else ""
    )
    return format_xml_element("rect", **size, fill=look.color) + over


def draw_hatch_pattern(look: SeriesStyle, name: str) -> str:
    line = format_xml_element(
        "path",
        d=_HATCH_PATHS[look.pattern],
        stroke="#ffffff",
        stroke_width=1.6,
        stroke_opacity=0.6,
    )
    return format_xml_element(
        "pattern", line, id=name, width=8, height=8, patternUnits="userSpaceOnUse"
    )


def compose_svg(
    width: float, height: float, title: str, description: str, parts: Iterable[str]
) -> str:
    body = [
        format_xml_element("title", escape_xml_text(title)),
        format_xml_element("desc", escape_xml_text(description)) if description else "",
        format_xml_element(
            "rect", class_="paper", **PAINT_BY_KIND["paper"], width=width, height=height
        ),
        *parts,
    ]
    return format_xml_element(
        "svg",
        "".join(body),
        xmlns="http://www.w3.org/2000/svg",
        class_="drawing",
        role="img",
        viewBox=f"0 0 {_format_attribute(width)} {_format_attribute(height)}",
        width=width,
        height=height,
        font_family=FONT_FAMILIES,
        font_size=FONT_SIZE_PIXELS,
    )


def _format_attribute(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.{2 if abs(value) < 1 else 1}f}".rstrip("0").rstrip(".") or "0"
    return str(value)
