"""Arrange the values of one metric by class and system, for charts and tables."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, NamedTuple, Protocol

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from scoring.metrics import (
    PART_BY_LABEL_METRIC_NAME,
    Metric,
    build_label_metrics,
    build_metric_if_known,
    build_metrics as metrics_of_rules,
    list_metric_names_for_dimension,
)
from scoring.metrics.base import ClassGold, FixedValueReason
from scoring.metrics.classification import split_class_counts
from scoring.models import (
    WITHHELD_SMALL_CLASS_SCORE,
    Breakdown,
    Evaluation,
    load_class_scores_of_evaluations,
)
from scoring.results.board.comparisons import (
    UnreadableStatistics,
    read_statistics_of_run,
)
from scoring.results.board.formatting import format_score
from scoring.results.board.query import BoardQuery
from scoring.results.board.standings import Board, BoardRow
from scoring.results.board.visibility import Audience, may_see_instances
from scoring.stats.breakdown import (
    CROSSED_CLASS_SEPARATOR,
    NO_CLASS_LABEL,
    find_instances_by_class,
)
from tasks.gold.secrecy import get_embargoes_of_phase
from tasks.models import Phase, run_cards

#: The heat map has at most MAX_HEAT_MAP_ROWS rows, but the table has all chosen rows.
MAX_HEAT_MAP_ROWS = 40
DEFAULT_COMPARED_SYSTEM_COUNT = 5
#: The query parameter for the dimension has the value ALL_DIMENSIONS to select all dimensions.
ALL_DIMENSIONS = "all"


@dataclass(frozen=True)
class InstanceClass:
    label: str
    support: int | None


class SystemWithEvaluation(Protocol):
    @property
    def system(self) -> str: ...

    @property
    def evaluation(self) -> int: ...


@dataclass(frozen=True)
class ScoresByClassTable:
    """A table with the value of a metric for each class and each evaluation of a run.

    A value of None is undefined, infinite (see ``infinite``) or withheld (see
    ``withheld``). ``hidden`` contains the classes whose values the audience may not
    see.
    """

    dimension: str
    metric: str
    scale: float
    higher_is_better: bool | None
    classes: list[InstanceClass]
    systems: Sequence[SystemWithEvaluation]
    values: dict[tuple[str, int], float | None]
    intervals: dict[tuple[str, int], tuple[float, float]] = field(default_factory=dict)
    infinite: frozenset[tuple[str, int]] = frozenset()
    withheld: Mapping[tuple[str, int], str] = field(default_factory=dict)
    hidden: Sequence[str] = ()
    #: ``fixed`` contains the classes in which the gold determines the values.
    fixed: Mapping[str, "GoldDeterminedClass"] = field(default_factory=dict)
    #: ``is_tested`` is False for published tables and for boards without verdicts.
    is_tested: bool = False

    @property
    def lines(self) -> list[InstanceClass]:
        """Return the classes whose values are shown, followed by the classes whose
        values are hidden.
        """
        return [*self.classes, *(InstanceClass(label, None) for label in self.hidden)]

    def value(self, label: str, row: SystemWithEvaluation) -> float | None:
        return self.values.get((label, row.evaluation))

    def text(self, label: str, row: SystemWithEvaluation) -> str:
        key = label, row.evaluation
        withheld = self.withheld.get(key)
        return format_score(
            self.values.get(key),
            self.scale,
            is_infinite=key in self.infinite,
            withheld=withheld,
        )

    def best(self, label: str) -> list[SystemWithEvaluation]:
        values = {
            row.evaluation: value
            for row in self.systems
            if (value := self.value(label, row)) is not None
        }
        if not values or self.higher_is_better is None:
            return []
        top = (max if self.higher_is_better else min)(values.values())
        best = [row for row in self.systems if values.get(row.evaluation) == top]
        is_tie_at_an_end = len(best) > 1 and top in (0.0, self.scale)
        return [] if self.is_tested and is_tie_at_an_end else best

    def mean(self, label: str) -> float | None:
        if any((label, row.evaluation) in self.infinite for row in self.systems):
            return math.inf
        values = [
            value
            for row in self.systems
            if (value := self.value(label, row)) is not None
        ]
        return fmean(values) if values else None

    def over_classes(self, row: SystemWithEvaluation) -> float | None:
        """Return a system's mean value over the shown classes, which is infinite if a
        value is infinite, and None if a value is missing.
        """
        if any(
            (shown_class.label, row.evaluation) in self.infinite
            for shown_class in self.classes
        ):
            return math.inf
        values = [self.value(shown_class.label, row) for shown_class in self.classes]
        numbers = [value for value in values if value is not None]
        return fmean(numbers) if numbers and len(numbers) == len(values) else None


def sort_classes_by_value_of_system(
    table: ScoresByClassTable, row: SystemWithEvaluation, *, is_reversed: bool = False
) -> ScoresByClassTable:
    sign = -1.0 if (table.higher_is_better is False) == is_reversed else 1.0

    def class_sort_key(row_class: InstanceClass) -> tuple[bool, float]:
        value = table.value(row_class.label, row)
        return value is None, sign * (value or 0.0)

    return replace(table, classes=sorted(table.classes, key=class_sort_key))


def sort_systems_by_mean(table: ScoresByClassTable) -> list[SystemWithEvaluation]:
    """Return the systems of a class table, sorted by the number of classes with a
    value, and then by the mean value. If neither direction of the metric is better, the
    systems are not sorted by mean value.
    """
    sign = {True: -1.0, False: 1.0, None: 0.0}[table.higher_is_better]

    def system_sort_key(row: SystemWithEvaluation) -> tuple[int, float]:
        values = [
            value
            for name in table.classes
            if (value := table.value(name.label, row)) is not None
        ]
        return -len(values), sign * fmean(values) if values else 0.0

    return sorted(table.systems, key=system_sort_key)


def build_system_column_head(
    table: ScoresByClassTable,
    row: SystemWithEvaluation,
    order: str,
    address: Callable[..., str],
    name: str | None = None,
) -> dict[str, Any]:
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


def list_classes_by_dimension(board: Board) -> dict[str, list[str]]:
    """Return the classes in each dimension for the first row of the board."""
    if not board.rows:
        return {}
    first = Breakdown.objects.filter(evaluation=board.rows[0].evaluation)
    labels = {
        row.classes.dimension: row.classes.labels
        for row in first.select_related("classes")
    }
    names = board.phase.task.task_type.dimensions
    return {dimension: labels[dimension] for dimension in names if dimension in labels}


def list_selectable_dimensions(board: Board) -> list[str]:
    """Return the dimensions that have several classes, the default first, or all
    dimensions if none has several classes.
    """
    labels = list_classes_by_dimension(board)
    several = [dimension for dimension in labels if len(labels[dimension]) > 1]
    leading = board.phase.task.task_type.leading_dimension
    return sorted(several or labels, key=lambda dimension: dimension != leading)


def _query_breakdowns(board: Board, dimension: str) -> QuerySet[Breakdown]:
    return Breakdown.objects.filter(
        evaluation__in=[row.evaluation for row in board.rows],
        classes__dimension=dimension,
    ).prefetch_related("classes")


def _query_metrics_with_class_values(board: Board, dimension: str) -> set[str]:
    names: set[str] = set()
    for own in _query_breakdowns(board, dimension):
        # Unpack the metric names only once, because most rows have the same names.
        if not names.issuperset(own.classes.metrics):
            names.update(own.list_metrics_with_values())
    return names


def list_metrics_with_class_values(board: Board, dimension: str) -> list[str]:
    if not board.rows:
        return []
    names = _query_metrics_with_class_values(board, dimension)
    columns = [
        column.metric for column in board.columns if column.name == column.metric
    ]
    kind = board.phase.task.task_type
    options = kind.validate_options(board.phase.task.options)
    shown = [name for name in [*columns, *PART_BY_LABEL_METRIC_NAME] if name in names]
    return list_metric_names_for_dimension(
        kind, dimension, shown, board.rules or "", options
    )


def select_dimension_and_metric(board: Board, query: BoardQuery) -> tuple[str, str]:
    dimensions = list_selectable_dimensions(board)
    dimension = (
        query.dimension if query.dimension in dimensions else next(iter(dimensions), "")
    )
    metrics = list_metrics_with_class_values(board, dimension) if dimension else []
    return dimension, query.metric if query.metric in metrics else next(
        iter(metrics), ""
    )


def build_scores_by_class_table(
    board: Board, rows: Sequence[BoardRow], dimension: str, metric: str
) -> ScoresByClassTable:
    hidden = find_hidden_classes_on_board(board, dimension)
    supports: dict[str, int] = {}
    values: dict[tuple[str, int], float | None] = {}
    intervals: dict[tuple[str, int], tuple[float, float]] = {}
    infinite = set()
    withheld: dict[tuple[str, int], str] = {}
    for label, evaluation, number in load_class_scores_of_evaluations(
        [row.evaluation for row in rows], dimension, metric
    ):
        value, is_infinite, low, high, n, why = (
            WITHHELD_SMALL_CLASS_SCORE if label in hidden else number
        )
        supports[label] = max(supports.get(label, 0), n)
        values[label, evaluation] = value
        if why:
            withheld[label, evaluation] = str(why)
        if low is not None and high is not None:
            intervals[label, evaluation] = low, high
        if is_infinite:
            infinite.add((label, evaluation))
    column = next(
        (candidate for candidate in board.columns if candidate.name == metric), None
    )
    fixed: dict[str, GoldDeterminedClass] = {}
    if rows and not board.keeps_sentences:
        first = Evaluation.objects.select_related("phase__task").get(
            pk=rows[0].evaluation
        )
        fixed = find_gold_determined_classes(first, dimension, metric)
    for key in [key for key in values if key[0] in fixed]:
        values[key] = None
        intervals.pop(key, None)
        infinite.discard(key)
    return ScoresByClassTable(
        dimension=dimension,
        metric=metric,
        scale=column.scale if column else 1.0,
        higher_is_better=column.higher_is_better if column else True,
        classes=[
            InstanceClass(label, supports[label])
            for label in sort_labels_naturally(
                [label for label in supports if label not in hidden]
            )
        ],
        systems=list(rows),
        values=values,
        intervals=intervals,
        infinite=frozenset(infinite),
        withheld=withheld,
        hidden=sort_labels_naturally([label for label in supports if label in hidden]),
        fixed={label: why for label, why in fixed.items() if label not in hidden},
        is_tested=not board.keeps_sentences,
    )


class GoldDeterminedClass(NamedTuple):
    """The reason why the gold determines a metric's value in a class, so that systems
    cannot differ. ``instead`` is another metric of the task that is suitable for the
    class, or an empty text.
    """

    why: FixedValueReason
    instead: str = ""


def find_gold_determined_classes(
    evaluation: Evaluation, dimension: str, metric: str
) -> dict[str, GoldDeterminedClass]:
    """Return the classes of a dimension in which the gold determines the value of the
    metric.
    """
    task = evaluation.phase.task
    options = task.task_type.validate_options(task.options)
    own = build_metric_if_known(task.task_type, metric, evaluation.rules, options)
    if own is None:
        return {}
    metrics = metrics_of_rules(task.task_type, evaluation.rules, options)
    labelled = next(iter(build_label_metrics(metrics)), None)
    others = [other for other in metrics if other.stands_in]
    names = {other.statistic for other in (own, labelled, *others) if other}
    try:
        run = read_statistics_of_run(evaluation, names)
    except UnreadableStatistics:
        return {}
    if own.statistic not in run.matrices:
        return {}
    by_label = run.matrices.get(labelled.statistic) if labelled else None
    is_band = dimension in task.task_type.gold_bands
    fixed = {}
    for label, places in find_instances_by_class(
        run.features.get(dimension, [])
    ).items():
        labels = None
        if by_label is not None:
            support = split_class_counts(by_label[places])[0]
            labels = int(np.count_nonzero(support.sum(axis=0)))

        def why_value_is_fixed(
            measure: Metric,
            places: NDArray[np.intp] = places,
            labels: int | None = labels,
        ) -> FixedValueReason | None:
            rows = run.matrices[measure.statistic][places]
            return measure.fixed_by(
                ClassGold(rows=rows, labels=labels, is_band=is_band)
            )

        why = why_value_is_fixed(own)
        if why is not None:
            valid = (
                other.name
                for other in others
                if why in other.stands_in
                and other.statistic in run.matrices
                and why_value_is_fixed(other) is None
            )
            fixed[label] = GoldDeterminedClass(why, next(valid, ""))
    return fixed


def select_board_rows(board: Board, wanted: Sequence[int]) -> list[BoardRow]:
    return [row for row in board.rows if row.submission in wanted] or board.rows[
        :DEFAULT_COMPARED_SYSTEM_COUNT
    ]


#: ``HiddenClassesByDimension`` maps each dimension to the labels of the hidden classes.
HiddenClassesByDimension = Mapping[str, frozenset[str]]


def find_hidden_classes(
    evaluations: Collection[int], phase: Phase, audience: Audience
) -> HiddenClassesByDimension:
    rows = Breakdown.objects.filter(evaluation__in=evaluations).prefetch_related(
        "classes"
    )
    return find_hidden_classes_of_breakdowns(rows, phase, audience)


def find_hidden_classes_of_breakdowns(
    breakdowns: Iterable[Breakdown], phase: Phase, audience: Audience
) -> HiddenClassesByDimension:
    """Return the classes in each dimension whose values the audience may not see. The
    size of a class is its smallest number of instances over all metrics.
    """
    if may_see_instances(phase, audience):
        return {}
    return _find_too_small_classes(
        ((row.classes.dimension, row.sizes()) for row in breakdowns), phase
    )


def find_hidden_classes_on_board(board: Board, dimension: str) -> frozenset[str]:
    """Return the classes of a dimension whose values no row of the board may show."""
    hidden = find_hidden_classes_of_breakdowns(
        _query_breakdowns(board, dimension), board.phase, board.audience
    )
    return hidden.get(dimension, frozenset())


def _find_too_small_classes(
    sized: Iterable[tuple[str, dict[str, int]]], phase: Phase
) -> HiddenClassesByDimension:
    by_dimension: dict[str, dict[str, int]] = {}
    for dimension, sizes in sized:
        least = by_dimension.setdefault(dimension, {})
        for label, size in sizes.items():
            least[label] = min(size, least.get(label, size))
    smallest = get_embargoes_of_phase(phase).min_class_size
    return {
        dimension: select_classes_to_hide(least, smallest)
        for dimension, least in by_dimension.items()
    }


def select_classes_to_hide(sizes: Mapping[str, int], min_size: int) -> frozenset[str]:
    """Return the classes with fewer instances than ``min_size``, and further classes,
    because a single hidden size could be computed from the total of a group.
    """
    hidden = {label for label, size in sizes.items() if size < min_size}
    # The totals of all classes and of each row and column of crossed classes are known.
    crossed: dict[tuple[int, str], set[str]] = {}
    for label in sizes:
        parts = label.split(CROSSED_CLASS_SEPARATOR)
        for place, part in enumerate(parts if len(parts) > 1 else ()):
            crossed.setdefault((place, part), set()).add(label)
    groups = [set(sizes), *crossed.values()]
    is_settled = False
    while not is_settled:
        is_settled = True
        for group in groups:
            while reveals_sizes_of_hidden_classes(group & hidden, sizes, min_size) and (
                shown := group - hidden
            ):
                hidden.add(min(shown, key=lambda label: (sizes[label], label)))
                is_settled = False
    return frozenset(hidden)


def reveals_sizes_of_hidden_classes(
    hidden: Collection[str], sizes: Mapping[str, int], min_size: int
) -> bool:
    return bool(hidden) and (
        len(hidden) < 2 or sum(sizes[label] for label in hidden) < min_size
    )


#: The expression matches labels such as `2014`, `4 or more` or `<5`, not `C90-2039`.
_NUMBERED_LABEL_PATTERN = re.compile(
    r"(?:[^\W\d_]+ )*[<>≤≥]?\s?\d+(?:\.\d+)?(?![\d.]*\w*-\w*[A-Za-z])"
)
_NUMBER_PATTERN = re.compile(r"\d+(?:\.\d+)?")
_UPPER_BOUND_PATTERN = re.compile(
    r"(?:fewer|less|under|below|up to)\b|[<≤]", re.IGNORECASE
)


def sort_labels_naturally(labels: Sequence[str]) -> list[str]:
    named = [label for label in labels if label != NO_CLASS_LABEL]
    rest = [label for label in labels if label == NO_CLASS_LABEL]
    if all(map(_NUMBERED_LABEL_PATTERN.match, named)):
        named.sort(
            key=lambda label: (
                [float(number) for number in _NUMBER_PATTERN.findall(label)],
                not _UPPER_BOUND_PATTERN.match(label),
            )
        )
    return named + rest


#: The columns of the transfer table are the classes of the dimension DATA_SET_DIMENSION.
DATA_SET_DIMENSION = "dataset"


def build_transfer_table(board: Board, metric: str) -> dict[str, Any] | None:
    """Return a table of scores by the data set on which a system was trained (rows) and
    the data set on which the system was tested (columns). The result is None without
    several data sets, or if no run card names training data.
    """
    rows = [
        row for row in board.rows if run_cards.list_training_datasets_of_card(row.card)
    ]
    metrics = (
        list_metrics_with_class_values(board, DATA_SET_DIMENSION)
        if rows and DATA_SET_DIMENSION in list_classes_by_dimension(board)
        else []
    )
    if not metrics:
        return None
    chosen = metric if metric in metrics else metrics[0]
    table = build_scores_by_class_table(board, rows, DATA_SET_DIMENSION, chosen)
    # ``best`` maps a data set to the best evaluations of systems trained on other data.
    best: dict[str, set[int]] = {}
    for name in table.lines:
        values = {
            row.evaluation: value
            for row in rows
            if not _was_trained_on_data_set(row, name.label)
            and (value := table.value(name.label, row)) is not None
        }
        top = (max if table.higher_is_better else min)(values.values(), default=None)
        is_ordered = table.higher_is_better is not None
        best[name.label] = {
            key for key, value in values.items() if is_ordered and value == top
        }
    lines = []
    for row in sorted(
        rows, key=lambda row: run_cards.list_training_datasets_of_card(row.card)
    ):
        cells = [
            {
                "text": table.text(label, row),
                "is_trained_on": _was_trained_on_data_set(row, label),
                "is_best": row.evaluation in best[label],
            }
            for label in best
        ]
        lines.append(
            {
                "trained": run_cards.list_training_datasets_of_card(row.card),
                "row": row,
                "cells": cells,
            }
        )
    return {"metric": chosen, "metrics": metrics, "tested": list(best), "lines": lines}


def _was_trained_on_data_set(row: BoardRow, label: str) -> bool:
    return label.lower() in run_cards.list_training_datasets_of_card(row.card)
