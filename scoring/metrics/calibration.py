"""Whether a run's probabilities can be believed: Brier score and expected calibration error."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, MeanMetric, Metric, quotient, ratio
from tasks.types.columns import NO_CLASS, present

#: Bins of equal width of the expected calibration error.
BINS = 10
#: The least probability that counts, that of 64-bit numbers.
SMALLEST = float(np.finfo(np.float64).eps)
BRIER = "Brier 1950, Verification of forecasts expressed in terms of probability, Monthly Weather Review 78"
ECE = "Guo, Pleiss, Sun and Weinberger 2017, On calibration of modern neural networks, ICML"
#: As often a calibrated run is drawn in the test of calibration.
DRAWS = 9999
#: Two sums that are equal but for rounding are so far apart at most, for each unit of the larger.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Forecasts:
    """Of n instances: ``given`` (n, c) probabilities, ``wanted`` (n,) the gold's label as a number, -1 where
    it is none of the labels. ``has_gold`` and ``is_given`` say which instances have gold and probabilities.
    """

    given: Floats
    wanted: NDArray[np.intp]
    has_gold: NDArray[np.bool_]
    is_given: NDArray[np.bool_]


def forecasts_of(
    gold: Sequence[Any], answers: Sequence[Any], labels: Sequence[str]
) -> Forecasts:
    """``answers`` have an attribute ``probabilities``, by label, or give none."""
    numbers = {label: number for number, label in enumerate(labels)}
    by_row = [getattr(answer, "probabilities", None) for answer in answers]
    shares = [
        [row.get(label, 0.0) for label in labels] if row else [0.0] * len(labels)
        for row in by_row
    ]
    return Forecasts(
        given=np.array(shares, dtype=np.float64).reshape(len(by_row), len(labels)),
        wanted=np.array(
            [numbers.get(label, NO_CLASS) for label in gold], dtype=np.intp
        ),
        has_gold=present(gold),
        is_given=np.array([bool(row) for row in by_row], dtype=bool),
    )


def stated_confidences(
    answers: Sequence[Any], labels: Sequence[str]
) -> tuple[Floats, NDArray[np.bool_]]:
    """(n,) how sure the run says that it is of its label, 0 where it does not, and where it does."""
    stated = [getattr(answer, "confidence", None) for answer in answers]
    pairs = zip(stated, answers, strict=True)
    is_stated = [
        confidence is not None and answer in labels for confidence, answer in pairs
    ]
    return np.array([one or 0.0 for one in stated], dtype=np.float64), np.array(
        is_stated, dtype=bool
    )


def confidences_of(
    gold: Sequence[Any], answers: Sequence[Any], labels: Sequence[str]
) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """(n,) how sure the run is, whether the label that it is sure of is right, and which instances count.
    From probabilities, of which the largest counts, or else from what the run says of its label.
    """
    forecasts = forecasts_of(gold, answers, labels)
    stated, is_stated = stated_confidences(answers, labels)
    confidence = np.where(forecasts.is_given, forecasts.given.max(axis=1), stated)
    is_equal = np.array(
        [own == answer for own, answer in zip(gold, answers, strict=True)], dtype=bool
    )
    is_right = np.where(
        forecasts.is_given, forecasts.given.argmax(axis=1) == forecasts.wanted, is_equal
    )
    return confidence, is_right, forecasts.has_gold & (forecasts.is_given | is_stated)


class LogLoss(MeanMetric):
    """The mean over instances of minus the natural logarithm of the probability of the gold's label. A
    probability below 2.2e-16 counts as that, as scikit-learn has it. In a run that gives probabilities, an
    instance without counts as if the label had 0; a run without any has no value.
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
        self.fixed = {"labels": ",".join(labels), "base": "e", "least": SMALLEST}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        forecasts = forecasts_of(gold, answers, self.labels)
        counts = forecasts.has_gold & forecasts.is_given.any()
        of_gold = forecasts.given[np.arange(len(counts)), forecasts.wanted] * (
            forecasts.wanted >= 0
        )
        share = np.clip(
            ratio(of_gold, forecasts.given.sum(axis=1)), SMALLEST, 1 - SMALLEST
        )
        return np.column_stack([-np.log(share), np.ones(len(counts))]) * counts[:, None]


class Brier(MeanMetric):
    """The mean over instances of the squared differences between the probabilities and 1 for the gold's
    label, 0 for the others, summed over the labels: from 0 to 2. For two labels it is twice the score of one.
    In a run that gives probabilities, an instance without counts as if each label had 0, which costs 1. A run
    without any has no value.
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
        return (
            np.column_stack([loss, ~forecasts.is_given, np.ones(len(loss))])
            * counts[:, None]
        )

    def notes(self, stats: Floats) -> Mapping[str, int]:
        missing = int(stats[:, 1].sum())
        return {"instances_without_probabilities": missing} if missing else {}


class CalibrationError(Metric):
    """The expected calibration error: how far confidence and the share that is right are apart.

    Instances are put into bins of equal width by their confidence, the largest of their probabilities. The
    error is the mean over bins, weighted by their instances, of the distance between mean confidence and the
    share of which that label is right. A bin has its upper end, not its lower one; of labels with the same
    probability the first counts. Where a run says how sure it is of its label, that is its confidence, and
    whether its label is right is what counts. Instances without either are left out; over none it is
    undefined (NaN). It is biased upwards where bins have few instances, since distances by chance count too.
    """

    shape = "calibration"
    higher_is_better = False
    citation = ECE
    is_valid_in_one_label = False
    #: Its bias is of the size of its error.
    has_honest_interval = False

    def __init__(
        self, name: str, rules: str, *, labels: Sequence[str], bins: int = BINS
    ) -> None:
        super().__init__(name, rules)
        self.labels, self.bins = tuple(labels), bins
        self.statistic = f"calibration:{bins}:{','.join(labels)}"
        self.fixed = {"bins": bins, "labels": ",".join(labels)}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """(n, 3b): in its bin a 1, the confidence, and 1 where it is right, b bins side by side each."""
        return self.stats_of(*confidences_of(gold, answers, self.labels))

    def stats_of(
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
    """The expected calibration error less what distances by chance are estimated to add to it. 2 e - Σ
    share(bin) · E|N(d, r (1 - r) / n)|, where d is a bin's mean confidence less its share r that is right, n
    its instances, and e the error itself: what drawing the shares again adds is taken off once. Below 0 where
    a run is better calibrated than chance allows; a bin of one instance is taken as it is. Of a run whose
    confidences are right two fifths of the error go.
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
        # Without an error, or without instances, nothing is drawn again.
        by_bin = np.where(errors > 0, 2 * np.abs(gaps) - drawn, np.abs(gaps))
        return quotient(
            np.where(counts > 0, by_bin * counts, 0.0).sum(axis=-1), counts.sum(axis=-1)
        )


def calibration_p_value(sums: Floats) -> float:
    """How often a run whose confidences are right has at least this expected calibration error. ``sums`` are
    those of the rows of `CalibrationError`. Of each bin as many right labels are drawn as its mean confidence
    makes likely, instance by instance on its own (Bröcker and Smith 2007, Increasing the Reliability of
    Reliability Diagrams, Weather and Forecasting 22); by a fixed seed. NaN without any.
    """
    counts, confidence, right = np.split(np.asarray(sums, dtype=np.float64), 3)
    if not counts.sum():
        return math.nan
    chances = np.minimum(ratio(confidence, counts), 1.0)
    drawn = np.random.default_rng(0).binomial(
        np.rint(counts).astype(int), chances, (DRAWS, len(counts))
    )
    as_far = np.abs(confidence - drawn).sum(axis=1) >= np.abs(
        confidence - right
    ).sum() * (1 - ROUNDING)
    return float((1 + as_far.sum()) / (1 + DRAWS))
