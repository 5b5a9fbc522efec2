"""Measures of rankings, equal to ir_measures: recall, reciprocal rank, nDCG, success and average precision
at a cut-off.

Relevance is a yes or no, and the order of an answer's list is its ranking. Everything follows from the
ranks of the gold candidates.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Floats
from scoring.metrics.means import MeanMetric
from tasks.types.ranking.lists import Lists, Numbers, ranks_of

#: By the name of a metric its column and where it comes from.
MEASURES = {
    "recall": (
        "recall",
        "Cleverdon 1967, The Cranfield tests on index language devices, Aslib Proceedings 19",
    ),
    "mrr": (
        "reciprocal_rank",
        "Kantor and Voorhees 2000, The TREC-5 Confusion Track, Information Retrieval 2",
    ),
    "ndcg": (
        "ndcg",
        "Järvelin and Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, TOIS 20",
    ),
    "success": ("success", "Craswell and Hawking 2004, Overview of the TREC 2004 Web track"),
    "map": (
        "average_precision",
        "Buckley and Voorhees 2005, Retrieval System Evaluation, in TREC, MIT Press",
    ),
}
#: Without a cut-off the whole list counts.
WHOLE = 2**31 - 1


class Ranking(MeanMetric):
    """The mean over instances of one measure of the first ``cut`` places.

    Recall is the share of the gold candidates among them; the reciprocal rank is 1 over the rank of the
    first of these, 0 where there is none; nDCG discounts by the binary logarithm of rank + 1 and
    divides by the best possible; success says whether there is one; average precision is the mean over
    all gold candidates of the precision at their ranks, 0 for those that are not there. A gold instance
    without an answer has 0 everywhere, an instance without gold candidates does not count.
    """

    columns = tuple(column for column, _ in MEASURES.values())

    def __init__(
        self, name: str, rules: str, *, measure: str, cut: int = WHOLE, over_units: bool = False
    ) -> None:
        column, self.citation = MEASURES[measure]
        super().__init__(name, rules, column=column, over_units=over_units)
        self.cut = cut
        self.statistic = "ranking" if cut == WHOLE else f"ranking@{cut}"

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {**super().parameters, "cut": "none" if self.cut == WHOLE else self.cut}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Gold and answers are lists of candidates, best first in the answers; in columns of numbers, or
        of any ids.
        """
        wanted, ranked = numbered(gold, answers)
        return measured(ranks_of(wanted, ranked), wanted, self.cut)


def measured(ranks: Numbers, gold: Lists, cut: int) -> Floats:
    """(n, 6): the five measures in the order of ``Ranking.columns``, and whether the instance counts.

    ``ranks`` has the rank of each gold candidate, from 1, or 0 where it is not ranked.
    """
    count = len(gold)
    sizes = gold.lengths
    stats = np.zeros((count, len(Ranking.columns) + 1))
    stats[:, -1] = gold.present & (sizes > 0)
    hits = np.flatnonzero((ranks > 0) & (ranks <= cut))
    rows = np.repeat(np.arange(count), sizes)[hits]
    # In the order of the ranks, so that the first of a row is its best and sums are those of other programs.
    order = np.lexsort((ranks[hits], rows))
    rows, own = rows[order], ranks[hits][order].astype(np.float64)
    found = np.bincount(rows, minlength=count)
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    nth = np.arange(len(rows)) - np.repeat(firsts, found[rows[firsts]]) + 1
    size = np.maximum(sizes, 1)
    stats[:, 0] = found / size
    stats[rows[firsts], 1] = 1 / own[firsts]
    discounts = _discounts(int(own.max(initial=0)), min(cut, int(sizes.max(initial=0))))
    gain = np.bincount(rows, weights=discounts[own.astype(np.int64)], minlength=count)
    ideal = np.cumsum(discounts)[np.minimum(size, cut)]
    stats[:, 2] = gain / ideal
    stats[:, 3] = found > 0
    stats[:, 4] = np.bincount(rows, weights=nth / own, minlength=count) / size
    return stats


def _discounts(*ranks: int) -> Floats:
    """What a hit at each rank is worth, from rank 0, which is worth nothing, to the largest of these."""
    return np.array([0.0, *(1 / math.log2(rank + 1) for rank in range(1, max(*ranks, 1) + 1))])


def numbered(
    gold: Sequence[Sequence[Hashable] | None], answers: Sequence[Sequence[Hashable] | None]
) -> tuple[Lists, Lists]:
    """Both as lists of numbers. Raises ValueError where an answer has a candidate twice."""
    if isinstance(gold, Lists) and isinstance(answers, Lists):
        return gold, answers
    numbers: dict[Hashable, int] = {}

    def row(candidates: Sequence[Hashable] | None) -> list[int] | None:
        if candidates is None:
            return None
        return [numbers.setdefault(candidate, len(numbers)) for candidate in candidates]

    wanted = [
        None if gold_answer is None else list(dict.fromkeys(row(gold_answer) or ())) for gold_answer in gold
    ]
    ranked = [row(answer) for answer in answers]
    for place, ranking in enumerate(ranked):
        if ranking is not None and len(set(ranking)) < len(ranking):
            raise ValueError(f"answer {place} has a candidate twice")
    return Lists.of(wanted), Lists.of(ranked)
