"""Intervals by resampling: from weights times a matrix of sufficient statistics, the same on every machine.

Efron and Tibshirani 1993, An Introduction to the Bootstrap: chapter 13 (percentile intervals), section 14.3
(BCa). A unit is what is drawn: an instance, or the cluster (topic, paper) that its task type declares.
"""

from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np

from scoring.metrics.base import Floats, Metric, WeightedMetric
from scoring.stats.interval_methods import BCA, PERCENTILE, RESAMPLED

#: Maximum number of draws in memory at once.
BLOCK = 1_000_000
LEVEL = 0.95

Bounds = tuple[float, float]
#: A metric and the (units, m) rows whose sum it turns into a value.
Measured = tuple[Metric, Floats]


class Resampler:
    """Draws units with replacement; the same size and seed give the same draws, whatever is measured on them.
    The draws come from the raw bits of PCG64, whose stream NumPy promises to keep, and not from its
    distributions, which may change between versions. Each draw takes 32 bits, so that no unit is favoured by
    more than units / 2**32.
    """

    def __init__(self, units: int, *, resamples: int, seed: int) -> None:
        if not 0 <= units < 2**32:
            raise ValueError(f"{units} units cannot be drawn from 32 bits")
        self.units, self.resamples, self.seed = units, resamples, seed

    def weights(self) -> Iterator[Floats]:
        """Blocks of (b, units) counts: how often each unit was drawn in each resample."""
        bits = np.random.PCG64(self.seed)
        per_block = max(1, BLOCK // max(1, self.units))
        for start in range(0, self.resamples, per_block):
            yield self._drawn(bits, min(per_block, self.resamples - start))

    def _drawn(self, bits: np.random.PCG64, count: int) -> Floats:
        halves = (
            bits.random_raw((count * self.units + 1) // 2)
            .astype("<u8", copy=False)
            .view("<u4")
        )
        counts = np.empty((count, self.units))
        for row, draws in zip(
            counts, halves[: counts.size].reshape(counts.shape), strict=True
        ):
            # A unit's number is the high half of a 32-bit draw times the number of units.
            drawn = (draws * np.uint64(self.units) >> np.uint64(32)).view(np.int64)
            row[:] = np.bincount(drawn, minlength=self.units)
        return counts

    def sums(self, tables: Sequence[Floats]) -> list[Floats]:
        """For each (units, m) table the (resamples, m) sums of drawn rows, from one pass over the draws."""
        if not tables:
            return []
        joined = on_grid(np.hstack(tables), self.units)
        blocks = list(map(joined.__rmatmul__, self.weights()))
        drawn = np.concatenate(blocks) if blocks else np.zeros((0, joined.shape[1]))
        return np.split(
            drawn, np.cumsum([table.shape[1] for table in tables])[:-1], axis=1
        )

    def intervals(
        self,
        measured: Sequence[Measured],
        *,
        level: float = LEVEL,
        method: str = PERCENTILE,
    ) -> list[Bounds | None]:
        """An interval for each metric, all from the same draws. None where an interval says nothing: no
        resamples, fewer than two units, or a value that is undefined or infinite in some resample. Metrics
        that are given the very same array share its sums.
        """
        if method not in RESAMPLED:
            raise ValueError(
                f"no resamples give intervals “{method}”; there are {', '.join(RESAMPLED)}"
            )
        if self.units < 2 or not self.resamples:
            return [None] * len(measured)
        tables = {
            id(rows): rows
            for metric, rows in measured
            if not isinstance(metric, WeightedMetric)
        }
        sums = dict(zip(tables, self.sums(list(tables.values())), strict=True))
        return [
            bounds(
                metric,
                rows,
                self._values_of(metric, rows, sums),
                level=level,
                method=method,
            )
            for metric, rows in measured
        ]

    def _values_of(
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


def bounds(
    metric: Metric, rows: Floats, values: Floats, *, level: float, method: str
) -> Bounds | None:
    """The interval that a metric's resampled values give; None where one of them is undefined or infinite."""
    if not np.isfinite(values).all():
        return None
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    shares = _bca_shares(metric, rows, values, ends) if method == BCA else ends
    if shares is None:
        return None
    low, high = np.quantile(values, shares)
    return float(low), float(high)


def _bca_shares(
    metric: Metric, rows: Floats, values: Floats, shares: Floats
) -> Floats | None:
    """The shares of resampled values at which a BCa interval ends (Efron and Tibshirani, equations 14.9 to
    14.15). The bias is taken from the share of values below the metric's own, equal ones counted half; at
    least half a resample lies on either side, so that it stays finite. The acceleration comes from leaving
    out one unit at a time; None where the metric is undefined without some unit.
    """
    if isinstance(metric, WeightedMetric):
        value, left_out = metric.total(rows), metric.left_out(rows)
    else:
        exact = on_grid(rows, len(rows))
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


#: One bit less than a double holds, so that rounding to the grid cannot carry a sum beyond it.
BITS = 52


class NotFinite(ValueError):
    """A row of statistics holds what is no number; the message says which."""


def refuse_not_finite(rows: Floats, what: str) -> None:
    """Raises NotFinite with the first such row and column."""
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        row, column = bad[0].tolist()
        raise NotFinite(
            f"{what}: column {column} of row {row} is infinite or not a number"
        )


def on_grid(rows: Floats, weight: float) -> Floats:
    """The rows, each column on a grid on which sums with whole weights of ``weight`` in all are exact.
    ``rows`` is (n, m). Counts are left as they are unless their sum exceeds 2**52. Raises NotFinite.
    """
    largest = np.abs(rows).max(axis=0, initial=0.0)
    if not np.isfinite(largest).all():
        refuse_not_finite(rows, "statistics")
    _, exponent = np.frexp(largest * weight)
    step = np.ldexp(1.0, np.maximum(exponent - BITS, -1000))
    exact = np.asarray(rows / step)
    np.multiply(np.rint(exact, out=exact), step, out=exact)
    return exact
