"""One system at several values of a threshold or a number: lines over the values, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from citeboard.core.words import in_decimals
from scoring.board.charts import value_axis
from scoring.board.names import metric_label
from scoring.board.numbers import shown
from scoring.board.standings import Board, Column, Row
from scoring.figures import Axis, Measured, PointSeries, Scatter
from scoring.figures import Point as Place
from scoring.tools.baselines import Baseline, baselines

#: Columns drawn as lines; the table has all of them.
DRAWN = 3


@dataclass(frozen=True, kw_only=True)
class Point:
    """A value and the row of the board that was computed with it."""

    at: float
    row: Row


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The values of one system, the lowest first; ``missing`` are those that are not computed."""

    name: str
    source: str
    swept: str
    points: list[Point]
    missing: list[float]
    columns: list[Column]

    @property
    def lines(self) -> list[tuple[float, Row, list[str]]]:
        """A line of the table: the value, the row, and its numbers as they are shown."""
        return [
            (point.at, point.row, [_shown(point.row, column) for column in self.columns])
            for point in self.points
        ]

    @property
    def heads(self) -> list[str]:
        return [metric_label(column.metric) for column in self.columns]


def sweeps_of(board: Board, built_in: dict[int, str]) -> list[Sweep]:
    """Every sweep of the task's type. ``built_in`` names the baseline of each submission that is one."""
    task_type = board.phase.task.type
    own = [
        baseline for baseline in baselines().values() if baseline.sweep and task_type in baseline.task_types
    ]
    rows = {name: row for row in board.rows if (name := built_in.get(row.submission)) and row.scores}
    return [_sweep(name, own, rows, board) for name in dict.fromkeys(baseline.sweep for baseline in own)]


def _sweep(name: str, known: Sequence[Baseline], rows: dict[str, Row], board: Board) -> Sweep:
    steps = sorted(
        ((baseline.at or 0.0, baseline) for baseline in known if baseline.sweep == name),
        key=lambda step: step[0],
    )
    return Sweep(
        name=name,
        source=steps[0][1].source,
        swept=steps[0][1].swept,
        points=[Point(at=at, row=rows[baseline.name]) for at, baseline in steps if baseline.name in rows],
        missing=[at for at, baseline in steps if baseline.name not in rows],
        columns=board.columns,
    )


def sweep_chart(sweep: Sweep) -> Scatter:
    """A line a metric, with its intervals; the values stand apart evenly, since they grow by factors."""
    drawn = _alike(sweep.columns)
    return Scatter(
        title=_("%(baseline)s by %(threshold)s") % {"baseline": sweep.name, "threshold": sweep.swept},
        description=in_words(sweep),
        series=[
            PointSeries(
                name=metric_label(column.metric),
                points=[_place(sweep, number, column) for number in range(len(sweep.points))],
                has_line=True,
            )
            for column in drawn
        ],
        x=Axis(
            title=sweep.swept.capitalize(), labels=[in_decimals(f"{point.at:g}") for point in sweep.points]
        ),
        y=value_axis(metric_label(drawn[0].metric) if len(drawn) == 1 else "", drawn[0].scale, has_zero=True),
    )


def _place(sweep: Sweep, number: int, column: Column) -> Place:
    point = sweep.points[number]
    cell = point.row.scores.get(column.name)
    return Place(
        name=metric_label(column.metric),
        x=Measured(value=float(number), text=in_decimals(f"{sweep.swept} {point.at:g}")),
        y=Measured(value=cell.value, low=cell.low, high=cell.high) if cell else Measured(value=None),
    )


def in_words(sweep: Sweep) -> str:
    """At which value the ranking metric is best."""
    column = sweep.columns[0]
    known = [
        (cell.value, point.at)
        for point in sweep.points
        if (cell := point.row.scores.get(column.name)) and cell.value is not None
    ]
    if not known:
        return ""
    value, at = (min if column.higher_is_better is False else max)(known, key=lambda pair: pair[0])
    return _("%(metric)s is best at %(at)s (%(threshold)s): %(value)s.") % {
        "metric": metric_label(column.metric),
        "at": in_decimals(f"{at:g}"),
        "threshold": sweep.swept,
        "value": shown(value, column.scale),
    }


def _alike(columns: Sequence[Column]) -> list[Column]:
    return [column for column in columns if column.scale == columns[0].scale][:DRAWN]


def _shown(row: Row, column: Column) -> str:
    cell = row.scores.get(column.name)
    return shown(cell.value, column.scale, is_infinite=cell.is_infinite) if cell else ""
