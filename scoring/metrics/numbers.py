"""Agreement of numbers with the gold's: correlations, errors, concordance; equal to SciPy and scikit-learn.

All but the correlations of ranks (``scoring.metrics.weighted``) follow from sums of products.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Fixed, Floats, Metric
from scoring.metrics.classification import QuadraticKappa
from tasks.types.base import OptionRefused
from tasks.types.columns import present

#: A variance that is smaller against the square of the mean is nothing but rounding.
ROUNDING = 1e-14
MIN_LEVELS = 2


class Moments(Metric):
    """What follows from the sums of gold x, answers y, their squares and products, and |x - y|. Instances
    without an answer do not count. Undefined (NaN) over none.
    """

    statistic = "moments"
    citation = "Pearson 1896, Mathematical Contributions to the Theory of Evolution III, Phil. Trans. A 187"
    ends: tuple[float, float] | None = (-1.0, 1.0)
    is_valid_in_one_label = False
    counts_by_last_column = True

    def instance_stats(
        self, gold: Sequence[float | None], answers: Sequence[float | None]
    ) -> Floats:
        """(n, 7): x, y, x², y², xy, |x - y|, and 1; zeros where either is missing."""
        counts = present(gold) & present(answers)
        x, y = (
            np.nan_to_num(np.array(side, dtype=np.float64)) * counts
            for side in (gold, answers)
        )
        return np.column_stack(
            [x, y, x * x, y * y, x * y, np.abs(x - y), counts]
        ).astype(np.float64)

    def aggregate(self, sums: Floats) -> Floats:
        count = sums[..., 6]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(
                np.where(count > 0, self.of_means(sums / count[..., None]), np.nan)
            )

    @abstractmethod
    def of_means(self, means: Floats) -> Floats:
        """From (…, 7) means of the columns to (…) values."""


def variances(means: Floats) -> tuple[Floats, Floats, Floats]:
    """Of x and y and their covariance; 0 where there is nothing but rounding."""
    x, y = means[..., 0], means[..., 1]
    of_x, of_y = (
        np.where(square - mean**2 > ROUNDING * square, square - mean**2, 0.0)
        for mean, square in ((x, means[..., 2]), (y, means[..., 3]))
    )
    return of_x, of_y, means[..., 4] - x * y


class Pearson(Moments):
    """Pearson's correlation; undefined where gold or answers are all equal."""

    def of_means(self, means: Floats) -> Floats:
        of_x, of_y, shared = variances(means)
        spread = np.sqrt(of_x * of_y)
        return np.clip(np.where(spread > 0, shared / spread, np.nan), -1.0, 1.0)


class Concordance(Moments):
    """Lin's concordance correlation; undefined where gold and answers are one and the same number."""

    citation = "Lin 1989, A Concordance Correlation Coefficient to Evaluate Reproducibility, Biometrics 45"

    def of_means(self, means: Floats) -> Floats:
        of_x, of_y, shared = variances(means)
        whole = of_x + of_y + (means[..., 0] - means[..., 1]) ** 2
        return np.where(whole > 0, 2 * shared / whole, np.nan)


class Determination(Moments):
    """R²: the share of the gold's variance that the answers explain; undefined where the gold has none."""

    citation = (
        "Wright 1921, Correlation and Causation, Journal of Agricultural Research 20"
    )
    ends = (-math.inf, 1.0)

    def of_means(self, means: Floats) -> Floats:
        of_x = variances(means)[0]
        errors = means[..., 2] - 2 * means[..., 4] + means[..., 3]
        return np.where(of_x > 0, 1 - errors / of_x, np.nan)


class AbsoluteError(Moments):
    """The mean absolute error."""

    stands_in = (Fixed.BAND_OF_GOLD,)
    higher_is_better = False
    is_valid_in_one_label = True
    scale = 0
    ends = (0.0, math.inf)
    citation = "Willmott and Matsuura 2005, Advantages of the mean absolute error, Climate Research 30"

    def of_means(self, means: Floats) -> Floats:
        return means[..., 5]


class SquaredError(AbsoluteError):
    """The root of the mean squared error."""

    citation = (
        "Gauss 1823, Theoria combinationis observationum erroribus minimis obnoxiae"
    )

    def of_means(self, means: Floats) -> Floats:
        return np.sqrt(
            np.maximum(means[..., 2] - 2 * means[..., 4] + means[..., 3], 0.0)
        )


class LevelKappa(QuadraticKappa):
    """Quadratic weighted kappa of numbers on levels; both sides go to the nearest level, halves up."""

    def __init__(self, name: str, rules: str, *, levels: Sequence[float]) -> None:
        if len(levels) < MIN_LEVELS:
            raise OptionRefused(f"{name} needs `least`, `most` and `step`")
        super().__init__(name, rules, labels=[str(level) for level in levels])
        self.levels = np.array(levels)

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        return super().instance_stats(self._nearest(gold), self._nearest(answers))

    def _nearest(self, side: Sequence[Any]) -> list[str | None]:
        assert self.labels is not None
        middles = (self.levels[1:] + self.levels[:-1]) / 2
        return [
            None
            if value is None
            else str(self.labels[int(np.searchsorted(middles, value, side="right"))])
            for value in side
        ]
