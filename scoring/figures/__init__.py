"""Data of charts, rendered as SVG on the server and by Plotly in the browser.

This package does not import Django.
"""

from scoring.figures.description import (
    Axis,
    BarChart,
    DotPlot,
    Figure,
    FigureValue,
    FigureWording,
    HeatMap,
    PointSeries,
    ScatterPlot,
    ScatterPoint,
    ValueSeries,
    find_metric_bounds,
)
from scoring.figures.plotly import as_plotly, escape_html_in_texts
from scoring.figures.svg import as_svg

__all__ = [
    "Axis",
    "BarChart",
    "DotPlot",
    "Figure",
    "FigureValue",
    "FigureWording",
    "HeatMap",
    "PointSeries",
    "ScatterPlot",
    "ScatterPoint",
    "ValueSeries",
    "as_plotly",
    "as_svg",
    "escape_html_in_texts",
    "find_metric_bounds",
]
