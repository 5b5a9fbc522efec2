"""Where systems differ: one metric by class and system, for charts and for the table behind them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Protocol

from scoring.board.class_order import natural_order
from scoring.board.numbers import shown
from scoring.board.query import BoardQuery
from scoring.board.small_classes import hidden_classes
from scoring.board.standings import Board, Row
from scoring.models import Breakdown, class_numbers

#: More rows than this no chart can hold; the table has as many as are chosen.
MAX_IN_HEAT_MAP = 40
CHOSEN_AT_FIRST = 5
#: In place of a dimension: every one of them on one page.
EVERY = "all"


@dataclass(frozen=True)
class Class:
    """Instances that share a feature. ``support`` is how many of the gold there are."""

    label: str
    support: int


class System(Protocol):
    """What stands in such a table: a row of a board, or of a publication."""

    @property
    def system(self) -> str: ...

    @property
    def evaluation(self) -> int: ...


@dataclass(frozen=True)
class ClassTable:
    """``values`` goes by class and evaluation; a value of None is undefined, and one may be missing.

    ``intervals`` does too, where the ends are known; ``infinite`` are those that are undefined for being so.
    ``has_hidden`` says that classes of few instances are left out.
    """

    dimension: str
    metric: str
    scale: float
    higher_is_better: bool | None
    classes: list[Class]
    systems: Sequence[System]
    values: dict[tuple[str, int], float | None]
    intervals: dict[tuple[str, int], tuple[float, float]] = field(default_factory=dict)
    infinite: frozenset[tuple[str, int]] = frozenset()
    has_hidden: bool = False

    def value(self, label: str, row: System) -> float | None:
        return self.values.get((label, row.evaluation))

    def text(self, label: str, row: System) -> str:
        """The value as a table has it."""
        is_infinite = (label, row.evaluation) in self.infinite
        return shown(self.value(label, row), self.scale, is_infinite=is_infinite)

    def best(self, label: str) -> list[System]:
        """The systems with the best value of the class; none where nothing is better or worse."""
        known = {
            row.evaluation: value for row in self.systems if (value := self.value(label, row)) is not None
        }
        if not known or self.higher_is_better is None:
            return []
        top = (max if self.higher_is_better else min)(known.values())
        return [row for row in self.systems if known.get(row.evaluation) == top]

    def mean(self, label: str) -> float | None:
        """Over the systems, for finding the classes that are hard for all; infinite where one of them is."""
        if any((label, row.evaluation) in self.infinite for row in self.systems):
            return math.inf
        known = [value for row in self.systems if (value := self.value(label, row)) is not None]
        return fmean(known) if known else None

    def over_classes(self, row: System) -> float | None:
        """A system's mean over the classes that are shown, each counting alike.

        Infinite where one of its values is, and None where one is missing.
        """
        if any((shown_class.label, row.evaluation) in self.infinite for shown_class in self.classes):
            return math.inf
        values = [self.value(shown_class.label, row) for shown_class in self.classes]
        known = [value for value in values if value is not None]
        return fmean(known) if known and len(known) == len(values) else None


def in_order_of(table: ClassTable, row: System, *, is_reversed: bool = False) -> ClassTable:
    """The classes in the order of a system's values, best first; those without a value come last."""
    sign = -1.0 if (table.higher_is_better is False) == is_reversed else 1.0

    def place(row_class: Class) -> tuple[bool, float]:
        value = table.value(row_class.label, row)
        return value is None, sign * (value or 0.0)

    return replace(table, classes=sorted(table.classes, key=place))


def best_systems(table: ClassTable) -> list[System]:
    """Those with a value in most classes first, then by their means; as they stand where none is better."""
    sign = {True: -1.0, False: 1.0, None: 0.0}[table.higher_is_better]

    def place(row: System) -> tuple[int, float]:
        known = [value for name in table.classes if (value := table.value(name.label, row)) is not None]
        return -len(known), sign * fmean(known) if known else 0.0

    return sorted(table.systems, key=place)


def system_head(
    table: ClassTable, row: System, order: str, address: Callable[..., str], name: str | None = None
) -> dict[str, Any]:
    """The head of a system's column, which orders the classes; ``name`` is what the address calls it."""
    name = row.system if name is None else name
    is_sorted, is_reversed = order.removeprefix("-") == name, order.startswith("-")
    rises = (table.higher_is_better is False) != is_reversed
    return {
        "system": row.system,
        "href": address(order=f"-{name}" if is_sorted and not is_reversed else name),
        "is_sorted": is_sorted,
        "arrow": "↑" if rises else "↓",
        "aria": "ascending" if rises else "descending",
    }


def dimensions_of(board: Board) -> list[str]:
    """The dimensions that the leading run was broken down by, in the order of the task type."""
    if not board.rows:
        return []
    first = Breakdown.objects.filter(evaluation=board.rows[0].evaluation).order_by()
    known = set(first.values_list("classes__dimension", flat=True))
    return [dimension for dimension in board.phase.task.task_type.dimensions if dimension in known]


def offered_dimensions(board: Board) -> list[str]:
    """Those by which systems can differ: with two classes or more, where any has so many."""
    known = dimensions_of(board)
    first = Breakdown.objects.filter(evaluation__in=[row.evaluation for row in board.rows[:1]]).order_by()
    labels = dict(first.values_list("classes__dimension", "classes__labels"))
    return [dimension for dimension in known if len(labels[dimension]) > 1] or known


def metrics_of(board: Board, dimension: str) -> list[str]:
    """The metrics of which some class has a number, in the board's order."""
    if not board.rows:
        return []
    evaluations = [row.evaluation for row in board.rows]
    found = Breakdown.objects.filter(evaluation__in=evaluations, classes__dimension=dimension)
    known = {metric for row in found.prefetch_related("classes") for metric in row.metrics_with_numbers()}
    return [
        column.metric for column in board.columns if column.metric in known and column.name == column.metric
    ]


def shown_classes(board: Board, query: BoardQuery) -> tuple[str, str]:
    """The dimension and the metric that a reader asks for, else the first of each; empty where none is."""
    dimensions = offered_dimensions(board)
    dimension = query.dimension if query.dimension in dimensions else next(iter(dimensions), "")
    metrics = metrics_of(board, dimension)
    return dimension, query.metric if query.metric in metrics else next(iter(metrics), "")


def class_table(board: Board, rows: Sequence[Row], dimension: str, metric: str) -> ClassTable:
    """One metric over the classes of a dimension as the board's viewer may see them."""
    evaluations = [row.evaluation for row in board.rows]
    hidden = hidden_classes(evaluations, board.phase, board.audience).get(dimension, frozenset())
    supports: dict[str, int] = {}
    values: dict[tuple[str, int], float | None] = {}
    intervals: dict[tuple[str, int], tuple[float, float]] = {}
    infinite = set()
    for label, evaluation, number in class_numbers([row.evaluation for row in rows], dimension, metric):
        if label in hidden:
            continue
        value, is_infinite, low, high, n = number
        supports[label] = max(supports.get(label, 0), n)
        values[label, evaluation] = value
        if low is not None and high is not None:
            intervals[label, evaluation] = low, high
        if is_infinite:
            infinite.add((label, evaluation))
    column = next(candidate for candidate in board.columns if candidate.name == metric)
    return ClassTable(
        dimension=dimension,
        metric=metric,
        scale=column.scale,
        higher_is_better=column.higher_is_better,
        classes=[Class(label, supports[label]) for label in natural_order(list(supports))],
        systems=list(rows),
        values=values,
        intervals=intervals,
        infinite=frozenset(infinite),
        has_hidden=bool(hidden),
    )


def chosen_systems(board: Board, wanted: Sequence[int]) -> list[Row]:
    """The rows named by the numbers of their runs; without a name the first of the board."""
    chosen = [row for row in board.rows if row.submission in wanted]
    return chosen or board.rows[:CHOSEN_AT_FIRST]
