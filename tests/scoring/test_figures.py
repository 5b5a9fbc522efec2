"""A figure is described once: its SVG stands alone, and Plotly's own package takes the other form."""

import re

import pytest
from defusedxml import ElementTree

from scoring.figures import (
    Axis,
    BarChart,
    DotPlot,
    FigureValue,
    HeatMap,
    PointSeries,
    ScatterPlot,
    ScatterPoint,
    ValueSeries,
    as_plotly,
    as_svg,
    find_metric_bounds,
)
from scoring.figures.description import SERIES_STYLES
from scoring.figures.frame import compute_axis_range, compute_axis_ticks
from tests.lazily import Lazily

go = Lazily("plotly.graph_objects")

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert("1")</script> & \x07 %{x}'
DAY = 86400.0
SHARE = Axis(
    title="Overlap F1", decimals=4, bounds=find_metric_bounds(1.0), has_zero=True
)


def measured(value, reach=0.1):
    return FigureValue(value=value, low=value - reach, high=value + reach)


def by_label(kind, axis=SHARE, series=2, values=(0.3, 0.5)):
    return kind(
        title="F1 by topic",
        description="What it shows.",
        labels=[f"topic {place}" for place, _ in enumerate(values)],
        series=[
            ValueSeries(name=f"system {n}", values=[measured(v) for v in values])
            for n in range(series)
        ],
        axis=axis,
    )


def scatter(points, x, **drawn):
    return ScatterPlot(
        title="One against another",
        series=[
            PointSeries(
                name="systems",
                points=[
                    ScatterPoint(name=f"s{n}", x=FigureValue(value=a), y=measured(b))
                    for n, (a, b) in enumerate(points)
                ],
                **drawn,
            )
        ],
        x=x,
        y=Axis(title="F1", bounds=find_metric_bounds(1.0)),
    )


FIGURES = {
    "heat map": HeatMap(
        title="F1 by topic",
        rows=["C90", "C90"],
        columns=["a", "b", "c"],
        values=[[0.0, 0.5, None], [1.0, 0.2, 2.0]],
        texts=[["0.0", "0.5", ""], ["1.0", "0.2 *", "∞"]],
    ),
    "bars": by_label(BarChart),
    "dots": by_label(DotPlot),
    "points": scatter(
        [(0.2, 0.4), (0.3, 0.5)], Axis(bounds=find_metric_bounds(1.0)), has_names=True
    ),
    "costs": scatter([(1.0, 0.4), (5000.0, 0.5)], Axis(kind="log")),
    "times": scatter(
        [(0.0, 0.4), (3 * DAY, 0.5)], Axis(kind="date"), has_line=True, is_stepped=True
    ),
    "thresholds": scatter(
        [(0.0, 0.4), (1.0, 0.5)], Axis(labels=["0.1", "0.5"]), has_line=True
    ),
    "reference": scatter(
        [(0.0, 0.0), (1.0, 1.0)], Axis(), is_reference=True, has_points=False
    ),
    "nothing known": BarChart(
        title="t",
        labels=["a"],
        series=[ValueSeries(name="s", values=[FigureValue(value=None)])],
        axis=SHARE,
    ),
    "nothing at all": DotPlot(title="t", labels=[], series=[], axis=SHARE),
    "no field": HeatMap(title="t", rows=[], columns=[], values=[], texts=[]),
    "one point": scatter([(0.5, 0.5)], Axis()),
}


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_every_figure_is_drawn_both_ways(figure):
    root = ElementTree.fromstring(as_svg(figure))
    assert (root.tag, root.get("role")) == (f"{SVG}svg", "img")
    assert root.find(f"{SVG}title").text == figure.title
    go.Figure(as_plotly(figure))  # Raises where a name or a value is not Plotly's.


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_a_drawing_has_no_style_of_its_own_and_stays_in_its_frame(figure):
    svg = as_svg(figure)
    assert "style" not in svg
    assert "nan" not in svg
    root = ElementTree.fromstring(svg)
    width, height = float(root.get("width")), float(root.get("height"))
    for element in root.iter():
        for name, most in (("x", width), ("y", height)):
            assert 0 <= float(element.get(name, 0)) <= most


def test_a_name_is_a_text_whatever_it_says():
    figure = BarChart(
        title=HOSTILE,
        description=HOSTILE,
        labels=[HOSTILE],
        series=[ValueSeries(name=HOSTILE, values=[measured(0.5)])],
        axis=Axis(title=HOSTILE, bounds=(0, 1)),
    )
    root = ElementTree.fromstring(as_svg(figure))
    assert not root.findall(f".//{SVG}script")
    assert root.find(f"{SVG}desc").text == HOSTILE.replace("\x07", "\ufffd")


def test_a_long_name_is_cut_and_its_whole_is_the_title_of_what_is_left():
    name = "a system with a name that is a good deal longer than what there is room for"
    figure = DotPlot(title="t", labels=[name], series=[], axis=SHARE)
    [cut] = [
        text
        for text in ElementTree.fromstring(as_svg(figure)).iter(f"{SVG}text")
        if text.find(f"{SVG}title") is not None
    ]
    assert cut.find(f"{SVG}title").text == name
    assert cut.find(f"{SVG}title").tail.endswith("…")


def test_a_heat_map_shows_its_values_and_grows_stronger_with_them():
    svg = as_svg(FIGURES["heat map"])
    assert [text for text in ("0.5", "0.2 *") if f">{text}</text>" not in svg] == []
    strengths = [float(found) for found in re.findall(r'fill-opacity="([\d.]+)"', svg)]
    assert strengths == [0, 0.5, 1, 0.2, 1]


def test_two_drawings_of_a_page_share_no_id():
    one, other = (
        as_svg(by_label(BarChart)),
        as_svg(by_label(BarChart, values=(0.4, 0.6))),
    )
    ids = [re.findall(r' id="([^"]+)"', svg) for svg in (one, other)]
    assert all(ids)
    assert not set(ids[0]) & set(ids[1])


def test_a_point_that_rests_on_little_is_open():
    figure = DotPlot(
        title="t",
        labels=["a", "b"],
        series=[
            ValueSeries(
                name="s", values=[measured(0.1), FigureValue(value=0.2, is_faint=True)]
            )
        ],
        axis=SHARE,
    )
    assert as_svg(figure).count('fill="none" stroke="#0072B2"') == 1
    assert as_plotly(figure)["data"][0]["marker"]["symbol"] == ["circle", "circle-open"]


def test_colour_is_never_the_only_channel():
    for channel in ("color", "pattern", "symbol", "dash"):
        assert len({getattr(look, channel) for look in SERIES_STYLES}) == len(
            SERIES_STYLES
        )


def test_series_past_the_last_colour_are_left_to_the_table():
    figure = by_label(BarChart, series=9)
    assert len(as_plotly(figure)["data"]) == 7
    assert "system 7" not in as_svg(figure)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([0.5, 0.99], (0.0, 1.0)),  # never past what a share can be
        ([0.5, 1.2], (0.0, 1.26)),  # unless a value is
        ([0.2, 0.4], (0.0, 0.42)),
        ([-0.2, 0.2], (-0.22, 0.22)),
        ([0.0], (0.0, 1.0)),
        ([], (0.0, 1.0)),
    ],
)
def test_an_axis_with_zero_keeps_within_what_its_metric_can_be(numbers, expected):
    found = compute_axis_range(SHARE, numbers)
    assert (found.low, found.high) == pytest.approx(expected)


def test_an_axis_without_zero_starts_near_its_values():
    found = compute_axis_range(Axis(bounds=(0.0, 1.0)), [0.80, 0.99])
    assert (found.low, found.high) == pytest.approx((0.7905, 0.9995))


@pytest.mark.parametrize(
    ("axis", "numbers", "expected"),
    [
        (Axis(), [0.0, 1.0], ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (Axis(), [-2.0, 2.0], ["−2", "−1", "0", "1", "2"]),
        (Axis(kind="log"), [1, 2000], ["1", "10", "100", "1\u2009000"]),
        (Axis(kind="log"), [1, 20], ["1", "2", "5", "10", "20"]),
        (Axis(kind="date"), [0.0, 3 * DAY], ["1 Jan 1970", "2 Jan", "3 Jan", "4 Jan"]),
        (
            Axis(kind="date"),
            [0.0, 2 * 3600.0],
            ["1 Jan 1970, 00:00", "1 Jan, 01:00", "1 Jan, 02:00"],
        ),
        (
            Axis(kind="date"),
            [0.0, 1.0],
            ["31 Dec 1969, 23:55", "1 Jan 1970, 00:00", "1 Jan, 00:05"],
        ),
        (Axis(labels=["0.1", "0.5"]), [], ["0.1", "0.5"]),
    ],
)
def test_ticks_are_round_and_few(axis, numbers, expected):
    assert [
        words
        for _, words in compute_axis_ticks(axis, compute_axis_range(axis, numbers))
    ] == expected


def test_both_drawings_have_the_same_axis():
    layout = as_plotly(by_label(BarChart))["layout"]
    assert layout["yaxis"]["range"] == [0.0, pytest.approx(0.63)]
    assert ">0.6</text>" in as_svg(by_label(BarChart))


def test_what_is_said_of_a_point_has_its_interval():
    [trace] = as_plotly(by_label(BarChart, series=1, values=(0.3,)))["data"]
    assert trace["hovertext"] == ["system 0, topic 0: 0.3000 (0.2000 to 0.4000)"]


def test_names_of_points_that_lie_close_stand_on_different_sides_or_in_the_table_alone():
    """In the browser as in the drawing: of six points in one place four have room for a name."""
    one_place = [(0.5, 0.5)] * 6
    figure = scatter(
        one_place, Axis(title="Length", bounds=find_metric_bounds(1.0)), has_names=True
    )
    [trace] = as_plotly(figure)["data"]
    written = [
        side
        for name, side in zip(trace["text"], trace["textposition"], strict=True)
        if name
    ]
    assert sorted(written) == [
        "bottom center",
        "middle left",
        "middle right",
        "top center",
    ]
    drawn = {
        text.text for text in ElementTree.fromstring(as_svg(figure)).iter(f"{SVG}text")
    }
    assert {f"s{n}" for n in range(6)} & drawn == {"s0", "s1", "s2", "s3"}
    apart = scatter(
        [(0.1, 0.1), (0.9, 0.9)],
        Axis(title="Length", bounds=find_metric_bounds(1.0)),
        has_names=True,
    )
    [trace] = as_plotly(apart)["data"]
    assert trace["textposition"] == ["top center"] * 2


def test_a_value_without_an_interval_has_no_line_of_no_length():
    """Of null Plotly makes a length of 0, and draws its end."""
    series = [ValueSeries(name="one", values=[measured(0.3), FigureValue(value=0.5)])]
    figure = BarChart(title="F1 by topic", labels=["a", "b"], series=series, axis=SHARE)
    (bars,) = go.Figure(as_plotly(figure)).data
    for lengths in (bars.error_y.array, bars.error_y.arrayminus):
        assert lengths[0] == pytest.approx(0.1)
        with pytest.raises(ValueError, match="could not convert"):
            float(lengths[1])
