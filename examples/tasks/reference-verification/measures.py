"""What HALLMARK measures besides the usual: F1 by tier and with coverage, and the types."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Floats, MeanMetric, Metric, f1_of_counts, quotient
from scoring.metrics.classification import counting

POSITIVE = "HALLUCINATED"
HARDEST = 3
HALLMARK = "HALLMARK, hallmark.evaluation.metrics, https://github.com/rpatrik96/hallmark (2026)"


def tiers(gold: Sequence[Any]) -> Floats:
    """The tier of each entry; 1 where it has none."""
    return np.array([(label.record.get("difficulty_tier") or 1) for label in gold], dtype=np.float64)


class F1Of(Metric):
    """F1 of hallucinated references from (…, 3) sums: called so and rightly so, called so, are so."""

    citation = HALLMARK
    fixed = {"label": POSITIVE}

    def __init__(self, name: str, rules: str, *, given: Mapping[str, Any]) -> None:
        super().__init__(name, rules)
        self.statistic = f"hallmark:{type(self).__name__}"

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        counts = counting(gold, answers)
        is_so = np.array([label == POSITIVE for label in gold]) & counts
        called = np.array([answer == POSITIVE for answer in answers]) & counts
        return self.weighted(
            np.column_stack([is_so & called, called, is_so]).astype(np.float64), gold, answers
        )

    def weighted(self, stats: Floats, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        return stats

    def aggregate(self, sums: Floats) -> Floats:
        return f1_of_counts(sums[..., 0], sums[..., 1], sums[..., 2])


class TierWeightedF1(F1Of):
    """Right and missed ones weigh as much as their tier says, false alarms 1. 0/0 is 0."""

    def weighted(self, stats: Floats, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        own = np.where(stats[:, 2] > 0, tiers(gold), 1.0)
        return stats * own[:, None]


class HardestTierF1(F1Of):
    """Over hallucinated references of tier 3 and all valid ones. 0/0 is 0."""

    def weighted(self, stats: Floats, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        is_other = np.array([label == POSITIVE for label in gold]) & (tiers(gold) != HARDEST)
        return stats * ~is_other[:, None]


class CoverageAdjustedF1(F1Of):
    """F1 times the share of entries that are answered; an uncertain answer is one. Undefined over none."""

    def weighted(self, stats: Floats, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        answered = [answer is not None and getattr(answer, "is_answer", True) for answer in answers]
        return np.column_stack([stats, answered, np.ones(len(stats))])

    def aggregate(self, sums: Floats) -> Floats:
        return super().aggregate(sums) * quotient(sums[..., 3], sums[..., 4])


class TypeAccuracy(MeanMetric):
    """Of hallucinated references that are called so and given a type, the share with the right type.

    Undefined without any.
    """

    citation = HALLMARK
    columns = ("right",)
    statistic = "hallmark:type"

    def __init__(self, name: str, rules: str, *, given: Mapping[str, Any]) -> None:
        super().__init__(name, rules, column="right")

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        rows = np.zeros((len(gold), 2))
        for row, (label, answer) in enumerate(zip(gold, answers, strict=True)):
            found = getattr(answer, "record", {}).get("predicted_hallucination_type")
            if label == POSITIVE and answer == POSITIVE and found:
                rows[row] = found == label.record.get("hallucination_type"), 1
        return rows
