"""Compute the values of metrics for classes of instances."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, Metric, WeightedMetric, unit_rows
from scoring.stats import jackknife
from scoring.stats.resampling import Bounds
from tasks.types.columns import Classes

#: The name of the class of instances that belong to no other class of a dimension.
NO_CLASS = "None"
#: Pages mark classes with fewer instances, whose values are unreliable.
MINIMUM_SUPPORT = 10
#: Separator in the labels of classes that combine two dimensions.
CROSSED = " × "

Labels = Sequence[tuple[str, ...]]


def classes(labels: Labels) -> dict[str, NDArray[np.intp]]:
    """Return the indices of the instances in each class.

    Classes are sorted by first occurrence. If the labels are an object of the class
    `Classes`, this object defines the order of the classes. An instance may have
    several classes.
    """
    if isinstance(labels, Classes):
        return {
            NO_CLASS if label is None else label: rows
            for label, rows in labels.rows_by_label()
        }
    places: dict[str, list[int]] = {}
    for index, row_labels in enumerate(labels):
        for label in row_labels or (NO_CLASS,):
            places.setdefault(label, []).append(index)
    if NO_CLASS in places:
        places[NO_CLASS] = places.pop(NO_CLASS)
    return {label: np.array(rows, dtype=np.intp) for label, rows in places.items()}


def crossed(first: Labels, second: Labels) -> list[tuple[str, ...]]:
    """Return the labels of classes that combine two dimensions, such as `Method × 2`."""
    return [
        tuple(
            f"{a}{CROSSED}{b}" for a in one or (NO_CLASS,) for b in other or (NO_CLASS,)
        )
        for one, other in zip(first, second, strict=True)
    ]


def has_support(n: int) -> bool:
    return n >= MINIMUM_SUPPORT


def number(value: float) -> dict[str, Any]:
    """Return a metric's value as a JSON object. Undefined and infinite values become
    null, and the key `infinite` marks infinite values.
    """
    if math.isinf(value):
        return {"value": None, "infinite": True}
    return {"value": None if math.isnan(value) else value}


def breakdown(
    metrics: Sequence[Metric],
    statistics: Mapping[str, Floats],
    labels: Labels,
    has_gold: NDArray[np.bool_],
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the value and the number of instances for each class of instances and each
    metric.
    """
    whole = {
        metric.statistic: statistics[metric.statistic].sum(axis=0) for metric in metrics
    }
    numbers: dict[str, dict[str, dict[str, Any]]] = {}
    for label, rows in classes(labels).items():
        of_class = {name: statistics[name][rows] for name in whole}
        sums = {name: stats.sum(axis=0) for name, stats in of_class.items()}
        numbers[label] = {}
        for metric in metrics:
            own, name = metric.of_label(label), metric.statistic
            if own is None or metric.per_unit:
                continue
            if isinstance(own, WeightedMetric):
                value = own.value(of_class[name], np.ones(len(rows)))
            else:
                value = (
                    own.of_class(sums[name], whole[name])
                    if own is metric
                    else own.aggregate(whole[name])
                )
            n = metric.instances(of_class[name], has_gold[rows])
            numbers[label][metric.name] = {**number(float(value)), "n": n}
        del of_class  # With millions of rows, two classes exceed the memory.
    return numbers


def class_intervals(
    metrics: Sequence[Metric],
    statistics: Mapping[str, Floats],
    units: NDArray[np.intp],
    labels: Labels,
    clusters: NDArray[np.intp] | None = None,
) -> dict[str, dict[str, Bounds | None]]:
    """Return the interval for each class of instances and each metric, computed over
    units or over clusters of units.

    The value of each metric for a class must depend only on the class's rows.
    """
    by_class = {}
    for label, rows in classes(labels).items():
        measured = []
        for metric in metrics:
            own = metric.of_label(label)
            chosen = rows if own is metric else slice(None)
            if own is not None:
                by = None if clusters is None else clusters[chosen]
                rows_of = unit_rows(
                    own, statistics[metric.statistic][chosen], units[chosen], by
                )
                measured.append((own, rows_of))
        names = (metric.name for metric, _ in measured)
        by_class[label] = dict(zip(names, jackknife.intervals(measured), strict=True))
    return by_class
