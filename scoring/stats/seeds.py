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
from scoring.stats.jackknife import NoInterval
from scoring.stats.resampling import LEVEL, Bounds, on_grid
from scoring.stats.significance import smallest_p, trials_for

#: Minimum number of runs for the interval of a mean.
MIN_RUNS = 3


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
    no_interval: NoInterval | None = None


def mean_interval(
    metric: Metric, runs: Sequence[Floats], *, level: float = LEVEL
) -> Bounds | NoInterval:
    """Return the interval of a system's mean value from the (units, m) rows of several
    runs. The rows of all runs must have the same order of units.
    """
    if len(runs) < MIN_RUNS:
        return NoInterval.FEW_RUNS
    found = _reason_of_no_interval(metric, runs) or _system_means(
        metric, runs, _summed_denominators(metric, runs)
    )
    if isinstance(found, NoInterval):
        return found
    low, high = metric.value_range
    if not low - jackknife.ROUNDING <= found.mean <= high + jackknife.ROUNDING:
        low, high = jackknife.NO_ENDS
    low, high, mean = (
        float(metric.on_interval_scale(np.asarray(end)))
        for end in (low, high, found.mean)
    )
    values, left_out = map(metric.on_interval_scale, (found.values, found.left_out))
    of_seeds = float(np.var(values, ddof=1)) / len(values)
    of_units = float(jackknife.jackknife_error(left_out)) ** 2
    if not math.isfinite(of_seeds + of_units):
        return NoInterval.UNDEFINED
    df = _degrees_of_freedom(
        [(of_units, found.number - 1), (of_seeds, len(values) - 1)]
    )
    if math.isinf(low) == math.isinf(high):
        error = np.asarray(math.sqrt(of_units + of_seeds))
        ends = jackknife.score_bounds(
            mean, error, found.number, (low, high), level=level, df=df
        )
    elif np.isin(left_out, (low, high)).any():
        return NoInterval.FEW_UNITS
    else:
        ends = jackknife.one_ended_bounds(
            mean,
            left_out,
            found.number,
            (low, high),
            level=level,
            more_variance=of_seeds,
            df=df,
        )
    start, end = map(metric.from_interval_scale, ends)
    return jackknife.as_bounds((start, end)) or NoInterval.ALL_EQUAL


def mean_difference(
    metric: Metric, a: Sequence[Floats], b: Sequence[Floats], *, level: float = LEVEL
) -> MeanDifference:
    """Compare the mean values of two systems from the rows of the systems' runs. The
    rows of all runs belong to the same units in the same order. A system may have a
    single run.
    """
    runs = [*a, *b]
    means = [float(np.mean([metric.total(rows) for rows in own])) for own in (a, b)]
    difference = means[0] - means[1]
    reason = _reason_of_no_interval(metric, runs)
    if reason is None and not all(map(metric.can_be_compared, runs)):
        reason = NoInterval.TOO_FAR
    carries = _summed_denominators(metric, runs)
    count = int(np.count_nonzero(carries))
    found = [reason or _system_means(metric, own, carries) for own in (a, b)]
    known = [each for each in found if isinstance(each, _SystemMeans)]
    if len(known) < 2:
        reason = next(each for each in found if isinstance(each, NoInterval))
        return MeanDifference(difference=difference, units=count, no_interval=reason)
    one, other = known
    parts = [
        (
            float(jackknife.jackknife_error(one.left_out - other.left_out)) ** 2,
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
        _degrees_of_freedom(parts),
    )
    differing = _count_differences(metric, a, b)
    ends = jackknife.difference_bounds(
        difference,
        np.asarray(error),
        min(one.number, other.number),
        metric.value_range,
        same=max(0.0, 1 - differing / count),
        level=level,
        df=df,
    )
    low, high = jackknife.as_bounds(ends) or (None, None)
    return MeanDifference(
        difference=difference,
        units=count,
        error=error,
        df=df,
        low=low,
        high=high,
        p=_p_value(difference, error, df, differing),
    )


def _p_value(difference: float, error: float, df: float, differing: int) -> float:
    """Return the two-sided p-value of a difference, which is at least the smallest
    p-value of a test over this number of differing units.
    """
    if abs(difference) <= jackknife.ROUNDING:
        return 1.0
    from scipy.special import stdtr

    least = smallest_p(differing, trials_for(differing))
    if error <= jackknife.ROUNDING:
        return min(1.0, least)
    return min(1.0, max(2 * float(stdtr(df, -abs(difference) / error)), least))


def _degrees_of_freedom(parts: Sequence[tuple[float, float]]) -> float:
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


def _reason_of_no_interval(metric: Metric, runs: Sequence[Floats]) -> NoInterval | None:
    """Return the reason why the standard error over the units of a run is unknown, or
    None if the standard errors of all runs are known.
    """
    if not metric.has_honest_interval:
        return NoInterval.NOT_HONEST
    if isinstance(metric, WeightedMetric):
        if not metric.has_interval:
            return NoInterval.NOT_HONEST
        carried = map(metric.carried_by_unit, runs)
        if not all(map(jackknife.has_enough_carriers, carried)):
            return NoInterval.FEW_CARRIERS
    elif np.count_nonzero(_summed_denominators(metric, runs)) < jackknife.MIN_UNITS:
        return NoInterval.FEW_UNITS
    if not all(map(metric.has_enough_units, runs)):
        return NoInterval.FEW_OF_A_CLASS
    return None


def _summed_denominators(metric: Metric, runs: Sequence[Floats]) -> Floats:
    """Return an array (units,) with each unit's contribution to the denominator of the
    metric's value, summed over all runs. For a weighted metric, each unit contributes
    1.
    """
    if isinstance(metric, WeightedMetric):
        return np.ones(len(np.unique(runs[0][:, 0])))
    return np.asarray(sum(metric.denominators(rows) for rows in runs))


def _system_means(
    metric: Metric, runs: Sequence[Floats], carries: Floats
) -> _SystemMeans | NoInterval:
    values = np.array([metric.total(rows) for rows in runs])
    left_out = np.mean(
        [_jackknife_values(metric, rows, carries) for rows in runs], axis=0
    )
    if not (np.isfinite(values).all() and np.isfinite(left_out).all()):
        return NoInterval.UNDEFINED
    if isinstance(metric, WeightedMetric):
        number = min(
            jackknife.number_of_carriers(metric.carried_by_unit(rows)) for rows in runs
        )
    else:
        number = jackknife.kish_number(carries)
    return _SystemMeans(values=values, left_out=left_out, number=number)


def _jackknife_values(metric: Metric, rows: Floats, carries: Floats) -> Floats:
    if isinstance(metric, WeightedMetric):
        return metric.left_out(rows)
    exact = on_grid(rows, len(rows))
    without = exact.sum(axis=0) - exact
    return np.asarray(metric.aggregate(without[carries > 0]))


def _count_differences(metric: Metric, a: Sequence[Floats], b: Sequence[Floats]) -> int:
    """Return the number of units in which the rows of all runs are not identical."""
    first = a[0]
    others = np.array([(first != rows).any(axis=1) for rows in (*a[1:], *b)])
    differing = others.any(axis=0)
    if isinstance(metric, WeightedMetric):
        return len(np.unique(first[differing, 0]))
    return int(np.count_nonzero(differing))
