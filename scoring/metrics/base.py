"""A metric looks at each instance once and adds up many times.

``instance_stats`` turns n instances into an (n, k) array; ``aggregate`` turns the sum of any rows into the
value. From that one matrix follow the score, its interval (resampled weights times matrix), every breakdown
(the rows of a class) and the paired tests between two runs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.requirements import Requirement

Floats = NDArray[np.float64]


class UnknownMetric(LookupError):
    """No metric has this name."""


class Metric(ABC):
    """A measure under one rule set.

    ``statistic`` names the matrix: metrics that share it (precision, recall and F1 of one overlap) share
    the work. ``per_unit`` says that the rows of each resampling unit are added up first and turned by
    ``unit_stats`` into a row of their own, as in an average over topics.
    """

    name: str
    statistic: str
    higher_is_better: bool | None = True
    #: 1 where the field publishes shares, 100 where percentages, 0 for counts, which have no end.
    scale: float = 1
    #: Raised whenever the arithmetic changes.
    version: int = 1
    citation: str = ""
    per_unit: bool = False
    #: False where a class's value rests on rows outside of the class too (``of_class``): units of the class
    #: cannot be left out alone then, and such a value has no interval.
    is_decomposable: bool = True
    #: False where row i of one run and row i of another cannot be exchanged, as where each run has clusters
    #: of its own: no two runs are then compared or tested by it, and single instances have no value.
    is_exchangeable: bool = True
    #: Packages besides NumPy whose arithmetic the number rests on; their versions are part of the signature.
    packages: tuple[str, ...] = ()

    def __init__(self, name: str, rules: str) -> None:
        self.name = name
        self.rules = rules

    @property
    def value_range(self) -> tuple[float, float]:
        """Between which values the metric lies, infinite where it has no end; its interval lies there too."""
        return (0.0, self.scale or math.inf)

    def has_enough_units(self, rows: Floats) -> bool:
        """Whether leaving out one unit at a time shows how far the value may be off.

        ``rows`` are those of the units. Mostly three are enough, which is looked after elsewhere.
        """
        return True

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        """Whatever else can change the number; part of the signature."""
        return {}

    @abstractmethod
    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """An (n, k) array: a row for each pair. Gold or answer is None where the other has no partner."""

    def instances(self, stats: Floats, has_gold: NDArray[np.bool_]) -> int:
        """How many instances the value over these rows rests on: those that have gold, unless the metric says
        otherwise.
        """
        return int(has_gold.sum())

    @property
    def needs_model(self) -> bool:
        """Whether a model computes it, so that it is slow and not every worker has what it takes."""
        return False

    def requirements(self) -> Sequence[Requirement]:
        """Models and the like without which it cannot score, for whoever runs a site; mostly nothing."""
        return ()

    def labels_used(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Mapping[tuple[str, str], bool] | None:
        """The entailment labels of a file that decided this run's pairs, by the digests of premise and
        hypothesis; None where no file of labels decides.
        """
        return None

    def notes(self, stats: Floats) -> Mapping[str, int]:
        """What the matrix counts besides the score, such as labels still to be made."""
        return {}

    def details(self, answers: Sequence[Any]) -> Mapping[str, Mapping[str, Any]]:
        """By unit, what a page can show of how a run came to its numbers, as JSON values; mostly nothing."""
        return {}

    def unit_stats(self, sums: Floats) -> Floats:
        """From (units, k) sums to (units, m) rows of which ``aggregate`` takes the sum.

        Only where ``per_unit``.
        """
        return sums

    @abstractmethod
    def aggregate(self, sums: Floats) -> Floats:
        """From (…, k) sums of rows to (…) values, on the metric's scale; NaN where the value is undefined."""

    def of_class(self, sums: Floats, whole: Floats) -> Floats:
        """The value over a class from the sums of its rows; ``whole`` are those of all rows."""
        return self.aggregate(sums)

    def total(self, rows: Floats) -> float:
        """The value over a whole run, where a program publishes something else than that of the rows' sum."""
        return float(self.aggregate(rows.sum(axis=0)))


def unit_rows(metric: Metric, stats: Floats, units: NDArray[np.intp]) -> Floats:
    """The rows that are resampled: (U, m), one for each unit that occurs, in the order of the unit numbers.

    ``units`` gives each instance's unit as a number. Units without a row in ``stats`` are left out.
    """
    sums = unit_sums(stats, units)
    return metric.unit_stats(sums) if metric.per_unit else sums


def unit_sums(stats: Floats, units: NDArray[np.intp]) -> Floats:
    """The (U, k) sums over each unit's rows, added up in the order of the rows."""
    occurring, places = np.unique(units, return_inverse=True)
    if len(occurring) == len(units):
        # Each row is a unit of its own; adding up would only put them in order.
        return stats[np.argsort(places)]
    sums = np.empty((len(occurring), stats.shape[1]))
    for column in range(stats.shape[1]):
        sums[:, column] = np.bincount(places, weights=stats[:, column], minlength=len(occurring))
    return sums


def value_of(metric: Metric, stats: Floats, units: NDArray[np.intp]) -> float:
    """The metric's value over the given instances; NaN where there are none and it is then undefined."""
    rows = unit_rows(metric, stats, units) if metric.per_unit else stats
    return metric.total(rows)


def ratio(numerator: Floats | float, denominator: Floats | float) -> Floats:
    """Numerator over denominator, 0 where the denominator is 0, as the official programs have it."""
    return np.divide(
        numerator,
        denominator,
        out=np.zeros(np.broadcast(numerator, denominator).shape),
        where=np.not_equal(denominator, 0),
    )
