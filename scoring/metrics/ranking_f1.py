"""F1 of precision and recall of rankings at a cut-off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Floats
from scoring.metrics.means import MeanMetric
from scoring.metrics.ranking import numbered
from tasks.types.ranking.lists import ranks_of


class RankingF1(MeanMetric):
    """The mean over instances of F1 = 2PR / (P + R), 0 where nothing is found.

    Precision P is the share of the first ``cut`` places that hold gold candidates, also where a ranking is
    shorter, recall R the share of the gold candidates that are there. An instance without an answer has 0.
    With one gold candidate each it is 2 / (cut + 1) of the recall.
    """

    columns = ("precision", "recall", "f1")
    citation = "van Rijsbergen 1979, Information Retrieval, chapter 7"
    form = "contexts"

    def __init__(self, name: str, rules: str, *, cut: int) -> None:
        super().__init__(name, rules, column="f1")
        self.cut, self.statistic = cut, f"f1@{cut}"

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {**super().parameters, "cut": self.cut, "f1": self.form}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Gold and answers are lists of candidates, best first in the answers."""
        wanted, ranked = numbered(gold, answers)
        ranks, sizes = ranks_of(wanted, ranked), wanted.lengths
        rows = np.repeat(np.arange(len(wanted)), sizes)[(ranks > 0) & (ranks <= self.cut)]
        found = np.bincount(rows, minlength=len(wanted))
        counts = wanted.present & (sizes > 0)
        shares = (found / self.cut, found / np.maximum(sizes, 1), 2 * found / (self.cut + sizes))
        return np.column_stack([*shares, counts]).astype(np.float64)


class F1OfMeans(RankingF1):
    """F1 of the mean precision and the mean recall over instances.

    It is the same as the mean of F1 where every instance has equally many gold candidates.
    """

    form = "means"

    def aggregate(self, sums: Floats) -> Floats:
        precision, recall, count = sums[..., 0], sums[..., 1], sums[..., -1]
        both = precision + recall
        value = np.divide(2 * precision * recall, both * count, out=np.zeros(count.shape), where=both > 0)
        return np.where(count > 0, value, np.nan)
