"""Measure the agreement of a judge with people, who both labelled the same judgements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats
from scoring.metrics.classification import MIN_UNITS_PER_CLASS, Kappa
from scoring.stats.jackknife import (
    MIN_INFLUENTIAL_UNITS,
    NoIntervalReason,
    compute_jackknife_interval,
)
from scoring.stats.resampling import IntervalBounds

ConfusionCounts = NDArray[np.int_]


@dataclass(frozen=True, kw_only=True)
class ConfusionMatrices:
    """Counts of judgements by label, for each topic.

    The arrays in ``by_topic`` have the shape (q, q) for the q ``labels``, with people's
    labels in rows and the judge's labels in columns. Each judgement counts once and has
    no weight.
    """

    labels: Sequence[str]
    by_topic: Mapping[int, ConfusionCounts]

    @cached_property
    def counts(self) -> ConfusionCounts:
        return _sum_counts(self.by_topic.values(), len(self.labels))

    @property
    def judgements(self) -> int:
        return int(self.counts.sum())

    @property
    def same(self) -> int:
        """Return the number of judgements to which people and judge gave the same
        label.
        """
        return int(np.trace(self.counts))

    @property
    def kappa(self) -> float:
        """Return Cohen's kappa, or NaN without judgements or if people and judge use
        the same single label.
        """
        return float(self._compute_kappas(self.counts))

    @property
    def kappa_interval(self) -> IntervalBounds | NoIntervalReason:
        """Return the jackknife interval of kappa over topics, or the reason why kappa
        has no interval.

        As for the kappa of two annotators, each label needs MIN_UNITS_PER_CLASS topics
        in which people and judge agree on the label.
        """
        if len(self.by_topic) < MIN_INFLUENTIAL_UNITS:
            return NoIntervalReason.FEW_UNITS
        counts = np.stack(list(self.by_topic.values()))
        agreed = (np.diagonal(counts, axis1=1, axis2=2) > 0).sum(axis=0)
        is_used = (self.counts.sum(axis=0) + self.counts.sum(axis=1)) > 0
        if (agreed[is_used] < MIN_UNITS_PER_CLASS).any():
            return NoIntervalReason.FEW_OF_A_CLASS
        left_out = self._compute_kappas(self.counts - counts)
        found = compute_jackknife_interval(self.kappa, left_out.tolist(), (-1.0, 1.0))
        return found or NoIntervalReason.UNDEFINED

    def by_people(self, label: str) -> int:
        """Return the number of judgements to which people gave the label."""
        return int(self.counts[self._find_label_index(label)].sum())

    def sensitivity(self, label: str) -> float | None:
        """Return the share of judgements that the judge labelled ``label`` among those
        that people labelled ``label``, or None if people never gave ``label``.
        """
        place = self._find_label_index(label)
        return _divide_or_none(self.counts[place, place], self.counts[place].sum())

    def specificity(self, label: str) -> float | None:
        """Return the share of judgements that the judge did not label ``label`` among
        those that people did not, or None if people gave only ``label``.
        """
        others = np.delete(self.counts, self._find_label_index(label), axis=0)
        right = others.sum() - others[:, self._find_label_index(label)].sum()
        return _divide_or_none(right, others.sum())

    def _find_label_index(self, label: str) -> int:
        return list(self.labels).index(label)

    @property
    def _label_pairs(self) -> list[tuple[str, str]]:
        return [(people, judge) for people in self.labels for judge in self.labels]

    def _compute_kappas(self, counts: ConfusionCounts) -> Floats:
        """Return the kappa of each of the (…, q, q) confusion matrices."""
        people, judge = zip(*self._label_pairs, strict=True)
        metric = Kappa("kappa", "", labels=self.labels)
        cells = counts.reshape(*counts.shape[:-2], -1)
        return np.asarray(
            metric.aggregate(cells @ metric.instance_stats(people, judge))
        )


def count_confusions(
    first: NDArray[np.uint8], second: NDArray[np.uint8], units: NDArray[np.uint32]
) -> ConfusionMatrices:
    """Return the confusion matrices of two judges' labels of the same items, with one
    matrix for each unit, such as a topic. The labels are bytes.
    """
    names = np.union1d(first, second)
    rows, columns = np.searchsorted(names, first), np.searchsorted(names, second)
    distinct, topics = np.unique(units, return_inverse=True)
    size = len(names)
    cells = (topics * size + rows) * size + columns
    counts = np.bincount(cells, minlength=len(distinct) * size * size)
    return ConfusionMatrices(
        labels=[str(name) for name in names],
        by_topic=dict(enumerate(counts.reshape(len(distinct), size, size))),
    )


def sum_confusion_matrices(
    confusions: Sequence[ConfusionMatrices],
) -> ConfusionMatrices:
    """Return the sum of confusion matrices with equal labels and common topic numbers."""
    labels = confusions[0].labels
    topics = dict.fromkeys(topic for one in confusions for topic in one.by_topic)
    return ConfusionMatrices(
        labels=labels,
        by_topic={
            topic: _sum_counts(
                [one.by_topic[topic] for one in confusions if topic in one.by_topic],
                len(labels),
            )
            for topic in topics
        },
    )


def _sum_counts(counts: Iterable[ConfusionCounts], labels: int) -> ConfusionCounts:
    total = np.zeros((labels, labels), int)
    for one in counts:
        total += one
    return total


def _divide_or_none(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None
