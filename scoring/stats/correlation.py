"""Compute Pearson's, Spearman's and Kendall's correlation with intervals, without a
statistics library.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring.stats.jackknife import compute_t_quantile

Floats = NDArray[np.float64]
#: Minimum number of points, or of groups of points, for an interval of a correlation.
MIN_POINTS = 5
CONFIDENCE_LEVEL = 0.95
#: Fisher's transformation is infinite at 1, so this value replaces higher correlations.
MAX_FISHER_CORRELATION = 1 - 1e-12
#: Standard errors below this value are rounding errors.
MIN_STANDARD_ERROR = 1e-9


@dataclass(frozen=True)
class Correlation:
    """A correlation coefficient with an interval over ``n`` points. An undefined
    correlation coefficient is NaN, and an undefined bound of its interval is None.
    """

    value: float
    low: float | None
    high: float | None
    n: int


def compute_pearson(x: Floats, y: Floats) -> float:
    """Return Pearson's correlation, or NaN if x or y is constant."""
    a, b = x - x.mean(), y - y.mean()
    # The computed variance of constant values may not be exactly 0.
    if not np.ptp(x) or not np.ptp(y):
        return math.nan
    return float(np.clip(a @ b / math.sqrt((a @ a) * (b @ b)), -1, 1))


def compute_spearman(x: Floats, y: Floats) -> float:
    """Return Spearman's correlation, which is Pearson's correlation of the ranks. Tied
    values have the mean of their ranks.
    """
    return compute_pearson(compute_ranks(x), compute_ranks(y))


def compute_kendall_tau_b(x: Floats, y: Floats) -> float:
    """Return Kendall's tau-b, which is the number of concordant minus discordant pairs,
    divided by the geometric mean of the numbers of pairs not tied in x and not tied in
    y.
    """
    a, b = (np.sign(np.subtract.outer(values, values)) for values in (x, y))
    ordered = math.sqrt(np.abs(a).sum() * np.abs(b).sum())
    return float((a * b).sum() / ordered) if ordered else math.nan


CorrelationFunction = Callable[[Floats, Floats], float]
CORRELATION_FUNCTIONS: dict[str, CorrelationFunction] = {
    "Pearson": compute_pearson,
    "Spearman": compute_spearman,
    "Kendall": compute_kendall_tau_b,
}


def compute_ranks(values: Floats) -> Floats:
    """Return the ranks of numbers, where the smallest number has rank 1. Tied values
    have the mean of their ranks.
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places])


def correlate_points(name: str, x: Floats, y: Floats) -> Correlation:
    """Return the named correlation over independent points, such as systems.

    The interval uses Fisher's transformation with the standard errors of Bonett and
    Wright 2000, Sample size requirements for estimating Pearson, Kendall and Spearman
    correlations (Psychometrika 65).
    """
    value = CORRELATION_FUNCTIONS[name](x, y) if len(x) else math.nan
    if math.isnan(value) or len(x) < MIN_POINTS:
        return Correlation(value, None, None, len(x))
    squares = {
        "Pearson": 1 / (len(x) - 3),
        "Spearman": (1 + value**2 / 2) / (len(x) - 3),
    }
    error = math.sqrt(squares.get(name, 0.437 / (len(x) - 4)))
    return Correlation(
        value, *_compute_fisher_bounds(value, error * 1.959963984540054), len(x)
    )


def correlate_grouped_points(
    name: str, x: Floats, y: Floats, groups: Sequence[object]
) -> Correlation:
    """Return the named correlation over grouped points, such as the texts of several
    systems for one instance.

    The interval is a jackknife interval over groups on Fisher's scale, with Student's
    t. The correlation has no interval if all jackknife values are equal.
    """
    coefficient = CORRELATION_FUNCTIONS[name]
    value = coefficient(x, y) if len(x) else math.nan
    names, places = np.unique(list(map(str, groups)), return_inverse=True)
    count = len(names)
    if math.isnan(value) or count < MIN_POINTS:
        return Correlation(value, None, None, len(x))
    left_out = np.array(
        [coefficient(x[places != group], y[places != group]) for group in range(count)]
    )
    if np.isnan(left_out).any():
        return Correlation(value, None, None, len(x))
    error = math.sqrt(
        (count - 1)
        * float(
            np.arctanh(
                np.clip(left_out, -MAX_FISHER_CORRELATION, MAX_FISHER_CORRELATION)
            ).var()
        )
    )
    if error < MIN_STANDARD_ERROR:
        return Correlation(value, None, None, len(x))
    return Correlation(
        value,
        *_compute_fisher_bounds(
            value, error * compute_t_quantile((1 + CONFIDENCE_LEVEL) / 2, count - 1)
        ),
        len(x),
    )


def _compute_fisher_bounds(value: float, reach: float) -> tuple[float, float]:
    middle = math.atanh(
        min(max(value, -MAX_FISHER_CORRELATION), MAX_FISHER_CORRELATION)
    )
    return math.tanh(middle - reach), math.tanh(middle + reach)
