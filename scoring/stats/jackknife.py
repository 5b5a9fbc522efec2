"""Intervals without draws: the error that leaving out one unit at a time shows, as a Wilson score interval.

`docs/uncertainty.md` writes the formulas out and says how often the intervals hold the true value. Everything
here takes arrays, so that simulations use the very functions that scores use.

Tukey 1958 and Efron and Tibshirani 1993, chapter 11 (jackknife); Wilson 1927, Probable Inference, the Law of
Succession, and Statistical Inference; Dean and Pagano 2015, Evaluating Confidence Interval Methods for
Binomial Proportions in Clustered Surveys (Wilson with the number of trials that an error stands for).
"""

import math
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

import numpy as np

from scoring.metrics.base import Floats, Metric, WeightedMetric
from scoring.stats.resampling import LEVEL, Bounds, Measured, on_grid

#: With fewer units that carry a number there is no interval: two cannot show how much units vary.
MIN_UNITS = 3
#: The same of measures of weighted rows: an area under a curve is 1 for a few positives more often than not.
MIN_CARRIERS = 5
#: Units stand for at most so many times the square of Kish's number of trials, however alike they are.
MAX_TRIALS = 1.5
#: The same of differences, of the units in which two runs are the same.
MAX_TRIALS_OF_DIFFERENCES = 4.0
#: Values that are equal but for rounding count as equal; on a range of 1.
ROUNDING = 1e-12

#: Between which values a metric lies.
Range = tuple[float, float]
NO_ENDS: Range = (-math.inf, math.inf)


class NoInterval(StrEnum):
    """Why a number has no interval."""

    FEW_UNITS = "few-units"
    FEW_RUNS = "few-runs"
    FEW_CARRIERS = "few-carriers"
    TOO_FAR = "too-far"
    FEW_OF_A_CLASS = "few-of-a-class"
    UNDEFINED = "undefined"
    ALL_EQUAL = "all-equal"
    NOT_HONEST = "not-honest"
    SAME = "same"


def intervals(
    measured: Sequence[Measured], *, level: float = LEVEL
) -> list[Bounds | None]:
    """An interval for each metric over its (units, m) rows, as ``intervals_or_reasons`` has them."""
    found = intervals_or_reasons(measured, level=level)
    return [None if isinstance(each, NoInterval) else each for each in found]


def intervals_or_reasons(
    measured: Sequence[Measured], *, level: float = LEVEL
) -> list[Bounds | NoInterval]:
    """An interval for each metric, or why it has none; metrics that are given the same array share work."""
    of_sums = {
        id(rows): rows
        for metric, rows in measured
        if not isinstance(metric, WeightedMetric)
    }
    exact = {place: on_grid(rows, len(rows)) for place, rows in of_sums.items()}
    without = {place: rows.sum(axis=0) - rows for place, rows in exact.items()}
    return [
        _interval(metric, rows, without.get(id(rows), rows), level)
        for metric, rows in measured
    ]


def _interval(
    metric: Metric, rows: Floats, without: Floats, level: float
) -> Bounds | NoInterval:
    """``without`` are the sums that each leave out one unit, where the metric follows from sums."""
    found = _left_out(metric, rows, without)
    if isinstance(found, NoInterval):
        return found
    number, left_out = found
    value = metric.total(rows)
    if not (math.isfinite(value) and np.isfinite(left_out).all()):
        return NoInterval.UNDEFINED
    low, high = metric.value_range
    if not low - ROUNDING <= value <= high + ROUNDING:
        low, high = NO_ENDS
    low, high, value = (
        float(metric.on_interval_scale(np.asarray(end))) for end in (low, high, value)
    )
    left_out = metric.on_interval_scale(left_out)
    if math.isinf(low) == math.isinf(high):
        error = jackknife_error(left_out)
        ends = score_bounds(value, error, number, (low, high), level=level)
    elif np.isin(left_out, (low, high)).any() and np.ptp(left_out) > 0:
        # Without one unit the value is at its end: no other unit carries it.
        return NoInterval.FEW_UNITS
    else:
        ends = one_ended_bounds(value, left_out, number, (low, high), level=level)
    start, end = map(metric.from_interval_scale, ends)
    return as_bounds((start, end)) or NoInterval.ALL_EQUAL


def _left_out(
    metric: Metric, rows: Floats, without: Floats
) -> tuple[float, Floats] | NoInterval:
    """Return Kish's number of the units that carry the metric, and its values without each of them."""
    if not metric.has_honest_interval:
        return NoInterval.NOT_HONEST
    if isinstance(metric, WeightedMetric):
        if not metric.has_interval:
            return NoInterval.NOT_HONEST
        carried = metric.carried_by_unit(rows)
        if not has_enough_carriers(carried):
            return NoInterval.FEW_CARRIERS
        number = number_of_carriers(carried)
        left_out = metric.left_out(rows)
    else:
        weights = metric.denominators(rows)
        carries = weights > 0
        if np.count_nonzero(carries) < MIN_UNITS:
            return NoInterval.FEW_UNITS
        number = kish_number(weights)
        left_out = np.asarray(
            metric.aggregate(without if carries.all() else without[carries])
        )
    if not metric.has_enough_units(rows):
        return NoInterval.FEW_OF_A_CLASS
    return number, left_out


def kish_number(weights: Floats) -> float:
    """How many units of equal weight tell as much as units of these: the sum squared over the squares' sum.
    Kish 1965, Survey Sampling. As many as there are where all weigh the same.
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


def has_enough_carriers(carried: Floats) -> bool:
    """Whether each of the groups of carriers, (units, groups), lies in enough units."""
    return bool(((carried > 0).sum(axis=0) >= MIN_CARRIERS).all())


def number_of_carriers(carried: Floats) -> float:
    """Kish's number of units of the group of carriers that has the fewest."""
    return min(kish_number(group) for group in carried.T)


def jackknife_error(left_out: Floats) -> Floats:
    """The standard error, from (…, n) values that each leave out one of n units."""
    units = left_out.shape[-1]
    with np.errstate(invalid="ignore"):
        deviations = left_out - left_out.mean(axis=-1, keepdims=True)
        return np.asarray(np.sqrt((deviations**2).sum(axis=-1) * (units - 1) / units))


def ratio_interval(rows: Floats, value_range: Range) -> Bounds | None:
    """Of the first column of (units, 2) rows over the second, summed each: a share, or a mean of ratings.
    None with fewer than three units that have anything in the second.
    """
    rows = rows.reshape(-1, 2)
    rows = rows[rows[:, 1] > 0]
    if len(rows) < MIN_UNITS:
        return None
    total = rows.sum(axis=0)
    without = total - rows
    error = jackknife_error(without[:, 0] / without[:, 1])
    return as_bounds(
        score_bounds(
            float(total[0] / total[1]), error, kish_number(rows[:, 1]), value_range
        )
    )


def value_interval(
    value: float, left_out: Sequence[float], value_range: Range = NO_ENDS
) -> Bounds | None:
    """Of any value, from those that each leave out one of equal units; None where one is undefined."""
    values = np.array(left_out, dtype=np.float64)
    if len(values) < MIN_UNITS or not math.isfinite(value):
        return None
    return as_bounds(
        score_bounds(value, jackknife_error(values), len(values), value_range)
    )


def score_bounds(
    values: float | Floats,
    errors: Floats,
    units: float | Floats,
    value_range: Range,
    *,
    level: float = LEVEL,
    df: float | None = None,
) -> tuple[Floats, Floats]:
    """Return the ends of the intervals of values with these errors; NaN where there is no interval.

    ``units`` is Kish's number, and ``df`` the degrees of freedom if they do not follow from it. A range with
    two ends gives a Wilson interval, a range without ends the value ± t errors. ``one_ended_bounds`` is for a
    range with one end.
    """
    low, high = value_range
    if math.isinf(low) != math.isinf(high):
        raise ValueError(f"from {low} to {high}: expected two ends or none")
    t = _t_values(level, units, df)
    values = np.asarray(values, dtype=np.float64)
    if math.isinf(low):
        return _nothing_of_width_0(values - t * errors, values + t * errors, errors)
    shares, errors = (
        np.clip((values - low) / (high - low), 0.0, 1.0),
        errors / (high - low),
    )
    spread = shares * (1 - shares)
    all_equal = (errors <= ROUNDING) | (spread <= 0)
    per_trial = np.divide(errors**2, spread, out=np.ones_like(spread), where=~all_equal)
    fewest = 1 / (MAX_TRIALS * np.square(units))
    trials = 1 / np.where(
        all_equal, 1 / np.asarray(units), np.minimum(1, per_trial) + fewest
    )
    start, end = _wilson(shares, trials, t)
    return low + (high - low) * start, low + (high - low) * end


def one_ended_bounds(
    values: float | Floats,
    left_out: Floats,
    units: float | Floats,
    value_range: Range,
    *,
    level: float = LEVEL,
    more_variance: float = 0.0,
    df: float | None = None,
) -> tuple[Floats, Floats]:
    """The ends for values with one end, such as an error from 0 on or R² up to 1, over so many units. (…, n)
    ``left_out`` are the values without each unit. Away from the end t errors of the distance's logarithm,
    made larger by half of one in so many units, since few units seldom show a long tail. Towards the end
    plain t errors, no further than the end. NaN where all units are equal or the value is at its end.
    ``more_variance`` is that of another source than the units, such as seeds; ``df`` as in ``score_bounds``.
    """
    low, high = value_range
    end, sign = (low, 1) if math.isinf(high) else (high, -1)
    t, values = _t_values(level, units, df), np.asarray(values, dtype=np.float64)
    distances, errors = sign * (values - end), jackknife_error(left_out)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        of_logs = jackknife_error(np.log(sign * (left_out - end)))
        if more_variance:
            of_logs = np.sqrt(of_logs**2 + more_variance / distances**2)
            errors = np.sqrt(errors**2 + more_variance)
        far = distances * np.exp(t * of_logs * (1 + 1 / (2 * np.asarray(units))))
        near = np.maximum(distances - t * errors, 0.0)
        ends = _nothing_of_width_0(end + sign * near, end + sign * far, errors)
    return ends if sign > 0 else (ends[1], ends[0])


def _t_values(level: float, units: float | Floats, df: float | None = None) -> Floats:
    if df is not None:
        return np.asarray(t_quantile((1 + level) / 2, max(1.0, df)))
    if isinstance(units, float | int):
        return np.asarray(t_quantile((1 + level) / 2, max(1.0, units - 1)))
    from scipy.special import stdtrit

    return np.asarray(stdtrit(np.maximum(1.0, units - 1), (1 + level) / 2))


def _wilson(shares: Floats, trials: Floats, t: Floats) -> tuple[Floats, Floats]:
    """The shares for which the observed one is no further than t of its standard errors away."""
    below = 1 + t**2 / trials
    middle = (shares + t**2 / (2 * trials)) / below
    half = t * np.sqrt(shares * (1 - shares) / trials + t**2 / (4 * trials**2)) / below
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def _nothing_of_width_0(
    low: Floats, high: Floats, errors: Floats
) -> tuple[Floats, Floats]:
    """The ends, NaN where the error is nothing but rounding."""
    has_width = errors > ROUNDING * np.maximum(1.0, np.abs(high))
    return np.where(has_width, low, np.nan), np.where(has_width, high, np.nan)


def difference_bounds(
    differences: float | Floats,
    errors: Floats,
    units: float | Floats,
    value_range: Range,
    *,
    same: float | Floats = 0.0,
    level: float = LEVEL,
    df: float | None = None,
) -> tuple[Floats, Floats]:
    """The ends for differences of two values of one metric, whose errors are those of the difference. Between
    minus and plus the range a Wilson interval. ``same`` is the share of units in which both runs are the
    same: what else these may show is added to the error, so that one word of difference does not make an
    interval of nothing. Without two ends t errors. NaN where all units are the same.
    """
    size = value_range[1] - value_range[0]
    differences = np.asarray(differences, dtype=np.float64)
    t = _t_values(level, units, df)
    if math.isinf(size):
        return _nothing_of_width_0(
            differences - t * errors, differences + t * errors, errors
        )
    shares = np.clip((differences / size + 1) / 2, 0.0, 1.0)
    spread = shares * (1 - shares)
    own_errors = np.asarray(errors / (2 * size))
    fewest = same / (MAX_TRIALS_OF_DIFFERENCES * np.square(units))
    per_trial = (
        np.divide(own_errors**2, spread, out=np.zeros_like(spread), where=spread > 0)
        + fewest
    )
    # Where all units differ by the same there is no error, and units stand for as many trials as there are.
    trials = np.where(
        per_trial > ROUNDING,
        1 / np.maximum(per_trial, ROUNDING),
        np.asarray(units, float),
    )
    low, high = (
        size * (2 * end - 1) for end in _wilson(shares, np.maximum(trials, 1.0), t)
    )
    is_same = np.asarray(same) >= 1
    return np.where(is_same, np.nan, low), np.where(is_same, np.nan, high)


def as_bounds(ends: tuple[Floats, Floats]) -> Bounds | None:
    """One interval as two numbers; None where there is none."""
    low, high = (float(end) for end in ends)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


@lru_cache(maxsize=4096)
def t_quantile(share: float, df: float) -> float:
    """The value below which the share of Student's t lies. Raises ValueError outside of 0 to 1."""
    if not 0 < share < 1 or df < 1:
        raise ValueError(
            f"there is no quantile {share} of Student's t with {df} degrees of freedom"
        )
    # Imported here: it takes a while, and not every command makes an interval.
    from scipy.special import stdtrit

    return float(stdtrit(df, share))
