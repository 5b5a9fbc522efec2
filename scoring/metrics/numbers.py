"""Metrics of the agreement of predicted numbers with the gold, which are correlations,
errors and concordance.

The values of the metrics equal those of SciPy and scikit-learn. The metrics of this
module are computed from sums of products. Rank correlations are in
``scoring.metrics.weighted``.
"""

import math
from abc import abstractmethod
from collections.abc import Container, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from scoring.metrics.base import FixedValueReason, Floats, Metric
from scoring.metrics.classification import QuadraticKappa
from tasks.types.base import OptionRefused
from tasks.types.columns import compute_mask_of_present_rows

#: Variances of numbers below this multiple of the mean square are rounding errors.
ROUNDING_TOLERANCE = 1e-14
MIN_KAPPA_LEVELS = 2
#: Number of columns of matrices of version 1, in which numbers were not centred.
COLUMNS_OF_EARLIER_VERSION = 7
#: Two runs are not compared if answers have a larger distance from the gold's centre.
#: The unit of this maximum distance is the standard deviation of the answers.
MAX_CENTRE_DISTANCE = 1000


@dataclass(frozen=True)
class MomentMeans:
    """The means over instances from which metrics of numbers are computed, as arrays
    (…). ``x`` is the gold minus a centre, ``z`` the answer minus the centre of the
    answers, and ``xx``, ``zz`` and ``xz`` are products of ``x`` and ``z``. The last
    three fields are means of the difference of gold and answer, of its absolute value
    and of its square.
    """

    x: Floats
    xx: Floats
    z: Floats
    zz: Floats
    xz: Floats
    distance: Floats
    size: Floats
    square: Floats

    @property
    def gold_variance(self) -> Floats:
        return compute_variance(self.x, self.xx)

    @property
    def answer_variance(self) -> Floats:
        return compute_variance(self.z, self.zz)

    @property
    def covariance(self) -> Floats:
        return self.xz - self.x * self.z


def compute_variance(mean: Floats, square: Floats) -> Floats:
    """Return the variance of numbers from their mean and mean square, or 0 if the
    result is a rounding error.
    """
    return np.where(
        square - mean**2 > ROUNDING_TOLERANCE * square, square - mean**2, 0.0
    )


class Moments(Metric):
    """A metric computed from sums of gold and answers, and of their squares and
    products.

    Sums of squares of large numbers lose precision. Gold and answers are therefore
    centred on the median of the gold, which is the same for all runs. A second copy of
    the answers is centred on the median of the answers. Instances without an answer do
    not count. The value is NaN if no instance counts.
    """

    shape = "moments"
    statistic = "centred-moments"
    #: Matrices of version 1 have this name, the shape (n, 7) and no centred numbers.
    #: The columns of version 1 are x, y, x², y², xy, |x - y| and 1.
    earlier_statistic = "moments"
    version = 2
    citation = "Pearson 1896, Mathematical Contributions to the Theory of Evolution III, Phil. Trans. A 187"
    ends: tuple[float, float] | None = (-1.0, 1.0)
    is_valid_in_one_label = False
    counts_by_last_column = True

    def instance_stats(
        self, gold: Sequence[float | None], answers: Sequence[float | None]
    ) -> Floats:
        """Return an array (n, 11) with x, y, x², y², xy, |x - y|, (x - y)², z, z², xz
        and 1.

        The columns x and y are gold and answer, both minus the median of the gold. The
        column z is the answer minus the median of the answers. All columns of an
        instance are 0 if the instance lacks gold or an answer.
        """
        counts = compute_mask_of_present_rows(gold) & compute_mask_of_present_rows(
            answers
        )
        wanted, answered = (
            np.nan_to_num(np.array(side, dtype=np.float64)) for side in (gold, answers)
        )
        centre = compute_median(wanted[compute_mask_of_present_rows(gold)])
        distance = (wanted - answered) * counts
        x, y = (wanted - centre) * counts, (answered - centre) * counts
        z = (answered - compute_median(answered[counts])) * counts
        products = [x * x, y * y, x * y, np.abs(distance), distance**2, z, z * z, x * z]
        return np.column_stack([x, y, *products, counts]).astype(np.float64)

    def as_stored(self, *names: Container[str]) -> Metric | None:
        if all(self.earlier_statistic in name for name in names):
            earlier = copy(self)
            earlier.statistic, earlier.version = self.earlier_statistic, 1
            return earlier
        return super().as_stored(*names)

    def paired_rows(self, rows: Floats) -> Floats:
        """Return the matrix rows with answers centred on the gold's median. Tests
        exchange answers between two runs, so the answers of both runs need the same
        centre.
        """
        if rows.shape[1] == COLUMNS_OF_EARLIER_VERSION:
            return rows
        shared = rows.copy()
        shared[:, [7, 8, 9]] = rows[:, [1, 3, 4]]
        return shared

    def aggregate(self, sums: Floats) -> Floats:
        count = sums[..., -1]
        with np.errstate(invalid="ignore", divide="ignore"):
            means = convert_to_moment_means(sums / count[..., None])
            return np.asarray(
                np.where(count > 0, self.compute_from_means(means), np.nan)
            )

    @abstractmethod
    def compute_from_means(self, means: MomentMeans) -> Floats:
        """Return (…) values of the metric from the (…) means over instances."""


def compute_median(values: Floats) -> float:
    return float(np.median(values)) if len(values) else 0.0


def convert_to_moment_means(columns: Floats) -> MomentMeans:
    """Convert means of the (…, 11) columns of ``Moments``, or of the (…, 7) columns of
    its version 1, to ``Means``.
    """
    if columns.shape[-1] == COLUMNS_OF_EARLIER_VERSION:
        x, y, xx, yy, xy, size, _ = np.moveaxis(columns, -1, 0)
        return MomentMeans(x, xx, y, yy, xy, x - y, size, xx - 2 * xy + yy)
    x, y, xx, _, _, size, square, z, zz, xz, _ = np.moveaxis(columns, -1, 0)
    return MomentMeans(x, xx, z, zz, xz, x - y, size, square)


class Pearson(Moments):
    """Pearson's correlation. Pearson's correlation is undefined if all gold values or
    all answers are equal.
    """

    def compute_from_means(self, means: MomentMeans) -> Floats:
        spread = np.sqrt(means.gold_variance * means.answer_variance)
        return np.clip(
            np.where(spread > 0, means.covariance / spread, np.nan), -1.0, 1.0
        )

    def can_be_compared(self, rows: Floats) -> bool:
        """Return True if the root mean square distance of the answers from the gold's
        centre is at most ``MAX_CENTRE_DISTANCE`` standard deviations of the answers. Squares of
        larger distances have too few significant digits.
        """
        columns = rows.sum(axis=0)
        if not columns[-1] or len(columns) == COLUMNS_OF_EARLIER_VERSION:
            return True
        columns = columns / columns[-1]
        square, spread = (
            columns[3],
            float(convert_to_moment_means(columns).answer_variance),
        )
        return bool(spread == 0 or square <= MAX_CENTRE_DISTANCE**2 * spread)


class Concordance(Moments):
    """Lin's concordance correlation. The concordance is undefined if all gold values
    and answers are the same number.
    """

    citation = "Lin 1989, A Concordance Correlation Coefficient to Evaluate Reproducibility, Biometrics 45"

    def compute_from_means(self, means: MomentMeans) -> Floats:
        whole = means.gold_variance + means.answer_variance + means.distance**2
        return np.where(whole > 0, 2 * means.covariance / whole, np.nan)


class Determination(Moments):
    """R², the share of the gold's variance that the answers explain. R² is undefined if
    all gold values are equal.
    """

    citation = (
        "Wright 1921, Correlation and Causation, Journal of Agricultural Research 20"
    )
    ends = (-math.inf, 1.0)

    def compute_from_means(self, means: MomentMeans) -> Floats:
        of_gold = means.gold_variance
        return np.where(of_gold > 0, 1 - means.square / of_gold, np.nan)


class AbsoluteError(Moments):
    """The mean absolute error."""

    stands_in = (FixedValueReason.BAND_OF_GOLD,)
    higher_is_better = False
    is_valid_in_one_label = True
    scale = 0
    ends = (0.0, math.inf)
    citation = "Willmott and Matsuura 2005, Advantages of the mean absolute error, Climate Research 30"

    def compute_from_means(self, means: MomentMeans) -> Floats:
        return means.size


class SquaredError(AbsoluteError):
    """The root of the mean squared error."""

    citation = (
        "Gauss 1823, Theoria combinationis observationum erroribus minimis obnoxiae"
    )

    def compute_from_means(self, means: MomentMeans) -> Floats:
        return np.sqrt(np.maximum(means.square, 0.0))


class MeanSquare(SquaredError):
    """The mean squared error."""

    def compute_from_means(self, means: MomentMeans) -> Floats:
        return np.maximum(means.square, 0.0)


class LevelKappa(QuadraticKappa):
    """Quadratic weighted kappa of predicted numbers and gold numbers. Gold and answers
    are rounded to the nearest level, and upwards in the middle of two levels.
    """

    def __init__(self, name: str, rules: str, *, levels: Sequence[float]) -> None:
        if len(levels) < MIN_KAPPA_LEVELS:
            raise OptionRefused(f"{name} needs `least`, `most` and `step`")
        super().__init__(name, rules, labels=[str(level) for level in levels])
        self.levels = np.array(levels)

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        return super().instance_stats(
            self._find_nearest_labels(gold), self._find_nearest_labels(answers)
        )

    def _find_nearest_labels(self, side: Sequence[Any]) -> list[str | None]:
        assert self.labels is not None
        middles = (self.levels[1:] + self.levels[:-1]) / 2
        return [
            None
            if value is None
            else str(self.labels[int(np.searchsorted(middles, value, side="right"))])
            for value in side
        ]
