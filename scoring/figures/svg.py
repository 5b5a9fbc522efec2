"""Render figures as SVG, for pages without scripts and for export."""

from collections.abc import Iterator
from functools import singledispatch
from zlib import crc32

from scoring.figures import description, frame

RIGHT_MARGIN_PIXELS = 16.0
ROW_HEIGHT_PIXELS = 26.0
CELL_GAP_PIXELS = 2.0
#: A heat map of many systems may have this width, so that its cells can show values.
MAX_HEAT_MAP_WIDTH = 1080.0


@singledispatch
def as_svg(figure: object) -> str:
    raise TypeError(f"{type(figure).__name__} is no figure")


@as_svg.register
def _draw_heat_map(figure: description.HeatMap) -> str:
    names_width = min(
        frame.MAX_NAME_WIDTH,
        max(map(frame.estimate_text_width, figure.rows), default=0),
    )
    left = names_width + 12
    room = (
        max(
            (
                frame.estimate_text_width(text)
                for texts in figure.texts
                for text in texts
            ),
            default=0,
        )
        + 10
    )
    columns = max(1, len(figure.columns))
    width = min(
        MAX_HEAT_MAP_WIDTH,
        max(frame.FIGURE_WIDTH_PIXELS, left + RIGHT_MARGIN_PIXELS + columns * room),
    )
    cell = (width - left - RIGHT_MARGIN_PIXELS) / columns
    top, right = 26.0, RIGHT_MARGIN_PIXELS
    is_turned = any(
        frame.estimate_text_width(name) > cell - 6 for name in figure.columns
    )
    if is_turned:
        longest = min(
            frame.MAX_TURNED_NAME_WIDTH,
            max(map(frame.estimate_text_width, figure.columns)),
        )
        top, right = (
            18 + frame.TURNED_NAME_SINE * longest,
            max(RIGHT_MARGIN_PIXELS, frame.TURNED_NAME_COSINE * longest - cell / 2),
        )
        cell = (width - left - right) / columns
    below = top + ROW_HEIGHT_PIXELS * len(figure.rows)
    heads = [
        frame.draw_text(
            x,
            top - 8,
            name,
            width=frame.MAX_TURNED_NAME_WIDTH,
            transform=f"rotate(-40 {x:.1f} {top - 8:.1f})",
        )
        if is_turned
        else frame.draw_text(x, top - 8, name)
        for index, name in enumerate(figure.columns)
        for x in (left + cell * (index + 0.5),)
    ]
    names = [
        frame.draw_text(
            left - 8, top + ROW_HEIGHT_PIXELS * index + 17, name, width=names_width
        )
        for index, name in enumerate(figure.rows)
    ]
    # Each heat map cell is a rectangle in the colour of low values.
    # A second rectangle has the colour of high values and the opacity of the value.
    low, high = [], []
    for down, values in enumerate(figure.values):
        for across, value in enumerate(values):
            if value is not None:
                place = (
                    f"M{left + cell * across:.1f} {top + ROW_HEIGHT_PIXELS * down:.0f}"
                )
                horizontal = f"{cell - CELL_GAP_PIXELS:.1f}"
                vertical = f"{ROW_HEIGHT_PIXELS - CELL_GAP_PIXELS:.0f}"
                path = f"{place}h{horizontal}v{vertical}h-{horizontal}z"
                low.append(frame.format_xml_element("path", d=path))
                high.append(
                    frame.format_xml_element(
                        "path", d=path, fill_opacity=float(figure.strength(value))
                    )
                )
    texts = [
        frame.draw_text(
            left + cell * (across + 0.5), top + ROW_HEIGHT_PIXELS * down + 17, text
        )
        for down, line_texts in enumerate(figure.texts)
        for across, text in enumerate(line_texts)
        if text and room <= cell
    ]
    parts = [
        frame.draw_group("ink", heads, text_anchor="start" if is_turned else "middle"),
        frame.draw_group("ink", names, text_anchor="end"),
        frame.draw_group("low", low),
        frame.draw_group("high", high),
        frame.draw_group("ink", texts, text_anchor="middle"),
    ]
    return frame.compose_svg(width, below + 8, figure.title, figure.description, parts)


@as_svg.register
def _draw_bar_chart(figure: description.BarChart) -> str:
    looks = list(zip(figure.drawn, description.SERIES_STYLES, strict=False))
    up = frame.compute_axis_range(figure.axis, figure.numbers)
    groups = max(1, len(figure.labels))
    left = frame.compute_left_margin(figure.axis, up)
    left = max(
        left,
        frame.compute_margin_before_names(
            figure.labels,
            (frame.FIGURE_WIDTH_PIXELS - left - RIGHT_MARGIN_PIXELS) / groups,
        ),
    )
    room = (frame.FIGURE_WIDTH_PIXELS - left - RIGHT_MARGIN_PIXELS) / groups
    # The element ids of several figures on one page must differ.
    name = f"hatch-{crc32(repr(figure).encode()):08x}"
    hatches = {
        look: f"{name}-{number}"
        for number, (_, look) in enumerate(looks)
        if look.pattern
    }

    def draw_swatch(look: description.SeriesStyle, x: float, y: float) -> str:
        return frame.draw_bar(look, x - 7, y - 6, 14, 12, hatches.get(look))

    drawn_legend, top = frame.draw_legend(
        [(series.name, look) for series, look in looks], draw_swatch, left
    )
    bottom = top + 230
    field = frame.PlotArea(
        left,
        top,
        frame.FIGURE_WIDTH_PIXELS - RIGHT_MARGIN_PIXELS,
        bottom,
        frame.AxisRange(-0.5, groups - 0.5),
        up,
    )
    width = 0.76 * room / max(1, len(looks))
    zero = field.y(min(max(0.0, up.low), up.high))
    bars, errors = [], []
    for number, (series, look) in enumerate(looks):
        for index, measured in enumerate(series.values):
            if measured.value is None:
                continue
            x = field.x(index) + width * (number - len(looks) / 2)
            y = field.y(measured.value)
            bars.append(
                frame.draw_bar(
                    look,
                    x,
                    min(y, zero),
                    width * 0.94,
                    abs(zero - y),
                    hatches.get(look),
                )
            )
            if ends := measured.ends:
                low, high = map(field.y, ends)
                errors.append(
                    frame.draw_interval(x + width * 0.47, low, high, is_across=False)
                )
    defs = "".join(
        frame.draw_hatch_pattern(look, name) for look, name in hatches.items()
    )
    parts = [
        frame.format_xml_element("defs", defs) if defs else "",
        drawn_legend,
        frame.draw_vertical_axis(field, figure.axis),
        *bars,
        frame.draw_group(
            "axis",
            [
                frame.format_xml_element(
                    "path",
                    d=f"M{left:.1f} {zero:.1f}H{frame.FIGURE_WIDTH_PIXELS - RIGHT_MARGIN_PIXELS:.1f}",
                )
            ],
        ),
        frame.draw_group("interval", errors),
        frame.draw_names_below(figure.labels, field.x, bottom),
    ]
    height = bottom + frame.compute_margin_below_names(figure.labels, room)
    return frame.compose_svg(
        frame.FIGURE_WIDTH_PIXELS, height, figure.title, figure.description, parts
    )


@as_svg.register
def _draw_dot_plot(figure: description.DotPlot) -> str:
    looks = list(zip(figure.drawn, description.SERIES_STYLES, strict=False))
    names_width = min(
        frame.MAX_NAME_WIDTH,
        max(map(frame.estimate_text_width, figure.labels), default=0),
    )
    left = names_width + 14
    named = [(series.name, look) for series, look in looks] if len(looks) > 1 else []
    drawn_legend, top = frame.draw_legend(named, frame.draw_symbol, left)
    row = max(ROW_HEIGHT_PIXELS, 13.0 * len(looks) + 8)
    bottom = top + row * max(1, len(figure.labels))
    across = frame.compute_axis_range(figure.axis, figure.numbers)
    field = frame.PlotArea(
        left,
        top,
        frame.FIGURE_WIDTH_PIXELS - RIGHT_MARGIN_PIXELS,
        bottom,
        across,
        frame.AxisRange(0, 1),
    )
    marks, errors = [], []
    for number, (series, look) in enumerate(looks):
        for place, measured in enumerate(series.values):
            if measured.value is None:
                continue
            y = top + row * (place + 0.5) + 13.0 * (number - (len(looks) - 1) / 2)
            marks.append(
                frame.draw_symbol(
                    look, field.x(measured.value), y, is_open=measured.is_faint
                )
            )
            if ends := measured.ends:
                errors.append(
                    frame.draw_interval(
                        y, field.x(ends[0]), field.x(ends[1]), is_across=True
                    )
                )
    names = [
        frame.draw_text(
            left - 10, top + row * (index + 0.5) + 4, name, width=names_width
        )
        for index, name in enumerate(figure.labels)
    ]
    has_zero = across.low <= 0 <= across.high
    parts = [
        drawn_legend,
        frame.draw_horizontal_axis(field, figure.axis),
        frame.draw_group(
            "axis",
            [
                frame.format_xml_element(
                    "path", d=f"M{field.x(0):.1f} {top:.1f}V{bottom:.1f}"
                )
            ]
            if has_zero
            else [],
        ),
        frame.draw_group("ink", names, text_anchor="end"),
        frame.draw_group("interval", errors),
        *marks,
    ]
    height = bottom + (46 if figure.axis.title else 26)
    return frame.compose_svg(
        frame.FIGURE_WIDTH_PIXELS, height, figure.title, figure.description, parts
    )


@as_svg.register
def _draw_scatter_plot(figure: description.ScatterPlot) -> str:
    up, across = (
        frame.compute_axis_range(figure.y, figure.drawn_y_numbers),
        frame.compute_axis_range(figure.x, figure.drawn_x_numbers),
    )
    left = frame.compute_left_margin(figure.y, up)
    looks = list(zip(figure.drawn, description.SERIES_STYLES, strict=False))
    lines = {look for series, look in looks if not series.has_points}
    named = [(series.name, look) for series, look in looks if series.name]

    def draw_swatch(look: description.SeriesStyle, x: float, y: float) -> str:
        return (
            frame.draw_line(look, f"M{x - 8:.1f} {y:.1f}h18")
            if look in lines
            else frame.draw_symbol(look, x, y)
        )

    drawn_legend, top = frame.draw_legend(
        named if len(named) > 1 else [], draw_swatch, left
    )
    field = frame.PlotArea(
        left,
        top,
        frame.FIGURE_WIDTH_PIXELS - RIGHT_MARGIN_PIXELS,
        top + 290,
        across,
        up,
    )
    with_names = [
        (point.name, x, y)
        for series, _ in looks
        if series.has_names
        for point, x, y in _iterate_point_positions(series, field)
    ]
    names = [
        frame.draw_text(label.left, label.base, name)
        for (name, _, _), label in zip(
            with_names, frame.place_point_labels(with_names), strict=True
        )
        if label
    ]
    parts = [
        drawn_legend,
        frame.draw_vertical_axis(field, figure.y),
        frame.draw_horizontal_axis(field, figure.x),
        frame.draw_group(
            "axis",
            [
                frame.format_xml_element(
                    "path", d=f"M{left:.1f} {field.bottom:.1f}H{field.right:.1f}"
                )
            ],
        ),
        *(
            _draw_connecting_line(series, field, look)
            for series, look in looks
            if series.has_line or series.is_reference
        ),
        frame.draw_group(
            "interval",
            [error for series, _ in looks for error in _draw_error_bars(series, field)],
        ),
        *(
            frame.draw_symbol(look, x, y)
            for series, look in looks
            if series.has_points
            for _, x, y in _iterate_point_positions(series, field)
        ),
        frame.draw_group("ink", names),
    ]
    height = field.bottom + (46 if figure.x.title else 26)
    return frame.compose_svg(
        frame.FIGURE_WIDTH_PIXELS, height, figure.title, figure.description, parts
    )


def _iterate_point_positions(
    series: description.PointSeries, field: frame.PlotArea
) -> Iterator[tuple[description.ScatterPoint, float, float]]:
    for point in series.points:
        if point.x.value is not None and point.y.value is not None:
            yield point, field.x(point.x.value), field.y(point.y.value)


def _draw_connecting_line(
    series: description.PointSeries,
    field: frame.PlotArea,
    look: description.SeriesStyle,
) -> str:
    places = [(x, y) for _, x, y in _iterate_point_positions(series, field)]
    if not places:
        return ""
    steps = "".join(
        f"H{x:.1f}V{y:.1f}" if series.is_stepped else f"L{x:.1f} {y:.1f}"
        for x, y in places[1:]
    )
    return frame.draw_line(
        look,
        f"M{places[0][0]:.1f} {places[0][1]:.1f}{steps}",
        is_thin=series.is_reference,
    )


def _draw_error_bars(
    series: description.PointSeries, field: frame.PlotArea
) -> Iterator[str]:
    for point, x, y in _iterate_point_positions(series, field):
        if ends := point.x.ends:
            yield frame.draw_interval(
                y, field.x(ends[0]), field.x(ends[1]), is_across=True
            )
        if ends := point.y.ends:
            yield frame.draw_interval(
                x, field.y(ends[0]), field.y(ends[1]), is_across=False
            )
