"""Estimate the information that scores reveal about secret gold, and reduce the
information with the Ladder mechanism.
"""

import math
from collections.abc import Iterable

import numpy as np

from scoring.metrics.base import Floats, Metric, WeightedMetric, build_unit_rows
from scoring.stats import jackknife

#: A standard error needs at least this number of units.
MIN_UNITS_FOR_ERROR = jackknife.MIN_INFLUENTIAL_UNITS
#: With this many bits per instance, random answers beat chance by 5 percentage points.
#: The number of bits is for two possible answers, and more answers need more bits.
#: `bench/leak.py` measures how many bits an attacker needs.
DANGEROUS_BITS_PER_INSTANCE = 0.25
#: A phase without an end is assumed to last this number of days.
DAYS_OF_ENDLESS_PHASE = 365
#: Publishing ranks once per year requires this number of private instances.
#: The required number assumes the worst case, in which ranks reveal the score.
#: After t rankings on n instances, random answers gain 0.4 sqrt(t / n) accuracy.
#: The gain in accuracy is 5 percentage points with 64 instances per publication.
#: More than two possible answers reduce this gain in accuracy (`bench/leak.py`).
INSTANCES_PER_RANK_PUBLICATION = 64


def compute_ladder_step(metric: Metric, rows: Floats) -> float:
    """Return the Ladder's step, which is a value's standard error over rows of units,
    rounded up to 1, 2 or 5 times a power of ten.

    The standard error is rounded because its exact digits would also reveal information
    on the gold. If all units are equal, the step is computed from the largest possible
    standard error for this number of units. The step is NaN with fewer than three
    units, or if the standard error is undefined.
    """
    is_weighted = isinstance(metric, WeightedMetric)
    units = len(np.unique(rows[:, 0])) if is_weighted else len(rows)
    if units < MIN_UNITS_FOR_ERROR:
        return math.nan
    error = float(
        jackknife.compute_jackknife_error(_compute_jackknife_values(metric, rows))
    )
    low, high = metric.value_range
    if not error > 0:
        error = (high - low) / (2 * math.sqrt(units))
    if not math.isfinite(error):
        return math.nan
    power = 10.0 ** math.floor(math.log10(error))
    return next(
        step * power
        for step in (1, 2, 5, 10)
        if step * power >= error * (1 - jackknife.ROUNDING_TOLERANCE)
    )


def count_differing_rows(metric: Metric, stats: Floats, before: Floats) -> int:
    """Count the instances in which two runs on the same gold have different values.

    If the metric has no values of single instances, or all values are equal, the rows
    of the matrix are compared instead.
    """
    stats, before = metric.paired_rows(stats), metric.paired_rows(before)
    values, values_before = (
        _compute_row_values(metric, stats),
        _compute_row_values(metric, before),
    )
    if np.ptp([values, values_before]) > 0:
        return int((values != values_before).sum())
    # The matrices of two runs may differ in the number of columns.
    # Missing columns are 0.
    width = max(stats.shape[1], before.shape[1])
    a, b = (np.pad(own, ((0, 0), (0, width - own.shape[1]))) for own in (stats, before))
    return int((a != b).any(axis=1).sum())


def correlate_row_values(metric: Metric, stats: Floats, before: Floats) -> float:
    """Return the correlation between two runs' values of the same instances.

    If a run has the same value for all instances, the jackknife values of both runs are
    correlated instead. The correlation is NaN if the jackknife values are constant too,
    or if the metric has no jackknife error.
    """
    if isinstance(metric, WeightedMetric) and not metric.has_interval:
        return math.nan
    both = [_compute_row_values(metric, own) for own in (stats, before)]
    if not all(np.ptp(values) > 0 for values in both) and not metric.per_unit:
        both = [
            _compute_finite_jackknife_values(metric, own) for own in (stats, before)
        ]
    if not all(np.ptp(values) > 0 for values in both):
        return math.nan
    return float(np.corrcoef(both[0], both[1])[0, 1])


def _compute_row_values(metric: Metric, stats: Floats) -> Floats:
    """Return the metric's value for each instance, or 0 if the value is undefined."""
    if isinstance(metric, WeightedMetric):
        return np.zeros(len(stats))
    if metric.per_unit:
        return np.asarray(stats[:, 0], dtype=np.float64)
    return np.nan_to_num(np.asarray(metric.aggregate(stats), dtype=np.float64))


def _compute_finite_jackknife_values(metric: Metric, stats: Floats) -> Floats:
    if isinstance(metric, WeightedMetric):
        stats = build_unit_rows(metric, stats, np.arange(len(stats)))
    return np.nan_to_num(_compute_jackknife_values(metric, stats))


def _compute_jackknife_values(metric: Metric, rows: Floats) -> Floats:
    """Return a metric's jackknife values over rows, or over units for a weighted
    metric.
    """
    if isinstance(metric, WeightedMetric):
        return metric.left_out(rows)
    return np.asarray(metric.aggregate(rows.sum(axis=0) - rows), dtype=np.float64)


def round_score_by_ladder(
    value: float | None, step: float, best: float | None, sign: int = 1
) -> float | None:
    """Return the score that the Ladder discloses, which is rounded to a multiple of the
    step, or None if the value is not more than a step better than ``best``.

    ``best`` is the last disclosed score, multiplied by ``sign`` so that higher scores
    are better. The Ladder is the mechanism of Blum and Hardt 2015 (A Reliable
    Leaderboard for Machine Learning Competitions).
    """
    if (
        value is None
        or math.isnan(step)
        or (best is not None and sign * value <= best + step)
    ):
        return None
    # The disclosed score has as many decimals as the step.
    return round(round(value / step) * step, max(0, -math.floor(math.log10(step))))


def compute_max_bits_by_scores(tries: float, sizes: Iterable[int]) -> float:
    """Return the maximum number of bits that ``tries`` submissions reveal about the
    gold.

    Each submission has one score for each element of ``sizes``, which contains the
    numbers of instances of the scores. A score over n instances that are right or wrong
    has n + 1 possible values. The maximum assumes that scores have enough digits to
    distinguish all possible values.
    """
    return tries * sum(math.log2(size + 1) for size in sizes)


def compute_max_bits_by_ladder(tries: float, instances: int) -> float:
    """Return the maximum number of bits that the Ladder reveals about the gold over
    ``tries`` submissions.

    Each score that the Ladder discloses is at least a step above the previous disclosed
    score. A step of the Ladder is at least half of the standard error 1 / (2 sqrt(n)),
    so there are at most 4 sqrt(n) disclosed scores. The bits encode which submissions
    have a disclosed score, and the values of the disclosed scores.
    """
    steps = min(tries, 4 * math.sqrt(instances))
    return steps * (
        math.log2(max(2.0, tries)) + math.log2(4 * math.sqrt(max(1, instances)))
    )


def compute_rank_publications_per_year(instances: int, runs: int = 1) -> int:
    """Return how many times per year ranks on private instances may be published, or 0
    if ranks must not be published. Each publication ranks ``runs`` runs of each team on
    a private part of ``instances`` instances.
    """
    times = instances // (INSTANCES_PER_RANK_PUBLICATION * runs)
    return max((count for count in (1, 2, 3, 4, 6, 12) if count <= times), default=0)


def compute_bits_by_ranks(times: float, teams: int) -> float:
    """Return the number of bits that a team's rank among ``teams`` teams reveals about
    the gold if the rank is published ``times`` times.
    """
    return times * math.log2(max(2, teams))
