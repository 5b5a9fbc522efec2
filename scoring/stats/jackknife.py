"""Intervals without draws: the error that leaving out one unit at a time shows, as a Wilson score interval.

`docs/uncertainty.md` writes the formulas out and says how often the intervals hold the true value. Everything
here takes arrays, so that simulations use the very functions that scores use.

Tukey 1958 and Efron and Tibshirani 1993, chapter 11 (jackknife); Wilson 1927, Probable Inference, the Law of
Succession, and Statistical Inference; Dean and Pagano 2015, Evaluating Confidence Interval Methods for
Binomial Proportions in Clustered Surveys (Wilson with the number of trials that an error stands for).
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from scoring.metrics.base import Floats
from scoring.stats.resampling import LEVEL, Bounds, Measured, on_grid

#: With fewer units there is no interval: two cannot show how much units vary.
MIN_UNITS = 3
#: n units stand for at most so many times n squared trials, however alike they are.
MAX_TRIALS = 10.0
#: Values that are equal but for rounding count as equal; on a range of 1.
ROUNDING = 1e-12

#: Between which values a metric lies.
Range = tuple[float, float]
NO_ENDS: Range = (-math.inf, math.inf)


def intervals(measured: Sequence[Measured], *, level: float = LEVEL) -> list[Bounds | None]:
    """An interval for each metric over its (units, m) rows; metrics that are given the same array share work.

    None with fewer than three units, where the metric says that the units do not show its error, where the
    value is undefined or infinite with or without some unit, and where all units are equal and the metric
    has no two ends.
    """
    exact: dict[int, Floats] = {}
    for _, rows in measured:
        if id(rows) not in exact and len(rows) >= MIN_UNITS:
            on_the_grid = on_grid(rows, len(rows))
            exact[id(rows)] = on_the_grid.sum(axis=0) - on_the_grid
    results: list[Bounds | None] = []
    for metric, rows in measured:
        results.append(None)
        if len(rows) < MIN_UNITS or not metric.has_enough_units(rows):
            continue
        left_out, value = np.asarray(metric.aggregate(exact[id(rows)])), metric.total(rows)
        if math.isfinite(value) and np.isfinite(left_out).all():
            low, high = metric.value_range
            slack = ROUNDING * max(1.0, metric.scale)
            ends = (low, high) if low - slack <= value <= high + slack else NO_ENDS
            bounds = score_bounds(value, jackknife_error(left_out), len(rows), ends, level=level)
            results[-1] = as_bounds(bounds)
    return results


def jackknife_error(left_out: Floats) -> Floats:
    """The standard error, from (…, n) values that each leave out one of n units."""
    units = left_out.shape[-1]
    with np.errstate(invalid="ignore"):
        deviations = left_out - left_out.mean(axis=-1, keepdims=True)
        return np.asarray(np.sqrt((deviations**2).sum(axis=-1) * (units - 1) / units))


def ratio_interval(rows: Floats, value_range: Range) -> Bounds | None:
    """Of the first column of (units, 2) rows over the second, summed each: a share, or a mean of ratings.

    None with fewer than three units.
    """
    if len(rows) < MIN_UNITS:
        return None
    total = rows.sum(axis=0)
    without = total - rows
    error = jackknife_error(without[:, 0] / without[:, 1])
    return as_bounds(score_bounds(float(total[0] / total[1]), error, len(rows), value_range))


def score_bounds(
    values: float | Floats, errors: Floats, units: int, value_range: Range, *, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """The ends for values with these errors over so many units; NaN where there are none.

    With two ends a Wilson interval between them. With a lower one alone its limit, in which the variance
    grows with the value. With none the value and t errors to either side.
    """
    low, high = value_range
    t = t_quantile((1 + level) / 2, units - 1)
    values = np.asarray(values, dtype=np.float64)
    if math.isinf(low):
        return _nothing_of_width_0(values - t * errors, values + t * errors, errors)
    if math.isinf(high):
        # The variance is proportional to how far the value is above the end.
        above = values - low
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = t**2 * errors**2 / above
            half = np.sqrt(quotient * above + quotient**2 / 4)
            middle = above + quotient / 2
        return _nothing_of_width_0(low + middle - half, low + middle + half, errors)
    shares, errors = np.clip((values - low) / (high - low), 0.0, 1.0), errors / (high - low)
    spread = shares * (1 - shares)
    all_equal = (errors <= ROUNDING) | (spread <= 0)
    per_trial = np.divide(errors**2, spread, out=np.ones_like(spread), where=~all_equal)
    trials = 1 / np.where(all_equal, 1 / units, np.minimum(1, per_trial) + 1 / (MAX_TRIALS * units**2))
    start, end = _wilson(shares, trials, t)
    return low + (high - low) * start, low + (high - low) * end


def _wilson(shares: Floats, trials: Floats, t: float) -> tuple[Floats, Floats]:
    """The shares for which the observed one is no further than t of its standard errors away."""
    below = 1 + t**2 / trials
    middle = (shares + t**2 / (2 * trials)) / below
    half = t * np.sqrt(shares * (1 - shares) / trials + t**2 / (4 * trials**2)) / below
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def _nothing_of_width_0(low: Floats, high: Floats, errors: Floats) -> tuple[Floats, Floats]:
    has_width = errors > ROUNDING * np.maximum(1.0, np.abs(high))
    return np.where(has_width, low, np.nan), np.where(has_width, high, np.nan)


def difference_bounds(
    differences: float | Floats, errors: Floats, units: int, value_range: Range, *, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """The ends for differences of two values of one metric, whose errors are those of the difference.

    Between minus and plus the range a Wilson interval. Runs that do not differ in any unit have the Wilson
    bound of 0 among n for the share of units in which they would differ. Without two ends t errors.
    """
    size = value_range[1] - value_range[0]
    differences = np.asarray(differences, dtype=np.float64)
    t = t_quantile((1 + level) / 2, units - 1)
    if math.isinf(size):
        return _nothing_of_width_0(differences - t * errors, differences + t * errors, errors)
    shares = np.clip((differences / size + 1) / 2, 0.0, 1.0)
    own_errors = errors / (2 * size)
    all_equal = own_errors <= ROUNDING
    trials = np.divide(
        shares * (1 - shares), own_errors**2, out=np.full(shares.shape, float(units)), where=~all_equal
    )
    low, high = (size * (2 * end - 1) for end in _wilson(shares, np.maximum(trials, 1.0), t))
    most = size * t**2 / (units + t**2)
    no_difference = all_equal & (np.abs(differences) <= ROUNDING * size)
    return np.where(no_difference, -most, low), np.where(no_difference, most, high)


def as_bounds(ends: tuple[Floats, Floats]) -> Bounds | None:
    """One interval as two numbers; None where there is none."""
    low, high = (float(end) for end in ends)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


@lru_cache(maxsize=4096)
def t_quantile(share: float, df: int) -> float:
    """The value below which the share of Student's t lies. Raises ValueError outside of 0 to 1."""
    if not 0 < share < 1 or df < 1:
        raise ValueError(f"there is no quantile {share} of Student's t with {df} degrees of freedom")
    # Imported here: it takes a while, and not every command makes an interval.
    from scipy.special import stdtrit

    return float(stdtrit(df, share))
