"""Measures of rankings that ask how relevant an answer is, or whether anybody has judged it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Floats
from scoring.metrics.means import MeanMetric
from tasks.types.ranking.lists import GradedLists, Lists, ranks_of

#: How likely a reader goes on to the next answer.
PATIENCE = 0.8
MEASURES = {
    "ndcg_graded": "Järvelin and Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, TOIS 20",
    "rbp": "Moffat and Zobel 2008, Rank-biased precision for measurement of retrieval effectiveness, TOIS 27",
    "unjudged": "Buckley and Voorhees 2004, Retrieval evaluation with incomplete information, SIGIR",
}


class GradedRanking(MeanMetric):
    """The mean over instances of one measure of the first ``cut`` places.

    Graded nDCG gains an answer's grade, discounted by the binary logarithm of rank + 1, and divides by the
    best possible; rank-biased precision is what a reader finds who goes on to the next answer with
    probability .8; unjudged is the share of the answers that have no grade, of which nobody knows what they
    are worth. Graded nDCG and the unjudged share need gold with grades, and are undefined without. An
    instance without an answer has 0 everywhere; one without a relevant candidate counts for nothing.
    """

    columns = tuple(MEASURES)

    def __init__(self, name: str, rules: str, *, measure: str, cut: int) -> None:
        super().__init__(name, rules, column=measure)
        self.cut, self.citation = cut, MEASURES[measure]
        self.needs_grades = measure != "rbp"
        self.higher_is_better = None if measure == "unjudged" else True
        self.statistic = f"graded@{cut}" if self.needs_grades else f"rbp@{cut}"

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        more = {} if self.needs_grades else {"persistence": PATIENCE}
        return {**super().parameters, "cut": self.cut, **more}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Gold and answers are lists of candidates in columns of numbers; gold may have grades."""
        assert isinstance(gold, Lists)
        assert isinstance(answers, Lists)
        stats = np.zeros((len(gold), len(self.columns) + 1))
        if self.needs_grades and not isinstance(gold, GradedLists):
            return stats
        judged, grades = graded(gold)
        rows = np.repeat(np.arange(len(gold)), judged.lengths)
        ranks = ranks_of(judged, answers)
        hits = (ranks > 0) & (ranks <= self.cut)
        gains = np.bincount(rows[hits], grades[hits] / np.log2(ranks[hits] + 1), minlength=len(gold))
        ideal = _ideal(rows, grades, len(gold), self.cut)
        found = hits & (grades > 0)
        chances = (1 - PATIENCE) * PATIENCE ** (ranks[found] - 1.0)
        shown = np.minimum(answers.lengths, self.cut)
        known = np.bincount(rows[hits], minlength=len(gold))
        stats[:, 0] = np.divide(gains, ideal, out=np.zeros(len(gold)), where=ideal > 0)
        stats[:, 1] = np.bincount(rows[found], chances, minlength=len(gold))
        stats[:, 2] = np.divide(shown - known, shown, out=np.zeros(len(gold)), where=shown > 0)
        stats[:, 3] = gold.present & (ideal > 0)
        stats[:, :3] *= stats[:, 3:]
        return stats


def graded(gold: Lists) -> tuple[Lists, Floats]:
    """What is judged and its grades; without grades all of the gold has 1."""
    if isinstance(gold, GradedLists):
        return gold.judged, gold.grades.astype(np.float64)
    return gold, np.ones(len(gold.values))


def _ideal(rows: np.ndarray[Any, Any], grades: Floats, count: int, cut: int) -> Floats:
    """What the best possible ranking gains."""
    order = np.lexsort((-grades, rows))
    firsts = np.searchsorted(rows, np.arange(count))
    places = np.arange(len(rows)) - firsts[rows]
    gains = np.where(places < cut, grades[order] / np.log2(places + 2), 0.0)
    return np.bincount(rows, gains, minlength=count).astype(np.float64)
