"""Compute bootstrap intervals by multiplying resampling weights by a matrix of
sufficient statistics. The computed bootstrap intervals are identical on every machine.

The source is Efron and Tibshirani 1993 (An Introduction to the Bootstrap), chapter 13
for percentile intervals and section 14.3 for BCa intervals. The bootstrap samples
units, and a unit is an instance, or a cluster (topic, paper) that the task type
declares.
"""

from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np

from scoring.metrics.base import Floats, Metric, WeightedMetric
from scoring.stats.interval_methods import BCA, PERCENTILE, RESAMPLING_METHODS

#: Maximum number of sampled units that are in memory at once.
MAX_SAMPLED_UNITS_IN_MEMORY = 1_000_000
CONFIDENCE_LEVEL = 0.95

IntervalBounds = tuple[float, float]
#: A metric and the metric's rows for all units, an array (units, m).
MetricAndRows = tuple[Metric, Floats]


class BootstrapResampler:
    """Samples units with replacement.

    All metrics with the same number of units and the same seed are computed on the same
    bootstrap samples. Sampling uses the raw bits of PCG64, because NumPy guarantees
    that these bits never change. NumPy's distributions, in contrast, may change between
    versions of NumPy. Each sampled unit uses 32 random bits. The bias of the sampling
    probabilities is at most units / 2**32.
    """

    def __init__(self, units: int, *, resamples: int, seed: int) -> None:
        if not 0 <= units < 2**32:
            raise ValueError(f"{units} units cannot be drawn from 32 bits")
        self.units, self.resamples, self.seed = units, resamples, seed

    def weights(self) -> Iterator[Floats]:
        """Yield arrays (b, units) with the number of times that each unit occurs in
        each of b bootstrap samples.
        """
        bits = np.random.PCG64(self.seed)
        per_block = max(1, MAX_SAMPLED_UNITS_IN_MEMORY // max(1, self.units))
        for start in range(0, self.resamples, per_block):
            yield self._draw_unit_counts(bits, min(per_block, self.resamples - start))

    def _draw_unit_counts(self, bits: np.random.PCG64, count: int) -> Floats:
        halves = (
            bits.random_raw((count * self.units + 1) // 2)
            .astype("<u8", copy=False)
            .view("<u4")
        )
        counts = np.empty((count, self.units))
        for row, draws in zip(
            counts, halves[: counts.size].reshape(counts.shape), strict=True
        ):
            # A unit's index is 32 random bits times the number of units over 2**32.
            drawn = (draws * np.uint64(self.units) >> np.uint64(32)).view(np.int64)
            row[:] = np.bincount(drawn, minlength=self.units)
        return counts

    def compute_resampled_sums(self, tables: Sequence[Floats]) -> list[Floats]:
        """For each table (units, m), return an array (resamples, m) with the sums of
        the sampled rows.
        """
        if not tables:
            return []
        joined = round_to_summable_grid(np.hstack(tables), self.units)
        blocks = list(map(joined.__rmatmul__, self.weights()))
        drawn = np.concatenate(blocks) if blocks else np.zeros((0, joined.shape[1]))
        return np.split(
            drawn, np.cumsum([table.shape[1] for table in tables])[:-1], axis=1
        )

    def intervals(
        self,
        measured: Sequence[MetricAndRows],
        *,
        level: float = CONFIDENCE_LEVEL,
        method: str = PERCENTILE,
    ) -> list[IntervalBounds | None]:
        """Return an interval for each measured metric, all from the same bootstrap
        samples.

        An interval is None without bootstrap samples, with fewer than two units, or if
        the metric's value in a sample is undefined or infinite.
        """
        if method not in RESAMPLING_METHODS:
            raise ValueError(
                f"no resamples give intervals “{method}”; there are {', '.join(RESAMPLING_METHODS)}"
            )
        if self.units < 2 or not self.resamples:
            return [None] * len(measured)
        tables = {
            id(rows): rows
            for metric, rows in measured
            if not isinstance(metric, WeightedMetric)
        }
        sums = dict(
            zip(tables, self.compute_resampled_sums(list(tables.values())), strict=True)
        )
        return [
            compute_bootstrap_interval(
                metric,
                rows,
                self._compute_bootstrap_values(metric, rows, sums),
                level=level,
                method=method,
            )
            for metric, rows in measured
        ]

    def _compute_bootstrap_values(
        self, metric: Metric, rows: Floats, sums: dict[int, Floats]
    ) -> Floats:
        if not isinstance(metric, WeightedMetric):
            return metric.aggregate(sums[id(rows)])
        if not metric.has_interval:
            return np.full(self.resamples, np.nan)
        units = np.unique(rows[:, 0], return_inverse=True)[1]
        return np.concatenate(
            [metric.value(rows[:, 1:], drawn[:, units]) for drawn in self.weights()]
        )


def compute_bootstrap_interval(
    metric: Metric, rows: Floats, values: Floats, *, level: float, method: str
) -> IntervalBounds | None:
    """Return the interval from a metric's bootstrap values, or None if one of these
    values is undefined or infinite.
    """
    if not np.isfinite(values).all():
        return None
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    shares = (
        _compute_bca_quantile_levels(metric, rows, values, ends)
        if method == BCA
        else ends
    )
    if shares is None:
        return None
    low, high = np.quantile(values, shares)
    return float(low), float(high)


def _compute_bca_quantile_levels(
    metric: Metric, rows: Floats, values: Floats, shares: Floats
) -> Floats | None:
    """Return the quantile levels of bootstrap values that bound a BCa interval (Efron
    and Tibshirani, equations 14.9 to 14.15).

    The bias correction uses the share of bootstrap values below the metric's value.
    Equal values count half. The share of values below the metric's value is limited so
    that the bias correction is finite. The acceleration of the BCa interval is
    estimated by the jackknife. The result is None if a jackknife value is undefined.
    """
    if isinstance(metric, WeightedMetric):
        value, left_out = metric.total(rows), metric.left_out(rows)
    else:
        exact = round_to_summable_grid(rows, len(rows))
        total = exact.sum(axis=0)
        value = float(metric.aggregate(total[None])[0])
        left_out = metric.aggregate(total - exact)
    if not np.isfinite(left_out).all():
        return None
    below = np.mean(values < value) + np.mean(values == value) / 2
    margin = 0.5 / len(values)
    normal = NormalDist()
    bias = normal.inv_cdf(float(np.clip(below, margin, 1 - margin)))
    deviations = left_out.mean() - left_out
    spread = float((deviations**2).sum())
    acceleration = (
        float((deviations**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0
    )
    shifted = (bias + normal.inv_cdf(float(share)) for share in shares)
    return np.array(
        [normal.cdf(bias + shift / (1 - acceleration * shift)) for shift in shifted]
    )


#: Grid numbers have one bit less than a double, which keeps sums of them exact.
GRID_BITS = 52


class NonFiniteStatistics(ValueError):
    """The exception for a row of statistics that contains an infinite value or NaN. The
    message of the exception names the row and the column.
    """


def refuse_non_finite_rows(rows: Floats, what: str) -> None:
    """Raise NonFiniteStatistics with the first row and column that is infinite or NaN."""
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        row, column = bad[0].tolist()
        raise NonFiniteStatistics(
            f"{what}: column {column} of row {row} is infinite or not a number"
        )


def round_to_summable_grid(rows: Floats, weight: float) -> Floats:
    """Return the (n, m) rows, rounded to a grid on which sums with integer weights are
    exact, where ``weight`` is the sum of the weights.

    Rows of counts stay unchanged unless their sum exceeds 2**52. Raises NonFiniteStatistics.
    """
    largest = np.abs(rows).max(axis=0, initial=0.0)
    if not np.isfinite(largest).all():
        refuse_non_finite_rows(rows, "statistics")
    _, exponent = np.frexp(largest * weight)
    step = np.ldexp(1.0, np.maximum(exponent - GRID_BITS, -1000))
    exact = np.asarray(rows / step)
    np.rint(exact, out=exact)
    exact *= step
    return exact
