"""Metrics of the calibration of a run's probabilities, such as Brier score and expected
calibration error.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import (
    Floats,
    MeanMetric,
    Metric,
    divide_or_zero,
    quotient,
)
from tasks.types.columns import NO_CLASS_CODE, compute_mask_of_present_rows

#: Default number of bins of the expected calibration error.
DEFAULT_BINS = 10
#: The log loss raises smaller probabilities to this bound, the machine epsilon.
MIN_PROBABILITY = float(np.finfo(np.float64).eps)
BRIER_CITATION = (
    "Brier 1950, Verification of forecasts expressed in terms of probability, "
    "Monthly Weather Review 78"
)
ECE_CITATION = "Guo, Pleiss, Sun and Weinberger 2017, On calibration of modern neural networks, ICML"
#: Number of calibrated runs that the test of calibration simulates.
NUMBER_OF_SIMULATED_RUNS = 9999
#: Two sums are equal if their difference is at most this share of the larger sum.
ROUNDING_TOLERANCE = 1e-12


@dataclass(frozen=True)
class LabelProbabilities:
    """Probabilities of n instances.

    ``given`` (n, c) contains the probabilities of c labels for n instances. ``wanted``
    (n,) is the index of the gold label, or -1 if the gold is not one of the labels.
    ``has_gold`` (n,) marks instances with gold, ``is_given`` (n,) instances with
    probabilities.
    """

    given: Floats
    wanted: NDArray[np.intp]
    has_gold: NDArray[np.bool_]
    is_given: NDArray[np.bool_]


def collect_label_probabilities(
    gold: Sequence[Any], answers: Sequence[Any], labels: Sequence[str]
) -> LabelProbabilities:
    """Return the probabilities in the answers' attribute ``probabilities``, a mapping
    of label to probability. Answers may lack probabilities.
    """
    numbers = {label: number for number, label in enumerate(labels)}
    by_row = [getattr(answer, "probabilities", None) for answer in answers]
    shares = [
        [row.get(label, 0.0) for label in labels] if row else [0.0] * len(labels)
        for row in by_row
    ]
    return LabelProbabilities(
        given=np.array(shares, dtype=np.float64).reshape(len(by_row), len(labels)),
        wanted=np.array(
            [numbers.get(label, NO_CLASS_CODE) for label in gold], dtype=np.intp
        ),
        has_gold=compute_mask_of_present_rows(gold),
        is_given=np.array([bool(row) for row in by_row], dtype=bool),
    )


def collect_stated_confidences(
    answers: Sequence[Any], labels: Sequence[str]
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return two (n,) arrays, which contain the run's confidence in each predicted
    label (0 if missing), and True where the run gave a confidence.
    """
    stated = [getattr(answer, "confidence", None) for answer in answers]
    pairs = zip(stated, answers, strict=True)
    is_stated = [
        confidence is not None and answer in labels for confidence, answer in pairs
    ]
    return np.array([one or 0.0 for one in stated], dtype=np.float64), np.array(
        is_stated, dtype=bool
    )


def compute_confidences(
    gold: Sequence[Any], answers: Sequence[Any], labels: Sequence[str]
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """Return three (n,) arrays, which contain the confidence, True where the label is
    right, and True where the instance counts.

    The confidence of an instance is the largest of its probabilities. If an answer has
    no probabilities, the confidence is the number that the run gave for its label.
    """
    forecasts = collect_label_probabilities(gold, answers, labels)
    stated, is_stated = collect_stated_confidences(answers, labels)
    confidence = np.where(forecasts.is_given, forecasts.given.max(axis=1), stated)
    is_equal = np.array(
        [own == answer for own, answer in zip(gold, answers, strict=True)], dtype=bool
    )
    is_right = np.where(
        forecasts.is_given, forecasts.given.argmax(axis=1) == forecasts.wanted, is_equal
    )
    return confidence, is_right, forecasts.has_gold & (forecasts.is_given | is_stated)


class LogLoss(MeanMetric):
    """The mean over instances of minus the natural logarithm of the probability of the
    gold's label. Probabilities below 2.2e-16 are raised to this bound, as in
    scikit-learn. If a run gives probabilities for some instances only, the gold label
    of every other instance has probability 0. The value is undefined if a run gives no
    probabilities at all.
    """

    shape = "error"
    higher_is_better = False
    scale = 0
    ends = (0.0, math.inf)
    citation = (
        "Good 1952, Rational Decisions, Journal of the Royal Statistical Society B 14"
    )
    columns = ("loss",)

    def __init__(self, name: str, rules: str, *, labels: Sequence[str]) -> None:
        super().__init__(name, rules, column="loss")
        self.labels = tuple(labels)
        self.statistic = f"log-loss:{','.join(labels)}"
        self.fixed = {"labels": ",".join(labels), "base": "e", "least": MIN_PROBABILITY}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        forecasts = collect_label_probabilities(gold, answers, self.labels)
        counts = forecasts.has_gold & forecasts.is_given.any()
        of_gold = forecasts.given[np.arange(len(counts)), forecasts.wanted] * (
            forecasts.wanted >= 0
        )
        share = np.clip(
            divide_or_zero(of_gold, forecasts.given.sum(axis=1)),
            MIN_PROBABILITY,
            1 - MIN_PROBABILITY,
        )
        return np.column_stack([-np.log(share), np.ones(len(counts))]) * counts[:, None]


class Brier(MeanMetric):
    """The mean over instances of the sum over labels of (p - y)², where p is the
    label's probability, and y is 1 for the gold label and 0 for all others. The Brier
    score lies between 0 and 2. For two labels, the score is twice the one-label Brier
    score. If a run gives probabilities for some instances only, the loss of every other
    instance is 1. The value is undefined if a run gives no probabilities at all.
    """

    higher_is_better = False
    ends = (0.0, 2.0)
    citation = BRIER_CITATION
    columns = ("loss", "missing")

    def __init__(self, name: str, rules: str, *, labels: Sequence[str]) -> None:
        super().__init__(name, rules, column="loss")
        self.labels = tuple(labels)
        self.statistic = f"brier:{','.join(labels)}"
        self.fixed = {"labels": ",".join(labels), "unanswered": 1}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Return an array (n, 3) with the loss, 1 if probabilities are missing, and 1
        if the instance counts.
        """
        forecasts = collect_label_probabilities(gold, answers, self.labels)
        counts = forecasts.has_gold & forecasts.is_given.any()
        is_label = forecasts.wanted >= 0
        truth = np.zeros_like(forecasts.given)
        truth[np.flatnonzero(is_label), forecasts.wanted[is_label]] = 1
        loss = ((forecasts.given - truth) ** 2).sum(axis=1) + ~is_label
        return (
            np.column_stack([loss, ~forecasts.is_given, np.ones(len(loss))])
            * counts[:, None]
        )

    def notes(self, stats: Floats) -> Mapping[str, int]:
        missing = int(stats[:, 1].sum())
        return {"instances_without_probabilities": missing} if missing else {}


class CalibrationError(Metric):
    """The expected calibration error, which is the mean distance between confidence and
    accuracy.

    The confidence of an instance is its largest probability. Bins have equal width. The
    error is the mean over bins, weighted by number of instances, of the absolute
    difference between mean confidence and accuracy. A bin includes its upper bound, but
    not its lower bound. If several labels have the largest probability, the first of
    them is the prediction. If a run gives a label with a confidence instead of
    probabilities, this label and confidence are used. Instances without any confidence
    are excluded. The error is undefined (NaN) without instances. The error is biased
    upwards if bins have few instances, because random differences increase it.
    """

    shape = "calibration"
    higher_is_better = False
    citation = ECE_CITATION
    is_valid_in_one_label = False
    #: The bias of the calibration error is as large as its standard error.
    #: Intervals of the calibration error therefore miss their nominal coverage.
    has_honest_interval = False

    def __init__(
        self, name: str, rules: str, *, labels: Sequence[str], bins: int = DEFAULT_BINS
    ) -> None:
        super().__init__(name, rules)
        self.labels, self.bins = tuple(labels), bins
        self.statistic = f"calibration:{bins}:{','.join(labels)}"
        self.fixed = {"bins": bins, "labels": ",".join(labels)}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Return an array (n, 3b) for b bins. In the columns of the instance's bin, the
        row contains 1, the confidence, and 1 if the label is right.
        """
        return self.compute_bin_columns(
            *compute_confidences(gold, answers, self.labels)
        )

    def compute_bin_columns(
        self, confidence: Floats, is_right: NDArray[Any], counts: NDArray[np.bool_]
    ) -> Floats:
        places = np.searchsorted(np.linspace(0, 1, self.bins + 1)[1:-1], confidence)
        rows = np.flatnonzero(counts)
        stats = np.zeros((len(confidence), 3 * self.bins))
        for part, values in enumerate((np.ones(len(confidence)), confidence, is_right)):
            stats[rows, part * self.bins + places[rows]] = values[rows]
        return stats

    def instances(self, stats: Floats, has_gold: NDArray[np.bool_]) -> int:
        return int(stats[:, : self.bins].sum())

    def denominators(self, rows: Floats) -> Floats:
        return np.asarray(rows[:, : self.bins].sum(axis=1))

    def aggregate(self, sums: Floats) -> Floats:
        counts, confidence, right = np.split(sums, 3, axis=-1)
        return quotient(np.abs(confidence - right).sum(axis=-1), counts.sum(axis=-1))


class DebiasedCalibrationError(CalibrationError):
    """The expected calibration error minus an estimate of its bias.

    The estimate is 2 e - Σ share(bin) · E|N(d, r (1 - r) / n)|, where d is a bin's mean
    confidence minus its accuracy r, n its number of instances, and e the error itself.
    The estimate is the increase of the error when accuracies are resampled. The
    corrected error can be negative for a well calibrated run. The correction does not
    change the difference in a bin of one instance. For a calibrated run, the correction
    removes about two fifths of the expected calibration error.
    """

    citation = (
        "Kumar, Liang and Ma 2019, Verified uncertainty calibration, NeurIPS; Roelofs, Cain, Shlens and Mozer"
        " 2022, Mitigating bias in calibration error estimation, AISTATS"
    )
    ends = (-1.0, 1.0)

    def aggregate(self, sums: Floats) -> Floats:
        from scipy.special import ndtr

        counts, confidence, right = np.split(sums, 3, axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            gaps, shares = (confidence - right) / counts, right / counts
            errors = np.sqrt(shares * (1 - shares) / counts)
            far = np.abs(gaps) / errors
            drawn = errors * (
                np.sqrt(2 / np.pi) * np.exp(-(far**2) / 2) + far * (1 - 2 * ndtr(-far))
            )
        # The bias correction does not change bins whose accuracy has no sampling error.
        by_bin = np.where(errors > 0, 2 * np.abs(gaps) - drawn, np.abs(gaps))
        return quotient(
            np.where(counts > 0, by_bin * counts, 0.0).sum(axis=-1), counts.sum(axis=-1)
        )


def compute_calibration_p_value(sums: Floats) -> float:
    """Return the p-value of the null hypothesis that the run is calibrated.

    ``sums`` are the summed rows of `CalibrationError`. The test statistic is the
    expected calibration error. The number of right labels in each bin is sampled from a
    binomial distribution with the bin's mean confidence and a fixed seed (Bröcker and
    Smith 2007, Increasing the Reliability of Reliability Diagrams, Weather and
    Forecasting 22). NaN without instances.
    """
    counts, confidence, right = np.split(np.asarray(sums, dtype=np.float64), 3)
    if not counts.sum():
        return math.nan
    chances = np.minimum(divide_or_zero(confidence, counts), 1.0)
    drawn = np.random.default_rng(0).binomial(
        np.rint(counts).astype(int), chances, (NUMBER_OF_SIMULATED_RUNS, len(counts))
    )
    as_far = np.abs(confidence - drawn).sum(axis=1) >= np.abs(
        confidence - right
    ).sum() * (1 - ROUNDING_TOLERANCE)
    return float((1 + as_far.sum()) / (1 + NUMBER_OF_SIMULATED_RUNS))
