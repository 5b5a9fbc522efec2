"""Agreement beyond chance of two raters, and of several; the kappas of two are those of the metrics."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np

from scoring.metrics.classification import Classification, Kappa, Label, QuadraticKappa


def cohen(first: Sequence[Label], second: Sequence[Label]) -> float:
    """Cohen 1960, A Coefficient of Agreement for Nominal Scales. Each rater has habits of his own.

    NaN where there is nothing to rate, or both only ever say the same one thing.
    """
    return _of_two(Kappa("kappa", "", labels=sorted({*first, *second}, key=str)), first, second)


def quadratic(first: Sequence[int], second: Sequence[int]) -> float:
    """Cohen 1968, Weighted Kappa: disagreement weighs as the square of the distance. NaN as above."""
    scale = range(min([*first, *second], default=0), max([*first, *second], default=0) + 1)
    return _of_two(QuadraticKappa("quadratic_kappa", "", labels=scale), first, second)


def _of_two(metric: Classification, first: Sequence[Label], second: Sequence[Label]) -> float:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} ratings")
    return float(metric.aggregate(metric.instance_stats(first, second).sum(axis=0)))


def fleiss(items: Sequence[Sequence[Hashable]]) -> float:
    """Fleiss 1971, Measuring nominal scale agreement among many raters. All raters share their habits.

    Items with fewer than two ratings are left out; the others may have different numbers of them. NaN where
    nothing is left, or every rating is the same.
    """
    rated = [Counter(item) for item in items if len(item) > 1]
    if not rated:
        return math.nan
    totals = [sum(item.values()) for item in rated]
    observed = sum(
        sum(count * (count - 1) for count in item.values()) / (total * (total - 1))
        for item, total in zip(rated, totals, strict=True)
    ) / len(rated)
    habits: Counter[Hashable] = sum(rated, Counter())
    expected = sum((count / sum(totals)) ** 2 for count in habits.values())
    return math.nan if math.isclose(expected, 1) else (observed - expected) / (1 - expected)


Level = Literal["nominal", "ordinal", "interval"]


def alpha(items: Sequence[Sequence[Any]], level: Level) -> float:
    """Krippendorff 2004, Content Analysis, chapter 11: 1 less observed over expected disagreement.

    Each item has its ratings, from whomever; items with fewer than two are left out. Nominal ratings are
    the same or not; ordinal ones are as far apart as ratings lie between them; of interval ones the
    difference counts, squared. NaN where nothing is left or every rating is the same.
    """
    rated = [list(item) for item in items if len(item) > 1]
    values = sorted({rating for item in rated for rating in item})
    if len(values) < 2:
        return math.nan
    import krippendorff

    counts = np.array([[item.count(value) for value in values] for item in rated])
    return float(krippendorff.alpha(value_counts=counts, value_domain=values, level_of_measurement=level))
