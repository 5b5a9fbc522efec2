"""How small a difference a test set can show, from runs on it such as baselines."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from scoring.metrics.base import Metric
from scoring.offline.compare import Measurements, paired
from scoring.offline.scoring import RunsRead
from scoring.stats.power import detectable_difference, typical_error
from scoring.stats.significance import smallest_p

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


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
