"""What a figure costs by kind: drawn as SVG, and as Plotly's data, which needs its script besides.

Usage: python bench/figures.py

Processor time of one process, median of many drawings; bytes as they are and as they are sent (gzip).
"""

from __future__ import annotations

import gzip
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from scoring.figures import (  # noqa: E402
    Axis,
    BarChart,
    DotPlot,
    Figure,
    FigureValue,
    HeatMap,
    PointSeries,
    ScatterPlot,
    ScatterPoint,
    ValueSeries,
    as_plotly,
    as_svg,
)

CALLS = 30
SHARE = Axis(title="F1", decimals=4, bounds=(0.0, 1.0), has_zero=True)


def main() -> None:
    print(f"{'':<34}{'SVG':>30}{'Plotly data':>30}")
    for name, figure in figures(random.Random(0)).items():
        svg = measured(lambda figure=figure: as_svg(figure))
        data = measured(lambda figure=figure: json.dumps(as_plotly(figure)))
        print(f"{name:<34}{svg:>30}{data:>30}")
    script = (ROOT / "static" / "vendor" / "plotly-cartesian.min.js").read_bytes()
    print(f"Plotly's script once besides: {sent(script)}")


def figures(chance: random.Random) -> dict[str, Figure]:
    topics = [f"C{n:02}-2039" for n in range(12)]

    def value() -> FigureValue:
        middle = chance.uniform(0.2, 0.7)
        return FigureValue(value=middle, low=middle - 0.1, high=middle + 0.1)

    def series(count: int) -> list[ValueSeries]:
        return [
            ValueSeries(name=f"System {n}", values=[value() for _ in topics])
            for n in range(count)
        ]

    def heat_map(count: int) -> HeatMap:
        values = [[chance.random() for _ in range(count)] for _ in topics]
        texts = [[f"{number:.4f}" for number in line] for line in values]
        names = [f"System {n}" for n in range(count)]
        return HeatMap(
            title="F1 by topic", rows=topics, columns=names, values=values, texts=texts
        )

    def scatter(count: int) -> ScatterPlot:
        points = [
            ScatterPoint(name=f"System {n}", x=value(), y=value()) for n in range(count)
        ]
        group = PointSeries(name="systems", points=points, has_names=count <= 12)
        return ScatterPlot(title="F1 against F1", series=[group], x=SHARE, y=SHARE)

    return {
        "heat map, 12 x 8": heat_map(8),
        "heat map, 12 x 40": heat_map(40),
        "bars with intervals, 12 x 5": BarChart(
            title="F1", labels=topics, series=series(5), axis=SHARE
        ),
        "dots with intervals, 12 x 1": DotPlot(
            title="F1", labels=topics, series=series(1), axis=SHARE
        ),
        "points with names, 12": scatter(12),
        "points, 200": scatter(200),
    }


def measured(draw: Callable[[], str]) -> str:
    text = draw()
    taken = []
    for _ in range(CALLS):
        began = time.process_time()
        draw()
        taken.append(time.process_time() - began)
    return f"{statistics.median(taken) * 1e3:.2f} ms  {sent(text.encode())}"


def sent(content: bytes) -> str:
    return f"{len(content) / 1e3:.1f} kB ({len(gzip.compress(content, 6)) / 1e3:.1f})"


if __name__ == "__main__":
    main()
