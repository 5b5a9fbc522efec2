"""Whether a run's probabilities can be believed: Brier score and expected calibration error."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, MeanMetric, Metric, quotient
from tasks.types.columns import present

#: Bins of equal width of the expected calibration error.
BINS = 10
BRIER = "Brier 1950, Verification of forecasts expressed in terms of probability, Monthly Weather Review 78"
ECE = "Guo, Pleiss, Sun and Weinberger 2017, On calibration of modern neural networks, ICML"


@dataclass(frozen=True)
class Forecasts:
    """Of n instances: ``given`` (n, c) probabilities, ``wanted`` (n,) the gold's label as a number, -1 where
    it is none of the labels. ``has_gold`` and ``is_given`` say which instances have gold and probabilities.
    """

    given: Floats
    wanted: NDArray[np.intp]
    has_gold: NDArray[np.bool_]
    is_given: NDArray[np.bool_]


def forecasts_of(gold: Sequence[Any], answers: Sequence[Any], labels: Sequence[str]) -> Forecasts:
    """``answers`` have an attribute ``probabilities``, by label, or give none."""
    numbers = {label: number for number, label in enumerate(labels)}
    by_row = [getattr(answer, "probabilities", None) for answer in answers]
    shares = [[row.get(label, 0.0) for label in labels] if row else [0.0] * len(labels) for row in by_row]
    return Forecasts(
        given=np.array(shares, dtype=np.float64).reshape(len(by_row), len(labels)),
        wanted=np.array([numbers.get(label, -1) for label in gold], dtype=np.intp),
        has_gold=present(gold),
        is_given=np.array([bool(row) for row in by_row], dtype=bool),
    )


class Brier(MeanMetric):
    """The mean over instances of the squared differences between the probabilities and 1 for the gold's
    label, 0 for the others, summed over the labels: from 0 to 2. For two labels it is twice the score of one.

    In a run that gives probabilities, an instance without counts as if each label had 0, which costs 1. A
    run without any has no value.
    """

    higher_is_better = False
    ends = (0.0, 2.0)
    citation = BRIER
    columns = ("loss", "missing")

    def __init__(self, name: str, rules: str, *, labels: Sequence[str]) -> None:
        super().__init__(name, rules, column="loss")
        self.labels = tuple(labels)
        self.statistic = f"brier:{','.join(labels)}"
        self.fixed = {"labels": ",".join(labels), "unanswered": 1}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """(n, 3): the loss, whether probabilities are missing, and whether the instance counts."""
        forecasts = forecasts_of(gold, answers, self.labels)
        counts = forecasts.has_gold & forecasts.is_given.any()
        is_label = forecasts.wanted >= 0
        truth = np.zeros_like(forecasts.given)
        truth[np.flatnonzero(is_label), forecasts.wanted[is_label]] = 1
        loss = ((forecasts.given - truth) ** 2).sum(axis=1) + ~is_label
        return np.column_stack([loss, ~forecasts.is_given, np.ones(len(loss))]) * counts[:, None]

    def notes(self, stats: Floats) -> Mapping[str, int]:
        missing = int(stats[:, 1].sum())
        return {"instances_without_probabilities": missing} if missing else {}


class CalibrationError(Metric):
    """The expected calibration error: how far confidence and the share that is right are apart.

    Instances are put into bins of equal width by their confidence, the largest of their probabilities. The
    error is the mean over bins, weighted by their instances, of the distance between mean confidence and the
    share of which that label is right. A bin has its upper end, not its lower one; of labels with the same
    probability the first counts. Instances without probabilities are left out; over none it is undefined
    (NaN). It is biased upwards where bins have few instances, since distances by chance count too.
    """

    higher_is_better = False
    citation = ECE

    def __init__(self, name: str, rules: str, *, labels: Sequence[str], bins: int = BINS) -> None:
        super().__init__(name, rules)
        self.labels, self.bins = tuple(labels), bins
        self.statistic = f"calibration:{bins}:{','.join(labels)}"
        self.fixed = {"bins": bins, "labels": ",".join(labels)}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """(n, 3b): in its bin a 1, the confidence, and 1 where it is right, b bins side by side each."""
        forecasts = forecasts_of(gold, answers, self.labels)
        confidence = forecasts.given.max(axis=1, initial=0.0)
        is_right = forecasts.given.argmax(axis=1) == forecasts.wanted
        inner_edges = np.linspace(0, 1, self.bins + 1)[1:-1]
        places = np.searchsorted(inner_edges, confidence)
        rows = np.flatnonzero(forecasts.has_gold & forecasts.is_given)
        stats = np.zeros((len(confidence), 3 * self.bins))
        for part, values in enumerate((np.ones(len(confidence)), confidence, is_right)):
            stats[rows, part * self.bins + places[rows]] = values[rows]
        return stats

    def instances(self, stats: Floats, has_gold: NDArray[np.bool_]) -> int:
        return int(stats[:, : self.bins].sum())

    def aggregate(self, sums: Floats) -> Floats:
        counts, confidence, right = np.split(sums, 3, axis=-1)
        return quotient(np.abs(confidence - right).sum(axis=-1), counts.sum(axis=-1))
