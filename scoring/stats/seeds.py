"""Compute intervals and differences of systems' means over runs with different seeds.

A system's mean has two sources of variance, which are the seed of a run and the sample
of units. The mean over a system's k runs on the same units has two standard errors. The
standard error from units is estimated by a jackknife that removes a unit from all runs,
because a unit is equally difficult for all runs. The standard error from seeds is the
standard deviation of the values of the k runs divided by √k. The variance of the mean
is the sum of both squared errors. Both squared errors contain the interaction of runs
and units, so the sum is conservative (Cameron, Gelbach and Miller 2011, Robust
Inference With Multiway Clustering, subtract the interaction). The degrees of freedom
are those of Satterthwaite 1946 (An Approximate Distribution of Estimates of Variance
Components), with n - 1 for n units and k - 1 for the seeds of k runs.

Student's t test compares the means of two systems. In this comparison, the jackknife
removes each unit from all runs of both systems. The variance from seeds of each system
is added to the jackknife's variance. A system with a single run has no variance from
seeds, and the comparison then concerns only this run. The p-value is at least the
smallest p-value of an exact randomisation test over the differing units. An interval of
a system's mean needs at least three runs. ``scripts/seed_coverage.py`` measures the
coverage of these intervals and tests.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scoring.metrics.base import Floats, Metric, WeightedMetric
from scoring.stats import jackknife
from scoring.stats.jackknife import NoIntervalReason
from scoring.stats.resampling import (
    CONFIDENCE_LEVEL,
    IntervalBounds,
    round_to_summable_grid,
)
from scoring.stats.significance import (
    choose_number_of_exchanges,
    compute_smallest_p_value,
)

#: Minimum number of runs for the interval of a mean.
MIN_RUNS_PER_SYSTEM = 3


@dataclass(frozen=True, kw_only=True)
class _SystemMeans:
    """The statistics of one system, which are the value of each run, the jackknife
    values of the system's mean, and the effective (Kish) number of units that influence
    a run.
    """

    values: Floats
    left_out: Floats
    number: float

    @property
    def mean(self) -> float:
        return float(self.values.mean())


@dataclass(frozen=True, kw_only=True)
class MeanDifference:
    """The mean of one system minus the mean of another system, on the metric's scale.
    The p-value ``p`` is NaN if the standard error is unknown. ``no_interval`` gives the
    reason.
    """

    difference: float
    units: int
    error: float = math.nan
    df: float = math.nan
    low: float | None = None
    high: float | None = None
    p: float = math.nan
    no_interval: NoIntervalReason | None = None


def compute_system_mean_interval(
    metric: Metric, runs: Sequence[Floats], *, level: float = CONFIDENCE_LEVEL
) -> IntervalBounds | NoIntervalReason:
    """Return the interval of a system's mean value from the (units, m) rows of several
    runs. The rows of all runs must have the same order of units.
    """
    if len(runs) < MIN_RUNS_PER_SYSTEM:
        return NoIntervalReason.FEW_RUNS
    found = _find_no_interval_reason(metric, runs) or _compute_system_means(
        metric, runs, _sum_denominators(metric, runs)
    )
    if isinstance(found, NoIntervalReason):
        return found
    low, high = metric.value_range
    if (
        not low - jackknife.ROUNDING_TOLERANCE
        <= found.mean
        <= high + jackknife.ROUNDING_TOLERANCE
    ):
        low, high = jackknife.UNBOUNDED_RANGE
    low, high, mean = (
        float(metric.on_interval_scale(np.asarray(end)))
        for end in (low, high, found.mean)
    )
    values, left_out = map(metric.on_interval_scale, (found.values, found.left_out))
    of_seeds = float(np.var(values, ddof=1)) / len(values)
    of_units = float(jackknife.compute_jackknife_error(left_out)) ** 2
    if not math.isfinite(of_seeds + of_units):
        return NoIntervalReason.UNDEFINED
    df = _compute_degrees_of_freedom(
        [(of_units, found.number - 1), (of_seeds, len(values) - 1)]
    )
    if math.isinf(low) == math.isinf(high):
        error = np.asarray(math.sqrt(of_units + of_seeds))
        ends = jackknife.compute_score_bounds(
            mean, error, found.number, (low, high), level=level, df=df
        )
    elif np.isin(left_out, (low, high)).any():
        return NoIntervalReason.FEW_UNITS
    else:
        ends = jackknife.compute_one_ended_bounds(
            mean,
            left_out,
            found.number,
            (low, high),
            level=level,
            more_variance=of_seeds,
            df=df,
        )
    start, end = map(metric.from_interval_scale, ends)
    return (
        jackknife.convert_to_optional_bounds((start, end)) or NoIntervalReason.ALL_EQUAL
    )


def compare_system_means(
    metric: Metric,
    a: Sequence[Floats],
    b: Sequence[Floats],
    *,
    level: float = CONFIDENCE_LEVEL,
) -> MeanDifference:
    """Compare the mean values of two systems from the rows of the systems' runs. The
    rows of all runs belong to the same units in the same order. A system may have a
    single run.
    """
    runs = [*a, *b]
    means = [float(np.mean([metric.total(rows) for rows in own])) for own in (a, b)]
    difference = means[0] - means[1]
    reason = _find_no_interval_reason(metric, runs)
    if reason is None and not all(map(metric.can_be_compared, runs)):
        reason = NoIntervalReason.TOO_FAR
    carries = _sum_denominators(metric, runs)
    count = int(np.count_nonzero(carries))
    found = [reason or _compute_system_means(metric, own, carries) for own in (a, b)]
    known = [each for each in found if isinstance(each, _SystemMeans)]
    if len(known) < 2:
        reason = next(each for each in found if isinstance(each, NoIntervalReason))
        return MeanDifference(difference=difference, units=count, no_interval=reason)
    one, other = known
    parts = [
        (
            float(jackknife.compute_jackknife_error(one.left_out - other.left_out))
            ** 2,
            min(one.number, other.number) - 1,
        ),
        *(
            (
                float(np.var(each.values, ddof=1)) / len(each.values),
                len(each.values) - 1,
            )
            for each in known
            if len(each.values) > 1
        ),
    ]
    error, df = (
        math.sqrt(sum(variance for variance, _own in parts)),
        _compute_degrees_of_freedom(parts),
    )
    differing = _count_differing_units(metric, a, b)
    ends = jackknife.compute_difference_bounds(
        difference,
        np.asarray(error),
        min(one.number, other.number),
        metric.value_range,
        same=max(0.0, 1 - differing / count),
        level=level,
        df=df,
    )
    low, high = jackknife.convert_to_optional_bounds(ends) or (None, None)
    return MeanDifference(
        difference=difference,
        units=count,
        error=error,
        df=df,
        low=low,
        high=high,
        p=_compute_p_value(difference, error, df, differing),
    )


def _compute_p_value(
    difference: float, error: float, df: float, differing: int
) -> float:
    """Return the two-sided p-value of a difference, which is at least the smallest
    p-value of a test over this number of differing units.
    """
    if abs(difference) <= jackknife.ROUNDING_TOLERANCE:
        return 1.0
    from scipy.special import stdtr

    least = compute_smallest_p_value(differing, choose_number_of_exchanges(differing))
    if error <= jackknife.ROUNDING_TOLERANCE:
        return min(1.0, least)
    return min(1.0, max(2 * float(stdtr(df, -abs(difference) / error)), least))


def _compute_degrees_of_freedom(parts: Sequence[tuple[float, float]]) -> float:
    """Return Satterthwaite's degrees of freedom of a sum of variances, each of which
    has its own degrees of freedom.
    """
    total = sum(variance for variance, _own in parts)
    if total <= 0:
        return max(1.0, parts[0][1])
    shares = sum(
        (variance / total) ** 2 / max(1.0, own) for variance, own in parts if variance
    )
    return max(1.0, 1 / shares)


def _find_no_interval_reason(
    metric: Metric, runs: Sequence[Floats]
) -> NoIntervalReason | None:
    """Return the reason why the standard error over the units of a run is unknown, or
    None if the standard errors of all runs are known.
    """
    if not metric.has_honest_interval:
        return NoIntervalReason.NOT_HONEST
    if isinstance(metric, WeightedMetric):
        if not metric.has_interval:
            return NoIntervalReason.NOT_HONEST
        carried = map(metric.sum_carriers_by_unit, runs)
        if not all(map(jackknife.has_enough_carriers, carried)):
            return NoIntervalReason.FEW_CARRIERS
    elif (
        np.count_nonzero(_sum_denominators(metric, runs))
        < jackknife.MIN_INFLUENTIAL_UNITS
    ):
        return NoIntervalReason.FEW_UNITS
    if not all(map(metric.has_enough_units, runs)):
        return NoIntervalReason.FEW_OF_A_CLASS
    return None


def _sum_denominators(metric: Metric, runs: Sequence[Floats]) -> Floats:
    """Return an array (units,) with each unit's contribution to the denominator of the
    metric's value, summed over all runs. For a weighted metric, each unit contributes
    1.
    """
    if isinstance(metric, WeightedMetric):
        return np.ones(len(np.unique(runs[0][:, 0])))
    return np.asarray(sum(metric.denominators(rows) for rows in runs))


def _compute_system_means(
    metric: Metric, runs: Sequence[Floats], carries: Floats
) -> _SystemMeans | NoIntervalReason:
    values = np.array([metric.total(rows) for rows in runs])
    left_out = np.mean(
        [_compute_jackknife_values(metric, rows, carries) for rows in runs], axis=0
    )
    if not (np.isfinite(values).all() and np.isfinite(left_out).all()):
        return NoIntervalReason.UNDEFINED
    if isinstance(metric, WeightedMetric):
        number = min(
            jackknife.count_effective_carriers(metric.sum_carriers_by_unit(rows))
            for rows in runs
        )
    else:
        number = jackknife.compute_kish_number(carries)
    return _SystemMeans(values=values, left_out=left_out, number=number)


def _compute_jackknife_values(metric: Metric, rows: Floats, carries: Floats) -> Floats:
    if isinstance(metric, WeightedMetric):
        return metric.left_out(rows)
    exact = round_to_summable_grid(rows, len(rows))
    without = exact.sum(axis=0) - exact
    return np.asarray(metric.aggregate(without[carries > 0]))


def _count_differing_units(
    metric: Metric, a: Sequence[Floats], b: Sequence[Floats]
) -> int:
    """Return the number of units in which the rows of all runs are not identical."""
    first = a[0]
    others = np.array([(first != rows).any(axis=1) for rows in (*a[1:], *b)])
    differing = others.any(axis=0)
    if isinstance(metric, WeightedMetric):
        return len(np.unique(first[differing, 0]))
    return int(np.count_nonzero(differing))
