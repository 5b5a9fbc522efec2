"""On which instances two runs differ most, by the names that participants know, without the gold."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from citeboard.core import storage
from scoring.board.comparisons import reading_failed, statistics_of
from scoring.comparison.sides import Two
from scoring.metrics import Metric
from scoring.metrics.base import Floats
from scoring.models import Evaluation
from scoring.offline.matrices import Statistics, load_names
from scoring.stats.breakdown import NO_CLASS
from scoring.stats.significance import ROUNDING


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One instance with what both runs have there, and its classes in the dimension that was asked for."""

    name: str
    classes: tuple[str, ...]
    a: float | None
    b: float | None
    difference: float


@dataclass(frozen=True, kw_only=True)
class Differing:
    """The instances on which two runs differ, the largest difference first, and their classes."""

    dimension: str
    labels: list[str]
    count: int
    instances: int
    _order: NDArray[np.intp]
    _sides: tuple[_Side, _Side]
    _names: list[str]

    def some(self, first: int, last: int) -> list[Instance]:
        return [self._instance(int(place)) for place in self._order[first:last]]

    def _instance(self, place: int) -> Instance:
        a, b = (float(side.values[place]) for side in self._sides)
        return Instance(
            name=self._names[place], classes=_classes_at(self._sides, place), a=a, b=b, difference=a - b
        )


@dataclass(frozen=True, kw_only=True)
class _Side:
    """One run: a value for each instance, and the rows of each with their classes."""

    values: Floats
    places: NDArray[np.intp]
    labels: Sequence[tuple[str, ...]]


def differing(pair: Two, metric: Metric, dimension: str, label: str = "") -> Differing | None:
    """None where the task type names no instances. With a label, only instances of that class count.

    An instance that a run's matrix has no row for counts there as a row of zeros, as in the paired tests.
    Raises Unreadable.
    """
    names = [names_of(side) for side in (pair.a, pair.b)]
    if names[0] is None or names[1] is None:
        return None
    numbers: dict[str, int] = {}
    places = [
        np.fromiter((numbers.setdefault(name, len(numbers)) for name in own), dtype=np.intp, count=len(own))
        for own in names
        if own is not None
    ]
    runs = [statistics_of(side, [metric.statistic]) for side in (pair.a, pair.b)]
    a, b = (_side(run, own, metric, dimension, len(numbers)) for run, own in zip(runs, places, strict=True))
    with np.errstate(invalid="ignore"):
        # Of two infinite values the difference is undefined, and no difference that could be shown.
        differences = np.abs(a.values - b.values)
    is_wanted = _of_class((a, b), label, len(numbers)) if label else np.ones(len(numbers), dtype=bool)
    differs = is_wanted & (differences > ROUNDING * max(1.0, metric.scale))
    chosen = np.flatnonzero(differs)
    return Differing(
        dimension=dimension,
        labels=_labels((a, b)),
        count=len(chosen),
        instances=int(is_wanted.sum()),
        _order=chosen[np.argsort(-differences[chosen], kind="stable")],
        _sides=(a, b),
        _names=list(numbers),
    )


def values_by_instance(evaluation: Evaluation, metrics: Sequence[Metric]) -> dict[str, dict[str, float]]:
    """By metric the value on each instance, by its name; nothing where instances have no names.

    Raises Unreadable.
    """
    names = names_of(evaluation)
    if names is None:
        return {}
    numbers: dict[str, int] = {}
    places = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.intp)
    run = statistics_of(evaluation, {metric.statistic for metric in metrics})
    return {
        metric.name: dict(
            zip(numbers, _side(run, places, metric, "", len(numbers)).values.tolist(), strict=True)
        )
        for metric in metrics
        if metric.statistic in run.matrices
    }


def classes_by_instance(evaluation: Evaluation, dimension: str) -> dict[str, tuple[str, ...]]:
    """The classes of each instance, by its name; nothing where instances have no names. Raises Unreadable."""
    names = names_of(evaluation)
    if names is None:
        return {}
    labels = statistics_of(evaluation, ()).features.get(dimension, [()] * len(names))
    return dict(zip(names, labels, strict=True))


def names_of(evaluation: Evaluation) -> list[str] | None:
    try:
        with storage.statistics.open(evaluation.statistics) as kept:
            return load_names(kept)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as reason:
        raise reading_failed(evaluation, reason) from reason


def _side(run: Statistics, places: NDArray[np.intp], metric: Metric, dimension: str, instances: int) -> _Side:
    stats = run.matrices[metric.statistic]
    sums = np.zeros((instances, stats.shape[1]))
    for column in range(stats.shape[1]):
        sums[:, column] = np.bincount(places, weights=stats[:, column], minlength=instances)
    labels = run.features.get(dimension, [()] * len(places))
    return _Side(values=metric.aggregate(sums), places=places, labels=labels)


def _of_class(sides: Sequence[_Side], label: str, instances: int) -> NDArray[np.bool_]:
    found = np.zeros(instances, dtype=bool)
    for side in sides:
        rows = [row for row, own in enumerate(side.labels) if label in (own or (NO_CLASS,))]
        found[side.places[rows]] = True
    return found


def _labels(sides: Sequence[_Side]) -> list[str]:
    """In the order in which they come; instances without a class last."""
    found = dict.fromkeys(label for side in sides for own in side.labels for label in own or (NO_CLASS,))
    return sorted(found, key=lambda label: label == NO_CLASS)


def _classes_at(sides: Sequence[_Side], place: int) -> tuple[str, ...]:
    rows = ((side, row) for side in sides for row in np.flatnonzero(side.places == place).tolist())
    return tuple(dict.fromkeys(label for side, row in rows for label in side.labels[row]))
