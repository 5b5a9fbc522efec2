"""Estimate scores from a judge's values of all units and from people's labels of a
random sample of units.

The estimator is prediction-powered inference with a tuned weight of the judge (PPI++ of
Angelopoulos, Duchi and Zrnic 2023), with standard errors clustered by topic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats

#: An estimated score needs this many topics, and this many labels of the rarer kind.
#: With fewer labels of the rarer kind, intervals would be too narrow.
MIN_TOPICS, MIN_LABELS_OF_RARER_KIND = 20, 10
#: A sample with just enough rare labels overestimates the share of these labels.
#: These factors widen intervals with 10, 11, … 19 labels of the rarer kind.
#: The factors extend an interval only at the end away from the rarer kind.
#: A factor is the ratio of two distances from the number of rare labels.
#: Both distances end at a lower 95 % Poisson limit of the number of rare labels.
#: The first distance assumes at least 10 rare labels, the second has no condition.
#: The first factor equals the second, so that more labels never widen the interval.
INTERVAL_WIDENING_FACTORS = (
    1.947,
    1.947,
    1.751,
    1.545,
    1.39,
    1.279,
    1.2,
    1.143,
    1.102,
    1.072,
)
#: An estimated difference needs this many labelled topics, and labels per system.
MIN_LABELLED_TOPICS, MIN_LABELS_PER_SYSTEM = 10, 20
#: Human labels with at least this credit are of the upper kind, others of the lower.
MIN_UPPER_KIND_CREDIT = 0.5
CONFIDENCE_LEVEL = 0.95
ESTIMATION_METHOD = "ppi-topics"


class NoEstimateReason(StrEnum):
    """The reason why a score has no estimate."""

    TOPICS = "topics"
    LABELS = "labels"
    OF_A_KIND = "labels of a kind"


@dataclass(frozen=True, kw_only=True)
class LabelledSample:
    """The judge's values of one system's units and people's labels of a sample, each
    from 0 to 1.

    ``topics``, ``judged`` and ``weights`` have the shape (N,) and contain each unit's
    topic number, the judge's value, and the unit's positive weight in the score. The
    remaining arrays have the shape (n,) and describe people's labels of a random sample
    of units. If people label only a part of a unit, such as some citations of a topic,
    ``label_judged`` is the judge's value of this part instead of the whole unit.
    """

    topics: NDArray[np.int_]
    judged: Floats
    weights: Floats
    label_topics: NDArray[np.int_]
    label_judged: Floats
    people: Floats
    label_weights: Floats

    @property
    def labels(self) -> int:
        return len(self.people)

    @property
    def number_of_upper_labels(self) -> int:
        """Return the number of human labels of the upper kind, which have at least half
        credit.
        """
        return int((self.people >= MIN_UPPER_KIND_CREDIT).sum())

    @property
    def number_of_rarer_labels(self) -> int:
        """Return the number of human labels of the rarer kind, which is upper (at least
        half credit) or lower (less than half credit).
        """
        return min(
            self.number_of_upper_labels, self.labels - self.number_of_upper_labels
        )

    def compute_judge_mean(self) -> float:
        """Return the weighted mean of the judge's values over all units."""
        return float(np.average(self.judged, weights=self.weights))


@dataclass(frozen=True, kw_only=True)
class ScoreEstimate:
    """An estimated score or difference of scores, with its 95 % interval.

    ``judge_weight`` is the weight of the judge, from 0 (human labels only) to 1.
    ``worth`` is the number of human labels that would yield the same standard error
    without a judge, or None if the standard error is zero.
    """

    value: float
    error: float
    df: float
    low: float
    high: float
    judge_weight: float
    labels: int
    worth: float | None


def estimate_score(sample: LabelledSample) -> ScoreEstimate | NoEstimateReason:
    """Return the estimated score of a system. The estimated score and its interval are
    clipped to the range from 0 to 1.
    """
    if len(np.unique(sample.topics)) < MIN_TOPICS:
        return NoEstimateReason.TOPICS
    if reason := _find_no_estimate_reason([sample]):
        return reason
    if sample.number_of_rarer_labels < MIN_LABELS_OF_RARER_KIND:
        return NoEstimateReason.OF_A_KIND
    return _widen_interval(estimate_signed_sum([(1.0, sample)], (0.0, 1.0)), sample)


def _widen_interval(found: ScoreEstimate, sample: LabelledSample) -> ScoreEstimate:
    """Return the estimate with a wider interval if labels above or labels below
    ``MIN_UPPER_KIND_CREDIT`` are rare. Scores with too few human labels are hidden. Hiding scores
    reduces the coverage of the remaining intervals, and wider intervals restore the
    coverage.
    """
    more = sample.number_of_rarer_labels - MIN_LABELS_OF_RARER_KIND
    if more >= len(INTERVAL_WIDENING_FACTORS):
        return found
    if sample.number_of_upper_labels == sample.number_of_rarer_labels:
        low = found.value - INTERVAL_WIDENING_FACTORS[more] * (found.value - found.low)
        return replace(found, low=max(0.0, low))
    high = found.value + INTERVAL_WIDENING_FACTORS[more] * (found.high - found.value)
    return replace(found, high=min(1.0, high))


def estimated_difference(
    first: LabelledSample, second: LabelledSample
) -> ScoreEstimate | NoEstimateReason:
    """Return the estimated score of the first system minus the estimated score of the
    second system.

    Both systems must use the same topic numbers. The units and the labels of both
    systems may differ. The difference has no estimate if all labels of each system are
    equal, because the standard error would be zero.
    """
    if reason := _find_no_estimate_reason([first, second]):
        return reason
    if np.ptp(first.people) == np.ptp(second.people) == 0:
        return NoEstimateReason.OF_A_KIND
    return estimate_signed_sum([(1.0, first), (-1.0, second)], (-1.0, 1.0))


def _find_no_estimate_reason(
    samples: Sequence[LabelledSample],
) -> NoEstimateReason | None:
    for sample in samples:
        if len(np.unique(sample.label_topics)) < MIN_LABELLED_TOPICS:
            return NoEstimateReason.TOPICS
        if sample.labels < MIN_LABELS_PER_SYSTEM:
            return NoEstimateReason.LABELS
    return None


def estimate_signed_sum(
    signed: Sequence[tuple[float, LabelledSample]], ends: tuple[float, float]
) -> ScoreEstimate:
    """Return the estimated sum of several systems' scores, each multiplied by its sign.

    In the following formulas, J are the judge's values, Y people's labels and λ the
    judge's weight. A system's score is the weighted mean of λJ over all units plus the
    weighted mean of Y - λJ over the labels. The standard error is computed from the sum
    of influences in each topic, u = A - λB, which is linear in λ. The weight λ that
    minimises the standard error is the regression of A on B, clipped to 0 and 1. The
    estimate needs at least two topics with labels.
    """
    from scipy.special import stdtrit

    topics = 1 + max(int(sample.topics.max()) for _sign, sample in signed)
    parts = [_compute_topic_influences(sample, sign, topics) for sign, sample in signed]
    of_people = np.sum([part.of_people for part in parts], axis=0)
    of_judge = np.sum([part.of_judge for part in parts], axis=0)
    squares = float(of_judge @ of_judge)
    ratio = float(of_people @ of_judge) / squares if squares > 0 else 0.0
    judge_weight = min(1.0, max(0.0, ratio))
    value = sum(
        sign
        * (
            _compute_label_mean(sample, sample.people)
            + judge_weight * _compute_judge_shift(sample)
        )
        for sign, sample in signed
    )
    counts = np.sum([part.labels for part in parts], axis=0)
    labelled = int((counts > 0).sum())
    scale = labelled / (labelled - 1)
    squared_error = scale * float(np.sum((of_people - judge_weight * of_judge) ** 2))
    of_people_alone = scale * float(of_people @ of_people)
    error = math.sqrt(squared_error)
    df = max(1.0, float(counts.sum() ** 2 / (counts @ counts)) - 1)
    half = float(stdtrit(df, (1 + CONFIDENCE_LEVEL) / 2)) * error
    value, low, high = np.clip([value, value - half, value + half], *ends).tolist()
    labels = min(sample.labels for _sign, sample in signed)
    return ScoreEstimate(
        value=value,
        error=error,
        df=df,
        low=low,
        high=high,
        judge_weight=judge_weight,
        labels=labels,
        worth=labels * of_people_alone / squared_error if squared_error > 0 else None,
    )


@dataclass(frozen=True)
class _TopicInfluences:
    """Arrays with one number per topic, which are the influence of human labels, the
    influence of a judge with weight 1, and the total weight of labels.
    """

    of_people: Floats
    of_judge: Floats
    labels: Floats


def _compute_topic_influences(
    sample: LabelledSample, sign: float, topics: int
) -> _TopicInfluences:
    units, labels = sample.weights.sum(), sample.label_weights.sum()
    people = sample.people - _compute_label_mean(sample, sample.people)
    label_judged = sample.label_judged - _compute_label_mean(
        sample, sample.label_judged
    )
    judged = sample.judged - sample.compute_judge_mean()

    def sum_by_label_topic(values: Floats) -> Floats:
        return np.bincount(sample.label_topics, values, topics).astype(float)

    of_labels = sum_by_label_topic(sample.label_weights * label_judged) / labels
    of_units = np.bincount(sample.topics, sample.weights * judged, topics) / units
    return _TopicInfluences(
        of_people=sign * sum_by_label_topic(sample.label_weights * people) / labels,
        of_judge=sign * (of_labels - of_units),
        labels=sum_by_label_topic(sample.label_weights / labels),
    )


def _compute_label_mean(sample: LabelledSample, values: Floats) -> float:
    return float(np.average(values, weights=sample.label_weights))


def _compute_judge_shift(sample: LabelledSample) -> float:
    """Return the judge's mean over all units minus the judge's mean over the parts of
    units that people labelled.
    """
    return sample.compute_judge_mean() - _compute_label_mean(
        sample, sample.label_judged
    )
