"""A figure drawn as SVG: it stands in a page without script and is a file by itself."""

from collections.abc import Iterator
from functools import singledispatch
from zlib import crc32

from scoring.figures.description import (
    LOOKS,
    Bars,
    Dots,
    HeatMap,
    Look,
    Point,
    PointSeries,
    Scatter,
)
from scoring.figures.frame import (
    MAX_NAME,
    MAX_TURNED,
    RISE,
    RUN,
    WIDTH,
    Field,
    Span,
    bar,
    before_names,
    below_names,
    drawing,
    group,
    hatch,
    interval,
    labels,
    left_of,
    legend,
    line,
    mark,
    names_below,
    span,
    tag,
    values_across,
    values_up,
    width_of,
    words,
)

RIGHT = 16.0
ROW = 26.0
GAP = 2.0
#: A field of a heat map shows its value where it is as wide as that; so a drawing of many systems is wider.
MAX_WIDTH = 1080.0


@singledispatch
def as_svg(figure: object) -> str:
    raise TypeError(f"{type(figure).__name__} is no figure")


@as_svg.register
def _heat_map(figure: HeatMap) -> str:
    names_width = min(MAX_NAME, max(map(width_of, figure.rows), default=0))
    left = names_width + 12
    room = max((width_of(text) for texts in figure.texts for text in texts), default=0) + 10
    columns = max(1, len(figure.columns))
    width = min(MAX_WIDTH, max(WIDTH, left + RIGHT + columns * room))
    cell = (width - left - RIGHT) / columns
    top, right = 26.0, RIGHT
    is_turned = any(width_of(name) > cell - 6 for name in figure.columns)
    if is_turned:
        longest = min(MAX_TURNED, max(map(width_of, figure.columns)))
        top, right = 18 + RISE * longest, max(RIGHT, RUN * longest - cell / 2)
        cell = (width - left - right) / columns
    below = top + ROW * len(figure.rows)
    heads = [
        words(x, top - 8, name, width=MAX_TURNED, transform=f"rotate(-40 {x:.1f} {top - 8:.1f})")
        if is_turned
        else words(x, top - 8, name)
        for place, name in enumerate(figure.columns)
        for x in (left + cell * (place + 0.5),)
    ]
    names = [
        words(left - 8, top + ROW * place + 17, name, width=names_width)
        for place, name in enumerate(figure.rows)
    ]
    # Each known value has its field in the low colour and, over it, so much of the high one.
    low, high = [], []
    for down, values in enumerate(figure.values):
        for across, value in enumerate(values):
            if value is not None:
                place = f"M{left + cell * across:.1f} {top + ROW * down:.0f}"
                path = f"{place}h{cell - GAP:.1f}v{ROW - GAP:.0f}h-{cell - GAP:.1f}z"
                low.append(tag("path", d=path))
                high.append(tag("path", d=path, fill_opacity=float(figure.strength(value))))
    texts = [
        words(left + cell * (across + 0.5), top + ROW * down + 17, text)
        for down, line_texts in enumerate(figure.texts)
        for across, text in enumerate(line_texts)
        if text and room <= cell
    ]
    parts = [
        group("ink", heads, text_anchor="start" if is_turned else "middle"),
        group("ink", names, text_anchor="end"),
        group("low", low),
        group("high", high),
        group("ink", texts, text_anchor="middle"),
    ]
    return drawing(width, below + 8, figure.title, figure.description, parts)


@as_svg.register
def _bars(figure: Bars) -> str:
    looks = list(zip(figure.drawn, LOOKS, strict=False))
    up = span(figure.axis, figure.numbers)
    groups = max(1, len(figure.labels))
    left = left_of(figure.axis, up)
    left = max(left, before_names(figure.labels, (WIDTH - left - RIGHT) / groups))
    room = (WIDTH - left - RIGHT) / groups
    # The ids of a page are its own: no other figure has this one's.
    name = f"hatch-{crc32(repr(figure).encode()):08x}"
    hatches = {look: f"{name}-{number}" for number, (_, look) in enumerate(looks) if look.pattern}

    def swatch(look: Look, x: float, y: float) -> str:
        return bar(look, x - 7, y - 6, 14, 12, hatches.get(look))

    drawn_legend, top = legend([(series.name, look) for series, look in looks], swatch, left)
    bottom = top + 230
    field = Field(left, top, WIDTH - RIGHT, bottom, Span(-0.5, groups - 0.5), up)
    width = 0.76 * room / max(1, len(looks))
    zero = field.y(min(max(0.0, up.low), up.high))
    bars, errors = [], []
    for number, (series, look) in enumerate(looks):
        for place, measured in enumerate(series.values):
            if measured.value is None:
                continue
            x = field.x(place) + width * (number - len(looks) / 2)
            y = field.y(measured.value)
            bars.append(bar(look, x, min(y, zero), width * 0.94, abs(zero - y), hatches.get(look)))
            if ends := measured.ends:
                errors.append(interval(x + width * 0.47, field.y(ends[0]), field.y(ends[1]), is_across=False))
    defs = "".join(hatch(look, name) for look, name in hatches.items())
    parts = [
        tag("defs", defs) if defs else "",
        drawn_legend,
        values_up(field, figure.axis),
        *bars,
        group("axis", [tag("path", d=f"M{left:.1f} {zero:.1f}H{WIDTH - RIGHT:.1f}")]),
        group("interval", errors),
        names_below(figure.labels, field.x, bottom),
    ]
    height = bottom + below_names(figure.labels, room)
    return drawing(WIDTH, height, figure.title, figure.description, parts)


@as_svg.register
def _dots(figure: Dots) -> str:
    looks = list(zip(figure.drawn, LOOKS, strict=False))
    names_width = min(MAX_NAME, max(map(width_of, figure.labels), default=0))
    left = names_width + 14
    named = [(series.name, look) for series, look in looks] if len(looks) > 1 else []
    drawn_legend, top = legend(named, mark, left)
    row = max(ROW, 13.0 * len(looks) + 8)
    bottom = top + row * max(1, len(figure.labels))
    across = span(figure.axis, figure.numbers)
    field = Field(left, top, WIDTH - RIGHT, bottom, across, Span(0, 1))
    marks, errors = [], []
    for number, (series, look) in enumerate(looks):
        for place, measured in enumerate(series.values):
            if measured.value is None:
                continue
            y = top + row * (place + 0.5) + 13.0 * (number - (len(looks) - 1) / 2)
            marks.append(mark(look, field.x(measured.value), y, is_open=measured.is_faint))
            if ends := measured.ends:
                errors.append(interval(y, field.x(ends[0]), field.x(ends[1]), is_across=True))
    names = [
        words(left - 10, top + row * (place + 0.5) + 4, name, width=names_width)
        for place, name in enumerate(figure.labels)
    ]
    has_zero = across.low <= 0 <= across.high
    parts = [
        drawn_legend,
        values_across(field, figure.axis),
        group("axis", [tag("path", d=f"M{field.x(0):.1f} {top:.1f}V{bottom:.1f}")] if has_zero else []),
        group("ink", names, text_anchor="end"),
        group("interval", errors),
        *marks,
    ]
    height = bottom + (46 if figure.axis.title else 26)
    return drawing(WIDTH, height, figure.title, figure.description, parts)


@as_svg.register
def _scatter(figure: Scatter) -> str:
    up, across = span(figure.y, figure.up), span(figure.x, figure.across)
    left = left_of(figure.y, up)
    looks = list(zip(figure.drawn, LOOKS, strict=False))
    lines = {look for series, look in looks if not series.has_points}
    named = [(series.name, look) for series, look in looks if series.name]

    def swatch(look: Look, x: float, y: float) -> str:
        return line(look, f"M{x - 8:.1f} {y:.1f}h18") if look in lines else mark(look, x, y)

    drawn_legend, top = legend(named if len(named) > 1 else [], swatch, left)
    field = Field(left, top, WIDTH - RIGHT, top + 290, across, up)
    with_names = [
        (point.name, x, y)
        for series, _ in looks
        if series.has_names
        for point, x, y in _places(series, field)
    ]
    names = [
        words(label.left, label.base, name)
        for (name, _, _), label in zip(with_names, labels(with_names), strict=True)
        if label
    ]
    parts = [
        drawn_legend,
        values_up(field, figure.y),
        values_across(field, figure.x),
        group("axis", [tag("path", d=f"M{left:.1f} {field.bottom:.1f}H{field.right:.1f}")]),
        *(_line(series, field, look) for series, look in looks if series.has_line or series.is_reference),
        group("interval", [error for series, _ in looks for error in _errors(series, field)]),
        *(
            mark(look, x, y)
            for series, look in looks
            if series.has_points
            for _, x, y in _places(series, field)
        ),
        group("ink", names),
    ]
    height = field.bottom + (46 if figure.x.title else 26)
    return drawing(WIDTH, height, figure.title, figure.description, parts)


def _places(series: PointSeries, field: Field) -> Iterator[tuple[Point, float, float]]:
    for point in series.points:
        if point.x.value is not None and point.y.value is not None:
            yield point, field.x(point.x.value), field.y(point.y.value)


def _line(series: PointSeries, field: Field, look: Look) -> str:
    places = [(x, y) for _, x, y in _places(series, field)]
    if not places:
        return ""
    steps = "".join(f"H{x:.1f}V{y:.1f}" if series.is_stepped else f"L{x:.1f} {y:.1f}" for x, y in places[1:])
    return line(look, f"M{places[0][0]:.1f} {places[0][1]:.1f}{steps}", is_thin=series.is_reference)


def _errors(series: PointSeries, field: Field) -> Iterator[str]:
    for point, x, y in _places(series, field):
        if ends := point.x.ends:
            yield interval(y, field.x(ends[0]), field.x(ends[1]), is_across=True)
        if ends := point.y.ends:
            yield interval(x, field.y(ends[0]), field.y(ends[1]), is_across=False)
