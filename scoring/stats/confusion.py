"""Measure the agreement of a judge with people, who both labelled the same judgements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.classification import Kappa
from scoring.stats.jackknife import NoInterval
from scoring.stats.people_and_labels import has_each_label, over_left_out
from scoring.stats.resampling import Bounds

Counts = NDArray[np.int_]


@dataclass(frozen=True, kw_only=True)
class Confusion:
    """Counts of judgements by label, for each topic.

    The arrays in ``by_topic`` have the shape (q, q) for the q ``labels``, with people's
    labels in rows and the judge's labels in columns. Each judgement counts once and has
    no weight.
    """

    labels: Sequence[str]
    by_topic: Mapping[int, Counts]

    @cached_property
    def counts(self) -> Counts:
        return _total(self.by_topic.values(), len(self.labels))

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
        return self._kappa(self.counts)

    @property
    def kappa_interval(self) -> Bounds | NoInterval:
        """Return the jackknife interval of kappa over topics, or the reason why kappa
        has no interval.
        """
        cells = {
            (topic, *cell): cell
            for topic, counts in self.by_topic.items()
            for cell, count in zip(self._cells, counts.ravel(), strict=True)
            if count
        }
        return over_left_out(
            {(topic,): counts for topic, counts in self.by_topic.items()},
            lambda kept: self._kappa(_total(kept.values(), len(self.labels))),
            is_carried=has_each_label(cells),
        )

    def by_people(self, label: str) -> int:
        """Return the number of judgements to which people gave the label."""
        return int(self.counts[self._place(label)].sum())

    def sensitivity(self, label: str) -> float | None:
        """Return the share of judgements that the judge labelled ``label`` among those
        that people labelled ``label``, or None if people never gave ``label``.
        """
        place = self._place(label)
        return _share(self.counts[place, place], self.counts[place].sum())

    def specificity(self, label: str) -> float | None:
        """Return the share of judgements that the judge did not label ``label`` among
        those that people did not, or None if people gave only ``label``.
        """
        others = np.delete(self.counts, self._place(label), axis=0)
        right = others.sum() - others[:, self._place(label)].sum()
        return _share(right, others.sum())

    def _place(self, label: str) -> int:
        return list(self.labels).index(label)

    @property
    def _cells(self) -> list[tuple[str, str]]:
        return [(people, judge) for people in self.labels for judge in self.labels]

    def _kappa(self, counts: Counts) -> float:
        people, judge = zip(*self._cells, strict=True)
        metric = Kappa("kappa", "", labels=self.labels)
        sums = counts.ravel() @ metric.instance_stats(people, judge)
        return float(metric.aggregate(sums))


def joined(confusions: Sequence[Confusion]) -> Confusion:
    """Return the sum of confusion matrices with equal labels and common topic numbers."""
    labels = confusions[0].labels
    topics = dict.fromkeys(topic for one in confusions for topic in one.by_topic)
    return Confusion(
        labels=labels,
        by_topic={
            topic: _total(
                [one.by_topic[topic] for one in confusions if topic in one.by_topic],
                len(labels),
            )
            for topic in topics
        },
    )


def _total(counts: Iterable[Counts], labels: int) -> Counts:
    total = np.zeros((labels, labels), int)
    for one in counts:
        total += one
    return total


def _share(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None
