"""Two metrics of a board against each other, one point a system, as the task type asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from scoring.board.names import metric_label
from scoring.board.numbers import shown
from scoring.board.standings import Board, Cell, Column, Row


@dataclass(frozen=True, kw_only=True)
class Point:
    """A system that has both numbers."""

    row: Row
    across: Cell
    up: Cell


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """``left_out`` counts rows of the board that lack one of the numbers."""

    across: Column
    up: Column
    points: Sequence[Point]
    left_out: int

    @property
    def title(self) -> str:
        return _("%(metric)s against %(measure)s") % {
            "metric": metric_label(self.up.metric),
            "measure": metric_label(self.across.metric),
        }

    @property
    def shares_a_scale(self) -> bool:
        return self.across.scale == self.up.scale

    @property
    def heads(self) -> list[str]:
        return [metric_label(self.across.metric), metric_label(self.up.metric)]

    @property
    def lines(self) -> list[tuple[Row, str, str]]:
        return [
            (
                point.row,
                shown(point.across.value, self.across.scale),
                shown(point.up.value, self.up.scale),
            )
            for point in self.points
        ]


def pairings_of(board: Board) -> list[Pairing]:
    """Those whose metrics both stand on the board, in the order of the task type."""
    columns = {column.name: column for column in board.columns}
    return [
        _pairing(board, columns[across], columns[up])
        for across, up in board.phase.task.task_type.scatter_pairs
        if across in columns and up in columns
    ]


def _pairing(board: Board, across: Column, up: Column) -> Pairing:
    points = [
        Point(row=row, across=row.scores[across.name], up=row.scores[up.name])
        for row in board.rows
        if across.name in row.scores and up.name in row.scores
    ]
    known = [point for point in points if point.across.value is not None and point.up.value is not None]
    return Pairing(across=across, up=up, points=known, left_out=len(board.rows) - len(known))
