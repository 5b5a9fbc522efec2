"""Information that scores reveal about secret gold, and the Ladder, which reduces it."""

import math
from collections.abc import Iterable

import numpy as np

from scoring.metrics.base import Floats, Metric, WeightedMetric, unit_rows
from scoring.stats import jackknife

#: Rows are resampled as units; fewer than these have no standard error.
MIN_UNITS = jackknife.MIN_UNITS
#: From so many bits an instance on random answers have found out 5 % of the gold over chance, where there are
#: two answers to choose from; with more answers it takes more (`bench/leak.py`).
BITS_NEEDED = 0.25
#: A phase without an end is looked at for so many days.
A_YEAR = 365
#: Instances of a private part for each time a year that it ranks: told how many of two answers each are right
#: in n instances, t times, random answers find 0.4 sqrt(t / n) of them over chance, and less where there are
#: more answers (`bench/leak.py`). With 64 that is 5 %, even where ranks tell the score itself.
INSTANCES_BY_RANKS = 64


def ladder_step(metric: Metric, rows: Floats) -> float:
    """The standard error of a value over these rows of units, rounded up to 1, 2 or 5 times a power of ten.
    Its own digits would tell something of the gold too. Where all units are alike it is the largest error
    that so many could have. NaN with fewer than three units, and where there is none.
    """
    is_weighted = isinstance(metric, WeightedMetric)
    units = len(np.unique(rows[:, 0])) if is_weighted else len(rows)
    if units < MIN_UNITS:
        return math.nan
    error = float(jackknife.jackknife_error(_left_out(metric, rows)))
    low, high = metric.value_range
    if not error > 0:
        error = (high - low) / (2 * math.sqrt(units))
    if not math.isfinite(error):
        return math.nan
    power = 10.0 ** math.floor(math.log10(error))
    return next(
        step * power
        for step in (1, 2, 5, 10)
        if step * power >= error * (1 - jackknife.ROUNDING)
    )


def count_differing_rows(metric: Metric, stats: Floats, before: Floats) -> int:
    """Count the instances in which two runs on the same gold differ.

    Instances differ if their values differ. If the metric has no value of single
    instances, or the same one for all, they differ if their statistics differ.
    """
    stats, before = metric.paired_rows(stats), metric.paired_rows(before)
    values, values_before = _row_values(metric, stats), _row_values(metric, before)
    if np.ptp([values, values_before]) > 0:
        return int((values != values_before).sum())
    # A matrix may be as wide as its run needs; columns that a run lacks are 0.
    width = max(stats.shape[1], before.shape[1])
    a, b = (np.pad(own, ((0, 0), (0, width - own.shape[1]))) for own in (stats, before))
    return int((a != b).any(axis=1).sum())


def correlation_of_rows(metric: Metric, stats: Floats, before: Floats) -> float:
    """Return how two runs on the same gold go together, instance by instance.

    The correlation is that of the values of single instances. If a run has the same
    value for all instances, it is that of the changes of the score when an instance is
    left out. NaN if these do not vary either, or do not show how far the score may be off.
    """
    if isinstance(metric, WeightedMetric) and not metric.has_interval:
        return math.nan
    both = [_row_values(metric, own) for own in (stats, before)]
    if not all(np.ptp(values) > 0 for values in both) and not metric.per_unit:
        both = [_left_out_rows(metric, own) for own in (stats, before)]
    if not all(np.ptp(values) > 0 for values in both):
        return math.nan
    return float(np.corrcoef(both[0], both[1])[0, 1])


def _row_values(metric: Metric, stats: Floats) -> Floats:
    """Return the value of each instance alone, 0 where a single one has none."""
    if isinstance(metric, WeightedMetric):
        return np.zeros(len(stats))
    if metric.per_unit:
        return np.asarray(stats[:, 0], dtype=np.float64)
    return np.nan_to_num(np.asarray(metric.aggregate(stats), dtype=np.float64))


def _left_out_rows(metric: Metric, stats: Floats) -> Floats:
    if isinstance(metric, WeightedMetric):
        stats = unit_rows(metric, stats, np.arange(len(stats)))
    return np.nan_to_num(_left_out(metric, stats))


def _left_out(metric: Metric, rows: Floats) -> Floats:
    """Return the values without each row, or without each unit of a weighted metric."""
    if isinstance(metric, WeightedMetric):
        return metric.left_out(rows)
    return np.asarray(metric.aggregate(rows.sum(axis=0) - rows), dtype=np.float64)


def laddered(
    value: float | None, step: float, best: float | None, sign: int = 1
) -> float | None:
    """The number that is told: on the grid of the step; None where it is no step better than the best.
    ``best`` is what was told before, turned so that higher is better. Blum and Hardt 2015, The Ladder: A
    Reliable Leaderboard for Machine Learning Competitions.
    """
    if (
        value is None
        or math.isnan(step)
        or (best is not None and sign * value <= best + step)
    ):
        return None
    # With as many digits as the step has.
    return round(round(value / step) * step, max(0, -math.floor(math.log10(step))))


def bits_told(tries: float, sizes: Iterable[int]) -> float:
    """At most so many bits are told by tries that each show a number over as many instances as ``sizes`` say.
    By counting: of n instances that are right or wrong 0 to n are right, so that a number has n + 1 values;
    to how many digits it is told does not matter as long as these differ.
    """
    return tries * sum(math.log2(size + 1) for size in sizes)


def bits_by_ladder(tries: float, instances: int) -> float:
    """At most so many bits are told by the Ladder over so many tries. Each new number is a step above the
    last, and a step is no smaller than half a standard error of 1 / (2 sqrt(n)), so that there are at most 4
    sqrt(n) of them: which tries they are, and which step each.
    """
    steps = min(tries, 4 * math.sqrt(instances))
    return steps * (
        math.log2(max(2.0, tries)) + math.log2(4 * math.sqrt(max(1, instances)))
    )


def ranks_a_year(instances: int, runs: int = 1) -> int:
    """Return how often a year a private part of ``instances`` may rank ``runs`` of a team; 0 means never."""
    times = instances // (INSTANCES_BY_RANKS * runs)
    return max((count for count in (1, 2, 3, 4, 6, 12) if count <= times), default=0)


def bits_by_ranks(times: float, teams: int) -> float:
    """Return the bits of a team's rank among ``teams``, published ``times`` times."""
    return times * math.log2(max(2, teams))
