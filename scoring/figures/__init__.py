"""Data of charts, rendered as SVG on the server and by Plotly in the browser.

This package does not import Django.
"""

from scoring.figures.description import (
    Axis,
    Bars,
    Dots,
    Figure,
    HeatMap,
    Measured,
    Point,
    PointSeries,
    Scatter,
    Series,
    Wording,
    bounds_of,
)
from scoring.figures.plotly import as_plotly, escaped
from scoring.figures.svg import as_svg

__all__ = [
    "Axis",
    "Bars",
    "Dots",
    "Figure",
    "HeatMap",
    "Measured",
    "Point",
    "PointSeries",
    "Scatter",
    "Series",
    "Wording",
    "as_plotly",
    "as_svg",
    "bounds_of",
    "escaped",
]
