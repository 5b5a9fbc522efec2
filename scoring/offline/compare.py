"""Two runs on the same gold, metric by metric: unit by unit where they have a unit both, and with nothing
where one has none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, Metric, unit_rows
from scoring.offline.scoring import RunsRead
from scoring.stats.significance import (
    Difference,
    Paired,
    detectable_difference,
    differences,
    holm,
    smallest_p,
    typical_error,
)


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """What one run has: a matrix for each statistic, the number of each row's unit, and the units' names."""

    matrices: Mapping[str, Floats]
    units: NDArray[np.intp]
    unit_names: Sequence[str]

    def of_rows(self, statistic: str, rows: NDArray[np.intp]) -> Measurements:
        """These rows of one matrix, such as those of a class, and the units that they belong to."""
        occurring, units = np.unique(self.units[rows], return_inverse=True)
        return Measurements(
            matrices={statistic: self.matrices[statistic][rows]},
            units=units,
            unit_names=[self.unit_names[unit] for unit in occurring],
        )


def paired(metric: Metric, a: Measurements, b: Measurements) -> Paired:
    """The two runs' rows, by unit, of a metric whose rows can be exchanged.

    A unit that one of them lacks has a row of zeros there, which counts for nothing.
    """
    assert metric.is_exchangeable, metric.name
    names = np.union1d(np.array(a.unit_names, dtype=str), np.array(b.unit_names, dtype=str))
    rows = [_rows(metric, own, names) for own in (a, b)]
    # A matrix may be as wide as its run needs; columns that a run lacks count for nothing.
    width = max(own.shape[1] for own in rows)
    wide = [np.pad(own, ((0, 0), (0, width - own.shape[1]))) for own in rows]
    return Paired(metric, *wide)


def _rows(metric: Metric, own: Measurements, names: NDArray[np.str_]) -> Floats:
    rows = unit_rows(metric, own.matrices[metric.statistic], own.units)
    occurring = np.array(own.unit_names, dtype=str)[np.unique(own.units)]
    spread = np.zeros((len(names), rows.shape[1]))
    spread[np.searchsorted(names, occurring)] = rows
    return spread


def compare_runs(
    metrics: Sequence[Metric], a: Measurements, b: Measurements, *, trials: int, seed: int
) -> dict[str, dict[str, Any]]:
    """By metric what `compare --json` prints, without those whose rows cannot be exchanged. ``p_holm`` is
    corrected for asking about all these metrics at once.
    """
    metrics = [metric for metric in metrics if metric.is_exchangeable]
    found = differences([paired(metric, a, b) for metric in metrics], trials=trials, seed=seed)
    adjusted = holm([comparison.test.p for comparison in found])
    return {
        metric.name: {**_as_dict(comparison), "p_holm": _number(p), "scale": metric.scale}
        for metric, comparison, p in zip(metrics, found, adjusted, strict=True)
    }


def _as_dict(found: Difference) -> dict[str, Any]:
    return {
        "a": _number(found.a),
        "b": _number(found.b),
        "difference": _number(found.difference),
        "error": _number(found.error),
        "low": found.low,
        "high": found.high,
        "p": _number(found.test.p),
        "test": found.test.kind,
        "trials": found.test.trials,
        "units": found.units,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


#: Test sets of so many times the units are told of as well.
TIMES = (1, 2, 4)
TRIALS = 10_000


def power(read: RunsRead, *, unit: str) -> dict[str, Any]:
    """What `power --json` prints, without metrics whose rows cannot be exchanged. Differences are null where
    so few units can show none.
    """
    units = len({name for run in read.measurements for name in run.unit_names})
    return {
        **read.described,
        "unit": unit,
        "units": units,
        "smallest_p": smallest_p(units, TRIALS),
        "metrics": {
            metric.name: _of_metric(metric, read.measurements, units)
            for metric in read.metrics
            if metric.is_exchangeable
        },
    }


def _of_metric(metric: Metric, runs: Sequence[Measurements], units: int) -> dict[str, Any]:
    error = typical_error([paired(metric, a, b) for a, b in itertools.combinations(runs, 2)])
    low, high = metric.value_range
    found = {
        str(times): detectable_difference(error, units, at_units=times * units, largest=high - low)
        for times in (TIMES if units else ())
    }
    return {
        "error": _number(error),
        "detectable": {times: _number(difference) for times, difference in found.items()},
        "scale": metric.scale or 1,
    }
