"""Pearson's, Spearman's and Kendall's correlation with intervals, without a library of statistics."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring.stats.jackknife import t_quantile

Floats = NDArray[np.float64]
#: With fewer points, or groups of points, an interval says nothing.
MIN_POINTS = 5
LEVEL = 0.95
#: Fisher's transformation has no end at 1; a perfect correlation is taken for this.
NEARLY_1 = 1 - 1e-12
#: An error below this is rounding.
NO_ERROR = 1e-9


@dataclass(frozen=True)
class Correlation:
    """A coefficient and its interval over ``n`` points; NaN and None where undefined."""

    value: float
    low: float | None
    high: float | None
    n: int


def pearson(x: Floats, y: Floats) -> float:
    """Return Pearson's correlation of the values; NaN if one side does not vary."""
    a, b = x - x.mean(), y - y.mean()
    # Rounding may leave a variance of a constant side.
    if not np.ptp(x) or not np.ptp(y):
        return math.nan
    return float(np.clip(a @ b / math.sqrt((a @ a) * (b @ b)), -1, 1))


def spearman(x: Floats, y: Floats) -> float:
    """Pearson's of the ranks; equal values share the mean of theirs."""
    return pearson(ranks(x), ranks(y))


def kendall(x: Floats, y: Floats) -> float:
    """Tau-b: concordant less discordant pairs, over the geometric mean of those that either side orders."""
    a, b = (np.sign(np.subtract.outer(values, values)) for values in (x, y))
    ordered = math.sqrt(np.abs(a).sum() * np.abs(b).sum())
    return float((a * b).sum() / ordered) if ordered else math.nan


Coefficient = Callable[[Floats, Floats], float]
COEFFICIENTS: dict[str, Coefficient] = {
    "Pearson": pearson,
    "Spearman": spearman,
    "Kendall": kendall,
}


def ranks(values: Floats) -> Floats:
    """From 1; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places])


def of_points(name: str, x: Floats, y: Floats) -> Correlation:
    """Over points that are independent of each other, such as systems. The interval is that of Fisher's
    transformation with the errors of Bonett and Wright 2000, Sample size requirements for estimating Pearson,
    Kendall and Spearman correlations (Psychometrika 65).
    """
    value = COEFFICIENTS[name](x, y) if len(x) else math.nan
    if math.isnan(value) or len(x) < MIN_POINTS:
        return Correlation(value, None, None, len(x))
    squares = {
        "Pearson": 1 / (len(x) - 3),
        "Spearman": (1 + value**2 / 2) / (len(x) - 3),
    }
    error = math.sqrt(squares.get(name, 0.437 / (len(x) - 4)))
    return Correlation(value, *_bounds(value, error * 1.959963984540054), len(x))


def of_grouped(
    name: str, x: Floats, y: Floats, groups: Sequence[object]
) -> Correlation:
    """Over points that share something, such as the texts of several systems for one instance. The interval
    is the jackknife's over groups on Fisher's transformation, with Student's t. There is none where no group
    makes a difference.
    """
    coefficient = COEFFICIENTS[name]
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
        (count - 1) * float(np.arctanh(np.clip(left_out, -NEARLY_1, NEARLY_1)).var())
    )
    if error < NO_ERROR:
        return Correlation(value, None, None, len(x))
    return Correlation(
        value, *_bounds(value, error * t_quantile((1 + LEVEL) / 2, count - 1)), len(x)
    )


def _bounds(value: float, reach: float) -> tuple[float, float]:
    middle = math.atanh(min(max(value, -NEARLY_1), NEARLY_1))
    return math.tanh(middle - reach), math.tanh(middle + reach)
