"""Compute intervals without resampling, from jackknife standard errors and Wilson
scores.

`docs/uncertainty.md` explains the formulas and reports the coverage of the intervals.
All functions take arrays, so that simulations use the same functions as scores.

The sources are Tukey 1958 and chapter 11 of Efron and Tibshirani 1993 for the
jackknife, and Wilson 1927 for the score interval (Probable Inference, the Law of
Succession, and Statistical Inference). Dean and Pagano 2015 describe Wilson's interval
with an effective number of trials (Evaluating Confidence Interval Methods for Binomial
Proportions in Clustered Surveys).
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

import numpy as np

from scoring.metrics.base import Floats, Metric, WeightedMetric
from scoring.stats.resampling import (
    CONFIDENCE_LEVEL,
    IntervalBounds,
    MetricAndRows,
    round_to_summable_grid,
)

#: An interval needs this many influential units, because two cannot show a variance.
MIN_INFLUENTIAL_UNITS = 3
#: An interval of a weighted metric needs at least this number of influential units.
#: With few positive instances, an area under a curve is often 1.
MIN_INFLUENTIAL_CARRIERS = 5
#: Wilson's trials are at most this factor times the squared effective number of units.
#: The limit of trials prevents tiny intervals for units with a small variance.
MAX_WILSON_TRIALS_FACTOR = 1.5
#: This factor limits trials for units in which two runs have the same value.
MAX_DIFFERENCE_TRIALS_FACTOR = 4.0
#: Values in a range of 1 are equal if their difference is at most this rounding error.
ROUNDING_TOLERANCE = 1e-12

#: Minimum and maximum of a metric's values.
ValueRange = tuple[float, float]
UNBOUNDED_RANGE: ValueRange = (-math.inf, math.inf)


class NoIntervalReason(StrEnum):
    """The reason why a value has no interval."""

    FEW_UNITS = "few-units"
    FEW_RUNS = "few-runs"
    FEW_CARRIERS = "few-carriers"
    TOO_FAR = "too-far"
    FEW_OF_A_CLASS = "few-of-a-class"
    UNDEFINED = "undefined"
    ALL_EQUAL = "all-equal"
    NOT_HONEST = "not-honest"
    NO_TOPICS = "no-topics"
    SAME = "same"


def intervals(
    measured: Sequence[MetricAndRows], *, level: float = CONFIDENCE_LEVEL
) -> list[IntervalBounds | None]:
    """Return the intervals that ``compute_intervals_or_reasons`` returns, with None in place of
    each reason.
    """
    found = compute_intervals_or_reasons(measured, level=level)
    return [None if isinstance(each, NoIntervalReason) else each for each in found]


def compute_intervals_or_reasons(
    measured: Sequence[MetricAndRows], *, level: float = CONFIDENCE_LEVEL
) -> list[IntervalBounds | NoIntervalReason]:
    """Return, for each metric, an interval or the reason why the metric has no
    interval.
    """
    of_sums = {
        id(rows): rows
        for metric, rows in measured
        if not isinstance(metric, WeightedMetric)
    }
    exact = {
        place: round_to_summable_grid(rows, len(rows))
        for place, rows in of_sums.items()
    }
    without = {place: rows.sum(axis=0) - rows for place, rows in exact.items()}
    return [
        _compute_metric_interval(metric, rows, without.get(id(rows), rows), level)
        for metric, rows in measured
    ]


def _compute_metric_interval(
    metric: Metric, rows: Floats, without: Floats, level: float
) -> IntervalBounds | NoIntervalReason:
    """Return the interval of a metric's value. ``without`` contains the sums of rows
    without each unit, for metrics that are functions of sums.
    """
    found = _compute_units_and_jackknife_values(metric, rows, without)
    if isinstance(found, NoIntervalReason):
        return found
    number, left_out = found
    value = metric.total(rows)
    if not (math.isfinite(value) and np.isfinite(left_out).all()):
        return NoIntervalReason.UNDEFINED
    low, high = metric.value_range
    if not low - ROUNDING_TOLERANCE <= value <= high + ROUNDING_TOLERANCE:
        low, high = UNBOUNDED_RANGE
    low, high, value = (
        float(metric.on_interval_scale(np.asarray(end))) for end in (low, high, value)
    )
    left_out = metric.on_interval_scale(left_out)
    if math.isinf(low) == math.isinf(high):
        error = compute_jackknife_error(left_out)
        ends = compute_score_bounds(value, error, number, (low, high), level=level)
    elif np.isin(left_out, (low, high)).any() and np.ptp(left_out) > 0:
        # A value that reaches its bound without one unit depends on this unit alone.
        return NoIntervalReason.FEW_UNITS
    else:
        ends = compute_one_ended_bounds(
            value, left_out, number, (low, high), level=level
        )
    start, end = map(metric.from_interval_scale, ends)
    return convert_to_optional_bounds((start, end)) or NoIntervalReason.ALL_EQUAL


def _compute_units_and_jackknife_values(
    metric: Metric, rows: Floats, without: Floats
) -> tuple[float, Floats] | NoIntervalReason:
    """Return Kish's effective number of units that influence the metric, and the
    metric's jackknife values.
    """
    if not metric.has_honest_interval:
        return NoIntervalReason.NOT_HONEST
    if isinstance(metric, WeightedMetric):
        if not metric.has_interval:
            return NoIntervalReason.NOT_HONEST
        carried = metric.sum_carriers_by_unit(rows)
        if not has_enough_carriers(carried):
            return NoIntervalReason.FEW_CARRIERS
        number = count_effective_carriers(carried)
        left_out = metric.left_out(rows)
    else:
        weights = metric.denominators(rows)
        carries = weights > 0
        if np.count_nonzero(carries) < MIN_INFLUENTIAL_UNITS:
            return NoIntervalReason.FEW_UNITS
        number = compute_kish_number(weights)
        left_out = np.asarray(
            metric.aggregate(without if carries.all() else without[carries])
        )
    if not metric.has_enough_units(rows):
        return NoIntervalReason.FEW_OF_A_CLASS
    return number, left_out


def compute_kish_number(weights: Floats) -> float:
    """Return Kish's effective number of units, which is the squared sum of weights over
    the sum of squared weights.

    Kish 1965, Survey Sampling. If all weights are equal, Kish's effective number is the
    number of units.
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


def has_enough_carriers(carried: Floats) -> bool:
    """Return True if each column of the (units, columns) sums of
    ``WeightedMetric.carried`` is non-zero in enough units for an interval.
    """
    return bool(((carried > 0).sum(axis=0) >= MIN_INFLUENTIAL_CARRIERS).all())


def count_effective_carriers(carried: Floats) -> float:
    """Return the smallest of the columns' effective (Kish) numbers of units."""
    return min(compute_kish_number(group) for group in carried.T)


def compute_jackknife_error(left_out: Floats) -> Floats:
    """Return the standard error of a value from (…, n) jackknife values over n units."""
    units = left_out.shape[-1]
    with np.errstate(invalid="ignore"):
        deviations = left_out - left_out.mean(axis=-1, keepdims=True)
        return np.asarray(np.sqrt((deviations**2).sum(axis=-1) * (units - 1) / units))


def compute_ratio_interval(
    rows: Floats, value_range: ValueRange
) -> IntervalBounds | None:
    """Return the interval of a share or a mean, which is the sum of the first column of
    (units, 2) rows divided by the sum of the second column. Return None if fewer than
    three units have a non-zero denominator.
    """
    rows = rows.reshape(-1, 2)
    rows = rows[rows[:, 1] > 0]
    if len(rows) < MIN_INFLUENTIAL_UNITS:
        return None
    total = rows.sum(axis=0)
    without = total - rows
    error = compute_jackknife_error(without[:, 0] / without[:, 1])
    return convert_to_optional_bounds(
        compute_score_bounds(
            float(total[0] / total[1]),
            error,
            compute_kish_number(rows[:, 1]),
            value_range,
        )
    )


def compute_jackknife_interval(
    value: float, left_out: Sequence[float], value_range: ValueRange = UNBOUNDED_RANGE
) -> IntervalBounds | None:
    """Return the interval of a value from its jackknife values over units of equal
    weight, or None if the interval is undefined.
    """
    values = np.array(left_out, dtype=np.float64)
    if len(values) < MIN_INFLUENTIAL_UNITS or not math.isfinite(value):
        return None
    return convert_to_optional_bounds(
        compute_score_bounds(
            value, compute_jackknife_error(values), len(values), value_range
        )
    )


def compute_score_bounds(
    values: float | Floats,
    errors: Floats,
    units: float | Floats,
    value_range: ValueRange,
    *,
    level: float = CONFIDENCE_LEVEL,
    df: float | None = None,
) -> tuple[Floats, Floats]:
    """Return the lower and upper bounds of the intervals of values with these standard
    errors, or NaN without an interval.

    ``units`` is the effective (Kish) number of units. ``df`` replaces the degrees of
    freedom, which otherwise depend on ``units``. If the range of the metric is bounded,
    the interval is a Wilson interval, and if the range is unbounded, the interval is
    the value ± t standard errors. For a metric whose range has one bound, use
    ``compute_one_ended_bounds``.
    """
    low, high = value_range
    if math.isinf(low) != math.isinf(high):
        raise ValueError(f"from {low} to {high}: expected two ends or none")
    t = _compute_t_quantiles(level, units, df)
    values = np.asarray(values, dtype=np.float64)
    if math.isinf(low):
        return _remove_zero_width_bounds(
            values - t * errors, values + t * errors, errors
        )
    shares, errors = (
        np.clip((values - low) / (high - low), 0.0, 1.0),
        errors / (high - low),
    )
    spread = shares * (1 - shares)
    all_equal = (errors <= ROUNDING_TOLERANCE) | (spread <= 0)
    per_trial = np.divide(errors**2, spread, out=np.ones_like(spread), where=~all_equal)
    fewest = 1 / (MAX_WILSON_TRIALS_FACTOR * np.square(units))
    trials = 1 / np.where(
        all_equal, 1 / np.asarray(units), np.minimum(1, per_trial) + fewest
    )
    start, end = _compute_wilson_interval(shares, trials, t)
    return low + (high - low) * start, low + (high - low) * end


def compute_one_ended_bounds(
    values: float | Floats,
    left_out: Floats,
    units: float | Floats,
    value_range: ValueRange,
    *,
    level: float = CONFIDENCE_LEVEL,
    more_variance: float = 0.0,
    df: float | None = None,
) -> tuple[Floats, Floats]:
    """Return the lower and upper bounds of the intervals of values whose range has one
    bound, such as errors (from 0) or R² (up to 1).

    ``left_out`` contains the (…, n) jackknife values, and ``units`` is the number of
    units. The end of the interval away from the range's bound is t standard errors of
    the logarithm of the distance to the bound, widened by 1 / (2 units) because few
    units rarely show a long tail. The end of the interval towards the range's bound is
    t standard errors from the value, truncated at the bound. Both ends are NaN if all
    units are equal or the value is at the range's bound. ``more_variance`` is
    additional variance, for example from runs with different seeds. ``df`` replaces the
    degrees of freedom, as in ``compute_score_bounds``.
    """
    low, high = value_range
    end, sign = (low, 1) if math.isinf(high) else (high, -1)
    t, values = (
        _compute_t_quantiles(level, units, df),
        np.asarray(values, dtype=np.float64),
    )
    distances, errors = sign * (values - end), compute_jackknife_error(left_out)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        of_logs = compute_jackknife_error(np.log(sign * (left_out - end)))
        if more_variance:
            of_logs = np.sqrt(of_logs**2 + more_variance / distances**2)
            errors = np.sqrt(errors**2 + more_variance)
        far = distances * np.exp(t * of_logs * (1 + 1 / (2 * np.asarray(units))))
        near = np.maximum(distances - t * errors, 0.0)
        ends = _remove_zero_width_bounds(end + sign * near, end + sign * far, errors)
    return ends if sign > 0 else (ends[1], ends[0])


def _compute_t_quantiles(
    level: float, units: float | Floats, df: float | None = None
) -> Floats:
    if df is not None:
        return np.asarray(compute_t_quantile((1 + level) / 2, max(1.0, df)))
    if isinstance(units, float | int):
        return np.asarray(compute_t_quantile((1 + level) / 2, max(1.0, units - 1)))
    from scipy.special import stdtrit

    return np.asarray(stdtrit(np.maximum(1.0, units - 1), (1 + level) / 2))


def _compute_wilson_interval(
    shares: Floats, trials: Floats, t: Floats
) -> tuple[Floats, Floats]:
    """Return Wilson's interval, which contains all shares whose distance to the
    observed share is at most t standard errors, where the standard error is computed
    from the share in the interval.
    """
    below = 1 + t**2 / trials
    middle = (shares + t**2 / (2 * trials)) / below
    half = t * np.sqrt(shares * (1 - shares) / trials + t**2 / (4 * trials**2)) / below
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def _remove_zero_width_bounds(
    low: Floats, high: Floats, errors: Floats
) -> tuple[Floats, Floats]:
    """Return the bounds of an interval, or NaN if the standard error is only a rounding
    error.
    """
    has_width = errors > ROUNDING_TOLERANCE * np.maximum(1.0, np.abs(high))
    return np.where(has_width, low, np.nan), np.where(has_width, high, np.nan)


def compute_difference_bounds(
    differences: float | Floats,
    errors: Floats,
    units: float | Floats,
    value_range: ValueRange,
    *,
    same: float | Floats = 0.0,
    level: float = CONFIDENCE_LEVEL,
    df: float | None = None,
) -> tuple[Floats, Floats]:
    """Return the lower and upper bounds of the intervals of differences between two
    runs' values of a metric.

    ``errors`` contains the standard errors of the differences. If the range of the
    metric is bounded, the interval is a Wilson interval on the scale of possible
    differences. If the range of the metric is unbounded, the interval is the difference
    ± t standard errors. ``same`` is the share of units in which both runs have the same
    value. The standard error includes a possible variance of the units with equal
    values. Without the variance of units with equal values, runs that differ in a
    single unit would have a tiny interval. Both bounds are NaN if all units are equal.
    """
    size = value_range[1] - value_range[0]
    differences = np.asarray(differences, dtype=np.float64)
    t = _compute_t_quantiles(level, units, df)
    if math.isinf(size):
        return _remove_zero_width_bounds(
            differences - t * errors, differences + t * errors, errors
        )
    shares = np.clip((differences / size + 1) / 2, 0.0, 1.0)
    spread = shares * (1 - shares)
    own_errors = np.asarray(errors / (2 * size))
    fewest = same / (MAX_DIFFERENCE_TRIALS_FACTOR * np.square(units))
    per_trial = (
        np.divide(own_errors**2, spread, out=np.zeros_like(spread), where=spread > 0)
        + fewest
    )
    # If all units differ equally, the error is 0 and each unit is one trial.
    trials = np.where(
        per_trial > ROUNDING_TOLERANCE,
        1 / np.maximum(per_trial, ROUNDING_TOLERANCE),
        np.asarray(units, float),
    )
    low, high = (
        size * (2 * end - 1)
        for end in _compute_wilson_interval(shares, np.maximum(trials, 1.0), t)
    )
    is_same = np.asarray(same) >= 1
    return np.where(is_same, np.nan, low), np.where(is_same, np.nan, high)


def convert_to_optional_bounds(ends: tuple[Floats, Floats]) -> IntervalBounds | None:
    """Return the two ends of an interval, or None if the interval is undefined."""
    low, high = (float(end) for end in ends)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


@lru_cache(maxsize=4096)
def compute_t_quantile(share: float, df: float) -> float:
    """Return the quantile of Student's t distribution below which the given share of
    the distribution lies. Raises ValueError unless the share is between 0 and 1.
    """
    if not 0 < share < 1 or df < 1:
        raise ValueError(
            f"there is no quantile {share} of Student's t with {df} degrees of freedom"
        )
    # SciPy's import is slow, and many commands compute no interval.
    from scipy.special import stdtrit

    return float(stdtrit(df, share))
