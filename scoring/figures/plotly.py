"""Convert figures to Plotly's format. In the browser, `charts.js` sets the colours of
the page.
"""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import Any

from scoring.figures import description
from scoring.figures.frame import (
    FIGURE_WIDTH_PIXELS,
    PlotArea,
    compute_axis_range,
    compute_axis_ticks,
    place_point_labels,
)

HATCH_PATTERN = {
    "size": 6,
    "solidity": 0.25,
    "fillmode": "overlay",
    "fgcolor": "#ffffff",
    "fgopacity": 0.5,
}
FIGURE_MARGIN = {"l": 10, "r": 20, "t": 10, "b": 10}
LEGEND_LAYOUT = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
#: Plotly's settings for an axis that shows names instead of numbers.
NAME_AXIS_SETTINGS = {"automargin": True, "type": "category"}
#: This text replaces a missing interval, because Plotly would draw null with length 0.
MISSING_INTERVAL_TEXT = "none"

PlotlyObject = dict[str, Any]
#: Plotly parses texts as HTML and turns `<a href>` into a link.
#: Plotly decodes only the HTML entities of `&`, `<` and `>`.
#: Plotly shows other entities literally, such as those of quotation marks.
HTML_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def escape_html_in_texts(part: Any) -> Any:
    """Escape HTML in all texts of a Plotly figure or of a part of the figure."""
    if isinstance(part, str):
        return part.translate(HTML_ENTITIES)
    if isinstance(part, Mapping):
        return {name: escape_html_in_texts(value) for name, value in part.items()}
    return (
        [escape_html_in_texts(value) for value in part]
        if isinstance(part, Sequence)
        else part
    )


@singledispatch
def as_plotly(figure: object) -> PlotlyObject:
    """Return a figure as the argument of `plotly.graph_objects.Figure`, a mapping with
    the keys `data` and `layout`.
    """
    raise TypeError(f"{type(figure).__name__} is no figure")


@as_plotly.register
def _convert_heat_map(figure: description.HeatMap) -> PlotlyObject:
    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": number_repeated_names(figure.columns),
        "y": number_repeated_names(figure.rows),
        "z": [list(line) for line in figure.values],
        "text": [list(line) for line in figure.texts],
        "texttemplate": "%{text}",
        "hoverinfo": "text",
        "hovertext": [
            [
                f"{row}, {column}: {text}"
                for column, text in zip(figure.columns, line, strict=True)
            ]
            for row, line in zip(figure.rows, figure.texts, strict=True)
        ],
        "zmin": figure.low,
        "zmax": figure.high,
        "xgap": 2,
        "ygap": 2,
        "showscale": False,
    }
    if figure.links:
        trace["customdata"] = [list(line) for line in figure.links]
    layout = {
        "height": 90 + 30 * len(figure.rows),
        "margin": FIGURE_MARGIN,
        "xaxis": {**NAME_AXIS_SETTINGS, "side": "top"},
        "yaxis": {**NAME_AXIS_SETTINGS, "autorange": "reversed"},
    }
    return {"data": [trace], "layout": layout}


@as_plotly.register
def _convert_bar_chart(figure: description.BarChart) -> PlotlyObject:
    data = [
        {
            "type": "bar",
            "name": series.name,
            "x": number_repeated_names(figure.labels),
            "y": [measured.value for measured in series.values],
            "marker": {
                "color": look.color,
                "pattern": {"shape": look.pattern, **HATCH_PATTERN},
            },
            **_build_hover_texts(
                figure.hover(series, place) for place in range(len(figure.labels))
            ),
            **_build_error_bars("error_y", series.values),
        }
        for series, look in zip(figure.drawn, description.SERIES_STYLES, strict=False)
    ]
    layout = {
        "barmode": "group",
        "bargap": 0.25,
        "height": 320,
        "margin": FIGURE_MARGIN,
        "xaxis": {**NAME_AXIS_SETTINGS, "showgrid": False},
        "yaxis": _build_axis_layout(figure.axis, figure.numbers),
        "legend": LEGEND_LAYOUT,
        "showlegend": True,
    }
    return {"data": data, "layout": layout}


@as_plotly.register
def _convert_dot_plot(figure: description.DotPlot) -> PlotlyObject:
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "orientation": "h",
            "name": series.name,
            "x": [measured.value for measured in series.values],
            "y": number_repeated_names(figure.labels),
            "marker": _build_marker(look, series.values),
            **_build_hover_texts(
                figure.hover(series, place) for place in range(len(figure.labels))
            ),
            **_build_error_bars("error_x", series.values),
        }
        for series, look in zip(figure.drawn, description.SERIES_STYLES, strict=False)
    ]
    layout = {
        "height": 110 + max(28, 12 * len(data)) * len(figure.labels),
        "scattermode": "group",
        "margin": FIGURE_MARGIN,
        "xaxis": {
            **_build_axis_layout(figure.axis, figure.numbers),
            "zeroline": True,
            "zerolinewidth": 2,
        },
        "yaxis": {**NAME_AXIS_SETTINGS, "autorange": "reversed", "showgrid": False},
        "legend": LEGEND_LAYOUT,
        "showlegend": len(data) > 1,
    }
    return {"data": data, "layout": layout}


@as_plotly.register
def _convert_scatter_plot(figure: description.ScatterPlot) -> PlotlyObject:
    field = PlotArea(
        0,
        0,
        FIGURE_WIDTH_PIXELS,
        330,
        compute_axis_range(figure.x, figure.drawn_x_numbers),
        compute_axis_range(figure.y, figure.drawn_y_numbers),
    )
    named = {
        point: (point.name, field.x(point.x.value), field.y(point.y.value))
        for series in figure.drawn
        if series.has_names
        for point in series.points
        if point.x.value is not None and point.y.value is not None
    }
    written = zip(named, place_point_labels(list(named.values())), strict=True)
    sides = {point: label.side for point, label in written if label}
    data = [
        _build_reference_line(series, figure, look)
        if series.is_reference
        else _build_point_trace(series, figure, look, sides)
        for series, look in zip(figure.drawn, description.SERIES_STYLES, strict=False)
    ]
    layout = {
        "height": 380,
        "margin": {**FIGURE_MARGIN, "t": 20},
        "xaxis": _build_axis_layout(figure.x, figure.drawn_x_numbers),
        "yaxis": _build_axis_layout(figure.y, figure.drawn_y_numbers),
        "legend": LEGEND_LAYOUT,
        "showlegend": sum(bool(series.name) for series in figure.drawn) > 1,
    }
    return {"data": data, "layout": layout}


def _build_point_trace(
    series: description.PointSeries,
    figure: description.ScatterPlot,
    look: description.SeriesStyle,
    sides: Mapping[description.ScatterPoint, str],
) -> PlotlyObject:
    modes = [
        ("lines", series.has_line),
        ("markers", series.has_points),
        ("text", series.has_names),
    ]
    return {
        "type": "scatter",
        "mode": "+".join(name for name, is_drawn in modes if is_drawn),
        "name": series.name,
        **_build_point_coordinates(series, figure),
        "text": [point.name if point in sides else "" for point in series.points],
        "textposition": [sides.get(point, "top center") for point in series.points],
        "cliponaxis": False,
        "marker": _build_marker(look, [point.y for point in series.points]),
        "line": {
            "color": look.color,
            "dash": look.dash,
            "shape": "hv" if series.is_stepped else "linear",
        },
        **_build_hover_texts(figure.hover(point) for point in series.points),
        **_build_error_bars("error_x", [point.x for point in series.points]),
        **_build_error_bars("error_y", [point.y for point in series.points]),
    }


def _build_reference_line(
    series: description.PointSeries,
    figure: description.ScatterPlot,
    look: description.SeriesStyle,
) -> PlotlyObject:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": series.name,
        **_build_point_coordinates(series, figure),
        "line": {"color": look.color, "dash": "dot", "width": 1},
        "hoverinfo": "skip",
        "showlegend": bool(series.name),
    }


def _build_point_coordinates(
    series: description.PointSeries, figure: description.ScatterPlot
) -> PlotlyObject:
    across = [point.x.value for point in series.points]
    return {
        "x": [_format_iso_time(at) for at in across]
        if figure.x.kind == "date"
        else across,
        "y": [point.y.value for point in series.points],
    }


def _build_axis_layout(
    axis: description.Axis, numbers: Iterable[float]
) -> PlotlyObject:
    over = compute_axis_range(axis, numbers)
    part: PlotlyObject = {
        "automargin": True,
        "type": axis.kind,
        "range": [_format_iso_time(over.low), _format_iso_time(over.high)]
        if axis.kind == "date"
        else [over.low, over.high],
        "title": {"text": axis.title},
    }
    if axis.labels or axis.kind != "linear":
        named = compute_axis_ticks(axis, over)
        part["tickvals"] = [
            _format_iso_time(at) if axis.kind == "date" else at for at, _ in named
        ]
        part["ticktext"] = [words for _, words in named]
    return part


def _build_marker(
    look: description.SeriesStyle, values: Sequence[description.FigureValue]
) -> PlotlyObject:
    symbols = [
        f"{look.symbol}-open" if measured.is_faint else look.symbol
        for measured in values
    ]
    return {
        "color": look.color,
        "size": 9,
        "symbol": symbols
        if any(measured.is_faint for measured in values)
        else look.symbol,
    }


def _build_hover_texts(texts: Iterable[str]) -> PlotlyObject:
    return {"hoverinfo": "text", "hovertext": list(texts)}


def _build_error_bars(
    name: str, values: Sequence[description.FigureValue]
) -> Mapping[str, PlotlyObject]:
    if not any(measured.ends for measured in values):
        return {}
    above: list[object] = []
    below: list[object] = []
    for measured in values:
        ends, value = measured.ends, measured.value
        above.append(
            MISSING_INTERVAL_TEXT if ends is None or value is None else ends[1] - value
        )
        below.append(
            MISSING_INTERVAL_TEXT if ends is None or value is None else value - ends[0]
        )
    lengths = {"type": "data", "symmetric": False, "array": above, "arrayminus": below}
    return {name: {**lengths, "thickness": 1.2, "width": 3}}


def _format_iso_time(at: float | None) -> str | None:
    return (
        None
        if at is None
        else dt.datetime.fromtimestamp(at, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    )


def number_repeated_names(names: Sequence[str]) -> list[str]:
    """Append numbers to repeated names, because Plotly would merge equal names on an
    axis.
    """
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out
