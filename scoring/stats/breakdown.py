"""The same metric over the instances that share a feature."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, Metric, WeightedMetric, unit_rows
from scoring.stats import jackknife
from scoring.stats.resampling import Bounds
from tasks.types.columns import Classes

#: The class of instances that a dimension has no class for.
NO_CLASS = "None"
#: A class of fewer instances is marked: its number says little of a system.
MINIMUM_SUPPORT = 10
#: Between the labels of classes that are crossed.
CROSSED = " × "

Labels = Sequence[tuple[str, ...]]


def classes(labels: Labels) -> dict[str, NDArray[np.intp]]:
    """The instances of each class, classes in the order of their first instance; an instance may be in
    several.

    Columns of classes have an order of their own.
    """
    if isinstance(labels, Classes):
        return {NO_CLASS if label is None else label: rows for label, rows in labels.rows_by_label()}
    places: dict[str, list[int]] = {}
    for place, row_labels in enumerate(labels):
        for label in row_labels or (NO_CLASS,):
            places.setdefault(label, []).append(place)
    if NO_CLASS in places:
        places[NO_CLASS] = places.pop(NO_CLASS)
    return {label: np.array(rows, dtype=np.intp) for label, rows in places.items()}


def crossed(first: Labels, second: Labels) -> list[tuple[str, ...]]:
    """The classes of two dimensions crossed: `Method × 2`."""
    return [
        tuple(f"{a}{CROSSED}{b}" for a in one or (NO_CLASS,) for b in other or (NO_CLASS,))
        for one, other in zip(first, second, strict=True)
    ]


def has_support(n: int) -> bool:
    return n >= MINIMUM_SUPPORT


def number(value: float) -> dict[str, Any]:
    """A value as JSON can carry it: undefined is null, infinite is null and says so."""
    if math.isinf(value):
        return {"value": None, "infinite": True}
    return {"value": None if math.isnan(value) else value}


def breakdown(
    metrics: Sequence[Metric],
    statistics: Mapping[str, Floats],
    labels: Labels,
    has_gold: NDArray[np.bool_],
) -> dict[str, dict[str, dict[str, Any]]]:
    """By class and metric: value and n. Averages over units are left out: in a class they say nothing new."""
    pooled = [metric for metric in metrics if not metric.per_unit]
    whole = {metric.statistic: statistics[metric.statistic].sum(axis=0) for metric in pooled}
    numbers: dict[str, dict[str, dict[str, Any]]] = {}
    for label, rows in classes(labels).items():
        of_class = {name: statistics[name][rows] for name in whole}
        sums = {name: stats.sum(axis=0) for name, stats in of_class.items()}
        numbers[label] = {
            metric.name: {
                **number(
                    float(metric.value(of_class[metric.statistic], np.ones(len(rows))))
                    if isinstance(metric, WeightedMetric)
                    else float(metric.of_class(sums[metric.statistic], whole[metric.statistic]))
                ),
                "n": metric.instances(of_class[metric.statistic], has_gold[rows]),
            }
            for metric in pooled
        }
    return numbers


def class_intervals(
    metrics: Sequence[Metric],
    statistics: Mapping[str, Floats],
    units: NDArray[np.intp],
    labels: Labels,
    clusters: NDArray[np.intp] | None = None,
) -> dict[str, dict[str, Bounds | None]]:
    """By class and metric the interval of the class's value, over its units or clusters of them.

    The metrics are decomposable.
    """
    by_class = {}
    for label, rows in classes(labels).items():
        measured = [
            (
                metric,
                unit_rows(
                    metric,
                    statistics[metric.statistic][rows],
                    units[rows],
                    None if clusters is None else clusters[rows],
                ),
            )
            for metric in metrics
        ]
        names = (metric.name for metric in metrics)
        by_class[label] = dict(zip(names, jackknife.intervals(measured), strict=True))
    return by_class
