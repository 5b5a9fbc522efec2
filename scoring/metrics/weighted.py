"""Measures that are no function of sums: they need the rows, each with a weight.

Weights of 0 and 1 leave units out and make classes, others resample. Each is computed for many weights at
once, from one order of the rows.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Floats, WeightedMetric, quotient, ratio
from scoring.metrics.calibration import confidences_of, forecasts_of, stated_confidences
from scoring.metrics.classification import left_out
from tasks.types.columns import present

FAWCETT = (
    "Fawcett 2006, An introduction to ROC analysis, Pattern Recognition Letters 27"
)


class Scored(WeightedMetric):
    """What is measured of scores that a label is right: its probability, or the confidence of a run in its
    label, or 1 minus that in another one. Instances without either are left out. Equal scores are one
    threshold.
    """

    citation = FAWCETT
    is_valid_in_one_label = False

    def __init__(
        self, name: str, rules: str, *, label: str, labels: Sequence[str]
    ) -> None:
        super().__init__(name, rules)
        self.label, self.labels = label, tuple(labels)
        self.statistic = f"scores:{label}"
        self.fixed = {"label": label, "labels": ",".join(labels)}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """(n, 3): the score, whether the gold has the label, whether the instance counts."""
        forecasts = forecasts_of(gold, answers, self.labels)
        stated, is_stated = stated_confidences(answers, self.labels)
        is_stated &= ~left_out(answers)
        is_own = np.array([answer == self.label for answer in answers], dtype=bool)
        scores = np.where(is_own, stated, 1 - stated)
        scores = np.where(
            forecasts.is_given,
            forecasts.given[:, self.labels.index(self.label)],
            scores,
        )
        counts = forecasts.has_gold & (forecasts.is_given | is_stated)
        is_positive = forecasts.wanted == self.labels.index(self.label)
        return np.column_stack([scores * counts, is_positive & counts, counts]).astype(
            np.float64
        )

    def value(self, rows: Floats, weights: Floats) -> Floats:
        """Descending by score, the (…, g) positives and negatives of each threshold, summed up to it."""
        if not len(rows):
            return np.full(weights.shape[:-1], np.nan)
        order = np.argsort(-rows[:, 0])
        ends = np.flatnonzero(np.append(np.diff(rows[order, 0]) != 0, True))
        own = weights[..., order] * rows[order, 2]
        right = np.cumsum(own * rows[order, 1], axis=-1)[..., ends]
        wrong = np.cumsum(own * (1 - rows[order, 1]), axis=-1)[..., ends]
        return self.of_thresholds(right, wrong)

    @abstractmethod
    def of_thresholds(self, right: Floats, wrong: Floats) -> Floats:
        """(…,) values from the summed weights of right and wrong at each threshold and above."""


class Auroc(Scored):
    """The area under the ROC curve, by trapezoids: how often a right one is scored above a wrong one, ties
    counting half. Undefined (NaN) without both.
    """

    def carried(self, rows: Floats) -> Floats:
        """(n, 2): positives and negatives."""
        return np.column_stack([rows[:, 1], rows[:, 2] - rows[:, 1]])

    def of_thresholds(self, right: Floats, wrong: Floats) -> Floats:
        steps = np.diff(wrong, prepend=0.0)
        before = np.concatenate(
            [np.zeros((*right.shape[:-1], 1)), right[..., :-1]], axis=-1
        )
        return quotient(
            (steps * (before + right) / 2).sum(axis=-1), right[..., -1] * wrong[..., -1]
        )


class AveragePrecision(Scored):
    """The mean over positives of the precision at their scores, as scikit-learn has it. Undefined (NaN)
    without positives.
    """

    citation = (
        "Buckley and Voorhees 2005, Retrieval System Evaluation, in TREC, MIT Press"
    )
    #: The positives.
    carriers = (1,)

    def of_thresholds(self, right: Floats, wrong: Floats) -> Floats:
        steps, precision = np.diff(right, prepend=0.0), ratio(right, right + wrong)
        return quotient((steps * self.envelope(precision)).sum(axis=-1), right[..., -1])

    def envelope(self, precision: Floats) -> Floats:
        return precision


class Auprc(AveragePrecision):
    """The area under the curve of precision and recall, with the largest precision at any recall at least as
    high. Undefined (NaN) without positives.
    """

    citation = "Davis and Goadrich 2006, The Relationship Between Precision-Recall and ROC Curves, ICML"

    def envelope(self, precision: Floats) -> Floats:
        return np.maximum.accumulate(precision[..., ::-1], axis=-1)[..., ::-1]


def one_by_one(
    value: Callable[[Floats, Floats], float], rows: Floats, weights: Floats
) -> Floats:
    """(…) values, each from all rows and one of the (…, n) weights."""
    return np.asarray(
        np.vectorize(value, otypes=[np.float64], signature="(n,k),(n)->()")(
            rows, weights
        )
    )


def drawn_rows(rows: Floats, weights: Floats) -> Floats:
    """Rows that count, each as often as its weight says, which is a whole number."""
    return rows[
        np.repeat(np.arange(len(rows)), (weights * rows[:, 2]).astype(np.int64))
    ]


class EqualSizeCalibrationError(WeightedMetric):
    """The expected calibration error over groups of equal size by confidence. The first groups are one larger
    where the sizes do not come out even. Equal confidences keep the gold's order, or where they are
    ``pooled`` share the groups that they fall into evenly. It is undefined (NaN) where there are at most two
    different confidences. It has no interval: distances by chance count too, so that the estimate is biased
    upwards and no interval around it holds.
    """

    shape = "calibration"
    higher_is_better = False
    has_interval = False
    carriers = (2,)
    is_valid_in_one_label = False
    citation = "Nguyen and O'Connor 2015, Posterior calibration and exploratory analysis for NLP models, EMNLP"  # noqa: E501

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        labels: Sequence[str],
        bins: int = 10,
        pooled: bool = False,
    ) -> None:
        super().__init__(name, rules)
        self.labels, self.bins, self.pooled = tuple(labels), bins, pooled
        self.statistic = "confidences"
        self.fixed = {
            "bins": bins,
            "groups": "equal-size",
            "ties": "pooled" if pooled else "order",
        }

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """(n, 3): the confidence, whether the label is right, whether the instance counts."""
        confidence, is_right, counts = confidences_of(gold, answers, self.labels)
        counts &= ~left_out(answers)
        return np.column_stack([confidence * counts, is_right & counts, counts]).astype(
            np.float64
        )

    def value(self, rows: Floats, weights: Floats) -> Floats:
        return one_by_one(self._one, rows, weights)

    def _one(self, rows: Floats, weights: Floats) -> float:
        drawn = drawn_rows(rows, weights)
        if len(np.unique(drawn[:, 0])) <= 2:
            return math.nan
        drawn = drawn[np.argsort(drawn[:, 0], kind="stable")]
        if self.pooled:
            _, groups, sizes = np.unique(
                drawn[:, 0], return_inverse=True, return_counts=True
            )
            drawn[:, 1] = (np.bincount(groups, drawn[:, 1]) / sizes)[groups]
        parts = np.array_split(drawn, self.bins)
        gaps = [
            len(part) * abs(part[:, 1].mean() - part[:, 0].mean())
            for part in parts
            if len(part)
        ]
        return float(sum(gaps)) / len(drawn)


class RankCorrelation(WeightedMetric):
    """Spearman's correlation: Pearson's of the ranks, equal values sharing the mean of theirs. Undefined
    (NaN) where gold or answers are all equal. Instances without an answer do not count.
    """

    ends = (-1.0, 1.0)
    is_valid_in_one_label = False
    statistic = "numbers"
    #: The pairs.
    carriers = (2,)
    citation = "Spearman 1904, The Proof and Measurement of Association between Two Things, AJP 15"

    def instance_stats(
        self, gold: Sequence[float | None], answers: Sequence[float | None]
    ) -> Floats:
        """(n, 3): gold, answer, whether both are there."""
        counts = present(gold) & present(answers)
        x, y = (
            np.nan_to_num(np.array(side, dtype=np.float64)) for side in (gold, answers)
        )
        return np.column_stack([x * counts, y * counts, counts]).astype(np.float64)

    def value(self, rows: Floats, weights: Floats) -> Floats:
        own = weights * rows[:, 2]
        x, y = (_mid_ranks(rows[:, side], own) for side in (0, 1))
        whole = own.sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            x, y = (
                ranks - (ranks * own).sum(axis=-1, keepdims=True) / whole
                for ranks in (x, y)
            )
            spread = (x * x * own).sum(axis=-1) * (y * y * own).sum(axis=-1)
            return np.asarray((x * y * own).sum(axis=-1) / np.sqrt(spread))


def _mid_ranks(values: Floats, weights: Floats) -> Floats:
    """(…, n) twice the mean rank of each value among the weighted ones; equal values share it."""
    order = np.argsort(values)
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan) != 0)
    sizes = np.add.reduceat(weights[..., order], starts, axis=-1)
    before = np.cumsum(sizes, axis=-1) - sizes
    groups = np.empty(len(values), dtype=np.intp)
    groups[order] = np.repeat(
        np.arange(len(starts)), np.diff(np.append(starts, len(values)))
    )
    return np.asarray((2 * before + sizes)[..., groups])


class Kendall(RankCorrelation):
    """Kendall's τ-b. Undefined (NaN) where gold or answers are all equal."""

    citation = "Kendall 1945, The treatment of ties in ranking problems, Biometrika 33"

    def value(self, rows: Floats, weights: Floats) -> Floats:
        from scipy.stats import kendalltau

        def one(rows: Floats, weights: Floats) -> float:
            x, y, _ = drawn_rows(rows, weights).T
            return float(kendalltau(x, y).statistic) if len(x) > 1 else math.nan

        return one_by_one(one, rows, weights)
