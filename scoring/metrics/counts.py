"""Precision, recall and F1 from counts: pooled (micro), or averaged over units (macro)."""

from __future__ import annotations

from collections.abc import Mapping

from scoring.metrics.base import Floats, Metric, ratio
from scoring.metrics.f1 import harmonic_mean

PARTS = ("precision", "recall", "f1")


class CountMetric(Metric):
    """Precision, recall or F1 of matrices with the columns true positive, false positive, false negative.

    Micro pools the counts. Macro is the mean precision and the mean recall over units, and F1 is computed
    *from those two means*, as the CL-SciSumm programs do. 0/0 is 0.
    """

    def __init__(self, name: str, rules: str, *, part: str, average: str) -> None:
        super().__init__(name, rules)
        self.part, self.average = part, average
        self.per_unit = average == "macro"

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {"average": self.average}

    def unit_stats(self, sums: Floats) -> Floats:
        """Precision, recall and 1 for each unit: their sums give the two means."""
        rows = sums.copy()
        rows[:, 0] = ratio(sums[:, 0], sums[:, 0] + sums[:, 1])
        rows[:, 1] = ratio(sums[:, 0], sums[:, 0] + sums[:, 2])
        rows[:, 2] = 1
        return rows

    def aggregate(self, sums: Floats) -> Floats:
        if self.average == "macro":
            precision, recall = ratio(sums[..., 0], sums[..., 2]), ratio(sums[..., 1], sums[..., 2])
        else:
            precision = ratio(sums[..., 0], sums[..., 0] + sums[..., 1])
            recall = ratio(sums[..., 0], sums[..., 0] + sums[..., 2])
        if self.part == "f1":
            return harmonic_mean(precision, recall)
        return precision if self.part == "precision" else recall
