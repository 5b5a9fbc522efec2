"""Metrics that are functions of weighted matrix rows, not of sums of rows.

Weights of 0 and 1 select the rows of a class or of a jackknife sample. Larger weights
represent rows that occur several times in a bootstrap sample. Each metric sorts its
rows once for many weight vectors.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Floats, WeightedMetric, divide_or_zero, quotient
from scoring.metrics.calibration import (
    collect_label_probabilities,
    collect_stated_confidences,
    compute_confidences,
)
from scoring.metrics.classification import find_left_out_answers
from tasks.types.columns import compute_mask_of_present_rows

ROC_CITATION = (
    "Fawcett 2006, An introduction to ROC analysis, Pattern Recognition Letters 27"
)


class LabelScoreMetric(WeightedMetric):
    """The base class of metrics of a run's scores for one label.

    The score of an instance is the label's probability. If a run gives no
    probabilities, the score is the run's confidence in its predicted label, or 1 minus
    the confidence if the run predicts another label. Instances without a score are
    excluded. Instances with equal scores form one threshold.
    """

    citation = ROC_CITATION
    is_valid_in_one_label = False

    def __init__(
        self, name: str, rules: str, *, label: str, labels: Sequence[str]
    ) -> None:
        super().__init__(name, rules)
        self.label, self.labels = label, tuple(labels)
        self.statistic = f"scores:{label}"
        self.fixed = {"label": label, "labels": ",".join(labels)}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Return an array (n, 3) with the score, 1 if the gold is the label, and 1 if
        the instance counts.
        """
        forecasts = collect_label_probabilities(gold, answers, self.labels)
        stated, is_stated = collect_stated_confidences(answers, self.labels)
        is_stated &= ~find_left_out_answers(answers)
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
        """Return values (…) computed from the cumulative weights of positive and
        negative instances at each threshold, in descending order of scores.
        """
        if not len(rows):
            return np.full(weights.shape[:-1], np.nan)
        order = np.argsort(-rows[:, 0])
        ends = np.flatnonzero(np.append(np.diff(rows[order, 0]) != 0, True))
        own = weights[..., order] * rows[order, 2]
        right = np.cumsum(own * rows[order, 1], axis=-1)[..., ends]
        wrong = np.cumsum(own * (1 - rows[order, 1]), axis=-1)[..., ends]
        return self.compute_from_thresholds(right, wrong)

    @abstractmethod
    def compute_from_thresholds(self, right: Floats, wrong: Floats) -> Floats:
        """Return values (…) computed from two arrays (…, t) with the summed weights of
        positive and of negative instances whose score reaches each of the t thresholds.
        """


class Auroc(LabelScoreMetric):
    """The area under the ROC curve, computed with trapezoids, which is the probability
    that a positive instance has a higher score than a negative instance. Ties count
    half. The area is undefined (NaN) without positive or without negative instances.
    """

    def carried(self, rows: Floats) -> Floats:
        """Return an array (n, 2) with 1 for positive instances in one column and 1 for
        negative instances in the other.
        """
        return np.column_stack([rows[:, 1], rows[:, 2] - rows[:, 1]])

    def compute_from_thresholds(self, right: Floats, wrong: Floats) -> Floats:
        steps = np.diff(wrong, prepend=0.0)
        before = np.concatenate(
            [np.zeros((*right.shape[:-1], 1)), right[..., :-1]], axis=-1
        )
        return quotient(
            (steps * (before + right) / 2).sum(axis=-1), right[..., -1] * wrong[..., -1]
        )


class AveragePrecision(LabelScoreMetric):
    """The mean over positive instances of the precision at their scores, as in
    scikit-learn. Undefined (NaN) without positives.
    """

    citation = (
        "Buckley and Voorhees 2005, Retrieval System Evaluation, in TREC, MIT Press"
    )
    carriers = (1,)

    def compute_from_thresholds(self, right: Floats, wrong: Floats) -> Floats:
        steps, precision = (
            np.diff(right, prepend=0.0),
            divide_or_zero(right, right + wrong),
        )
        return quotient(
            (steps * self.interpolate_precision(precision)).sum(axis=-1), right[..., -1]
        )

    def interpolate_precision(self, precision: Floats) -> Floats:
        return precision


class Auprc(AveragePrecision):
    """The area under the interpolated precision-recall curve. The precision at each
    recall is the maximum precision at this or a higher recall. Undefined (NaN) without
    positives.
    """

    citation = "Davis and Goadrich 2006, The Relationship Between Precision-Recall and ROC Curves, ICML"

    def interpolate_precision(self, precision: Floats) -> Floats:
        return np.maximum.accumulate(precision[..., ::-1], axis=-1)[..., ::-1]


def apply_to_each_weight_vector(
    value: Callable[[Floats, Floats], float], rows: Floats, weights: Floats
) -> Floats:
    """Apply ``value`` to the rows with each of the (…, n) weight vectors. Return (…)
    values.
    """
    return np.asarray(
        np.vectorize(value, otypes=[np.float64], signature="(n,k),(n)->()")(
            rows, weights
        )
    )


def repeat_rows_by_weight(rows: Floats, weights: Floats) -> Floats:
    """Return the matrix rows that count, where each row occurs as often as its integer
    weight.
    """
    return rows[
        np.repeat(np.arange(len(rows)), (weights * rows[:, 2]).astype(np.int64))
    ]


class EqualSizeCalibrationError(WeightedMetric):
    """The expected calibration error over groups of equal size, which contain instances
    sorted by confidence.

    If the instances cannot be divided evenly, the first groups have one more instance.
    Instances with equal confidence have the order of the gold file. If ``pooled`` is
    True, right answers are distributed evenly over instances with equal confidence. The
    error is undefined (NaN) if a run has at most two different confidences. The error
    has no interval, because the error is biased upwards, and no interval reaches its
    nominal coverage.
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
        """Return an array (n, 3) with the confidence, 1 if the label is right, and 1 if
        the instance counts.
        """
        confidence, is_right, counts = compute_confidences(gold, answers, self.labels)
        counts &= ~find_left_out_answers(answers)
        return np.column_stack([confidence * counts, is_right & counts, counts]).astype(
            np.float64
        )

    def value(self, rows: Floats, weights: Floats) -> Floats:
        return apply_to_each_weight_vector(
            self._compute_calibration_error, rows, weights
        )

    def _compute_calibration_error(self, rows: Floats, weights: Floats) -> float:
        drawn = repeat_rows_by_weight(rows, weights)
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
    """Spearman's correlation, which is Pearson's correlation of the ranks of gold and
    answers. Tied values have the mean of their ranks. The correlation is undefined
    (NaN) if all gold values or all answers are equal. Instances without an answer do
    not count.
    """

    ends = (-1.0, 1.0)
    is_valid_in_one_label = False
    statistic = "numbers"
    carriers = (2,)
    citation = "Spearman 1904, The Proof and Measurement of Association between Two Things, AJP 15"

    def instance_stats(
        self, gold: Sequence[float | None], answers: Sequence[float | None]
    ) -> Floats:
        """Return an array (n, 3) with gold, answer, and 1 if both are present."""
        counts = compute_mask_of_present_rows(gold) & compute_mask_of_present_rows(
            answers
        )
        x, y = (
            np.nan_to_num(np.array(side, dtype=np.float64)) for side in (gold, answers)
        )
        return np.column_stack([x * counts, y * counts, counts]).astype(np.float64)

    def value(self, rows: Floats, weights: Floats) -> Floats:
        own = weights * rows[:, 2]
        x, y = (_compute_mid_ranks(rows[:, side], own) for side in (0, 1))
        whole = own.sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore"):
            x, y = (
                ranks - (ranks * own).sum(axis=-1, keepdims=True) / whole
                for ranks in (x, y)
            )
            spread = (x * x * own).sum(axis=-1) * (y * y * own).sum(axis=-1)
            return np.asarray((x * y * own).sum(axis=-1) / np.sqrt(spread))


def _compute_mid_ranks(values: Floats, weights: Floats) -> Floats:
    """Return an array (…, n) with twice the rank of each value, where values count with
    their weights. Tied values have the mean of their ranks.
    """
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
    """Kendall's τ-b. The correlation is undefined (NaN) if all gold values or all
    answers are equal.
    """

    citation = "Kendall 1945, The treatment of ties in ranking problems, Biometrika 33"

    def value(self, rows: Floats, weights: Floats) -> Floats:
        from scipy.stats import kendalltau

        def compute_tau_b(rows: Floats, weights: Floats) -> float:
            x, y, _ = repeat_rows_by_weight(rows, weights).T
            return float(kendalltau(x, y).statistic) if len(x) > 1 else math.nan

        return apply_to_each_weight_vector(compute_tau_b, rows, weights)
