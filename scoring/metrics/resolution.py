"""Citation Resolution: is one of a group of n cited papers among the first n of the ranking.

Duma and Klein 2014, Citation Resolution (ACL).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Floats, MeanMetric, Metric, quotient
from tasks.types.citation_resolution.collection import Resolutions
from tasks.types.ranking.lists import Lists, ranks_of

CITATION = (
    "Duma and Klein 2014, Citation Resolution: A method for evaluating context-based citation "
    "recommendation systems, ACL"
)
COCITATION = "He et al. 2010, Context-aware Citation Recommendation, WWW"


class ResolutionMean(MeanMetric):
    """A mean over contexts; one without an answer counts 0, and a group of citations is one context.

    ``success``: any of the n distinct cited papers is among the first n. ``first``: the first answer is one
    of them.
    """

    statistic = "resolution"
    columns = ("success", "first")
    citation = CITATION

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        assert isinstance(gold, Lists), "gold is numbered"
        assert isinstance(answers, Lists), "answers are numbered"
        best = best_ranks(gold, answers)
        stats = np.ones((len(gold), 3))
        stats[:, 0] = (best > 0) & (best <= gold.lengths)
        stats[:, 1] = best == 1
        return stats


class FirstPerCitation(Metric):
    """The share of all citations that are the first answer in their context; a group of n has n to find."""

    statistic = "resolution_citations"
    citation = CITATION
    fixed = {"average": "citations"}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        assert isinstance(gold, Lists), "gold is numbered"
        assert isinstance(answers, Lists), "answers are numbered"
        return np.column_stack([best_ranks(gold, answers) == 1, gold.lengths]).astype(float)

    def denominators(self, rows: Floats) -> Floats:
        return rows[:, 1]

    def aggregate(self, sums: Floats) -> Floats:
        return quotient(sums[..., 0], sums[..., 1])


class CocitedProbability(MeanMetric):
    """The mean share of papers citing either that cite both, over the first n answers and the n cited papers.

    Undefined where the collection's citation graph is not known.
    """

    statistic = "cocited"
    columns = ("cocited",)
    citation = COCITATION

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        assert isinstance(answers, Resolutions), "answers know what the graph says"
        is_known = ~np.isnan(answers.cocited)
        return np.column_stack([np.where(is_known, answers.cocited, 0), is_known]).astype(float)


def best_ranks(gold: Lists, answers: Lists) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each row the best rank of its gold, from 1; 0 where none was ranked. Each row has gold."""
    ranks = ranks_of(gold, answers).astype(np.int64)
    unranked = np.iinfo(np.int64).max
    best = (
        np.minimum.reduceat(np.where(ranks > 0, ranks, unranked), gold.offsets[:-1]) if len(gold) else ranks
    )
    return np.where(best == unranked, 0, best)
