"""Compute the values of metrics for classes of instances."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, Metric, WeightedMetric, build_unit_rows
from scoring.stats import jackknife
from scoring.stats.resampling import IntervalBounds
from tasks.types.columns import ClassColumn

#: The name of the class of instances that belong to no other class of a dimension.
NO_CLASS_LABEL = "None"
#: Pages mark classes with fewer instances, whose values are unreliable.
MIN_INSTANCES_OF_CLASS = 10
#: Separator in the labels of classes that combine two dimensions.
CROSSED_CLASS_SEPARATOR = " × "

InstanceLabels = Sequence[tuple[str, ...]]


def find_instances_by_class(labels: InstanceLabels) -> dict[str, NDArray[np.intp]]:
    """Return the indices of the instances in each class.

    Classes are sorted by first occurrence. If the labels are an object of the class
    `Classes`, this object defines the order of the classes. An instance may have
    several classes.
    """
    if isinstance(labels, ClassColumn):
        return {
            NO_CLASS_LABEL if label is None else label: rows
            for label, rows in labels.group_rows_by_label()
        }
    places: dict[str, list[int]] = {}
    for index, row_labels in enumerate(labels):
        for label in row_labels or (NO_CLASS_LABEL,):
            places.setdefault(label, []).append(index)
    if NO_CLASS_LABEL in places:
        places[NO_CLASS_LABEL] = places.pop(NO_CLASS_LABEL)
    return {label: np.array(rows, dtype=np.intp) for label, rows in places.items()}


def cross_class_labels(
    first: InstanceLabels, second: InstanceLabels
) -> list[tuple[str, ...]]:
    """Return the labels of classes that combine two dimensions, such as `Method × 2`."""
    return [
        tuple(
            f"{a}{CROSSED_CLASS_SEPARATOR}{b}"
            for a in one or (NO_CLASS_LABEL,)
            for b in other or (NO_CLASS_LABEL,)
        )
        for one, other in zip(first, second, strict=True)
    ]


def has_enough_instances(n: int) -> bool:
    return n >= MIN_INSTANCES_OF_CLASS


def encode_value_as_json(value: float) -> dict[str, Any]:
    """Return a metric's value as a JSON object. Undefined and infinite values become
    null, and the key `infinite` marks infinite values.
    """
    if math.isinf(value):
        return {"value": None, "infinite": True}
    return {"value": None if math.isnan(value) else value}


def compute_breakdown(
    metrics: Sequence[Metric],
    statistics: Mapping[str, Floats],
    labels: InstanceLabels,
    has_gold: NDArray[np.bool_],
) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the value and the number of instances for each class of instances and each
    metric.
    """
    whole = {
        metric.statistic: statistics[metric.statistic].sum(axis=0) for metric in metrics
    }
    numbers: dict[str, dict[str, dict[str, Any]]] = {}
    for label, rows in find_instances_by_class(labels).items():
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
            numbers[label][metric.name] = {**encode_value_as_json(float(value)), "n": n}
        del of_class  # With millions of rows, two classes exceed the memory.
    return numbers


def compute_intervals_by_class(
    metrics: Sequence[Metric],
    statistics: Mapping[str, Floats],
    units: NDArray[np.intp],
    labels: InstanceLabels,
    clusters: NDArray[np.intp] | None = None,
) -> dict[str, dict[str, IntervalBounds | None]]:
    """Return the interval for each class of instances and each metric, computed over
    units or over clusters of units.

    The value of each metric for a class must depend only on the class's rows.
    """
    by_class = {}
    for label, rows in find_instances_by_class(labels).items():
        measured = []
        for metric in metrics:
            own = metric.of_label(label)
            chosen = rows if own is metric else slice(None)
            if own is not None:
                by = None if clusters is None else clusters[chosen]
                rows_of = build_unit_rows(
                    own, statistics[metric.statistic][chosen], units[chosen], by
                )
                measured.append((own, rows_of))
        names = (metric.name for metric, _ in measured)
        by_class[label] = dict(zip(names, jackknife.intervals(measured), strict=True))
    return by_class
