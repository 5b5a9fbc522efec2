"""Measures of rankings, equal to ir_measures: recall, reciprocal rank, nDCG, success and average precision
at a cut-off; F1; measures of grades; perplexity of declared probabilities.

The order of an answer's list is its ranking. Everything follows from the ranks of the gold candidates.
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Floats, MeanMetric, Metric, quotient, ratio
from tasks.types.citation_resolution.collection import Resolutions
from tasks.types.ranking.lists import (
    NO_ROW,
    STEP,
    GradedLists,
    Lists,
    Numbers,
    blocks,
    ranks_of,
)
from tasks.types.ranking.runs import DeclaredLists

GAIN = "Järvelin and Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, TOIS 20"
INCOMPLETE = (
    "Buckley and Voorhees 2004, Retrieval evaluation with incomplete information, SIGIR"
)
PRECISION = "Buckley and Voorhees 2005, Retrieval System Evaluation, in TREC, MIT Press"
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
    "ndcg": ("ndcg", GAIN),
    "success": (
        "success",
        "Craswell and Hawking 2004, Overview of the TREC 2004 Web track",
    ),
    "map": ("average_precision", PRECISION),
}
GRADED_MEASURES = {
    "ndcg_graded": GAIN,
    "rbp": "Moffat and Zobel 2008, Rank-biased precision for measurement of retrieval effectiveness, TOIS 27",
    "unjudged": INCOMPLETE,
}
#: Without a cut-off the whole list counts.
WHOLE = 2**31 - 1
#: How likely a reader goes on to the next answer.
PATIENCE = 0.8


class Ranking(MeanMetric):
    """The mean over instances of one measure of the first ``cut`` places.

    Relevance is a yes or no. Recall is the share of the gold candidates among them; the reciprocal rank is 1
    over the rank of the first of these, 0 where there is none; nDCG discounts by the binary logarithm of
    rank + 1 and divides by the best possible; success says whether there is one; average precision is the
    mean over all gold candidates of the precision at their ranks, 0 for those that are not there. A gold
    instance without an answer has 0 everywhere, an instance without gold candidates does not count.
    """

    shape = "rank"
    columns = tuple(column for column, _ in MEASURES.values())

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        measure: str,
        cut: int = WHOLE,
        over_units: bool = False,
    ) -> None:
        column, self.citation = MEASURES[measure]
        super().__init__(name, rules, column=column, over_units=over_units)
        self.cut, self.fixed = cut, {"cut": "none" if cut == WHOLE else cut}
        self.statistic = "ranking" if cut == WHOLE else f"ranking@{cut}"

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
    stats = np.zeros((len(gold), len(Ranking.columns) + 1))
    for start, end in blocks(gold.offsets, STEP):
        own, part = ranks[slice(*gold.offsets[[start, end]])], stats[start:end]
        sizes = np.diff(gold.offsets[start : end + 1])
        count = len(sizes)
        part[:, -1] = sizes > 0
        hits = np.flatnonzero((own > 0) & (own <= cut))
        rows = np.repeat(np.arange(count), sizes)[hits]
        # In the order of the ranks: the first of a row is its best, and sums are those of other programs.
        order = np.lexsort((own[hits], rows))
        rows, at = rows[order], own[hits][order].astype(np.float64)
        right = np.bincount(rows, minlength=count)
        firsts = np.flatnonzero(np.diff(rows, prepend=NO_ROW))
        nth = np.arange(len(rows)) - np.repeat(firsts, right[rows[firsts]]) + 1
        size = np.maximum(sizes, 1)
        part[:, 0] = right / size
        part[rows[firsts], 1] = 1 / at[firsts]
        best = np.minimum(size, cut)
        last = int(np.concatenate([at, best]).max())
        # What a hit at each rank is worth, from rank 0, which is worth nothing.
        discounts = np.array(
            [0.0, *(1 / math.log2(rank + 1) for rank in range(1, last + 1))]
        )
        gain = np.bincount(
            rows, weights=discounts[at.astype(np.int64)], minlength=count
        )
        part[:, 2] = gain / np.cumsum(discounts)[best]
        part[:, 3] = right > 0
        part[:, 4] = np.bincount(rows, weights=nth / at, minlength=count) / size
    return stats


def numbered(
    gold: Sequence[Sequence[Hashable] | None],
    answers: Sequence[Sequence[Hashable] | None],
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
        None if candidates is None else list(dict.fromkeys(row(candidates) or ()))
        for candidates in gold
    ]
    ranked = [row(answer) for answer in answers]
    for place, ranking in enumerate(ranked):
        if ranking is not None and len(set(ranking)) < len(ranking):
            raise ValueError(f"answer {place} has a candidate twice")
    return Lists.of(wanted), Lists.of(ranked)


class GradedRanking(MeanMetric):
    """The mean over instances of one measure of the first ``cut`` places.

    Graded nDCG gains an answer's grade, discounted by the binary logarithm of rank + 1, and divides by the
    best possible; rank-biased precision is what a reader finds who goes on to the next answer with
    probability .8; unjudged is the share of the answers that have no grade, of which nobody knows what they
    are worth. Graded nDCG and the unjudged share need gold with grades, and are undefined without. An
    instance without an answer has 0 everywhere; one without a relevant candidate counts for nothing.
    """

    shape = "rank"
    columns = tuple(GRADED_MEASURES)

    def __init__(self, name: str, rules: str, *, measure: str, cut: int) -> None:
        super().__init__(name, rules, column=measure)
        self.cut, self.citation = cut, GRADED_MEASURES[measure]
        self.needs_grades = measure != "rbp"
        self.higher_is_better = None if measure == "unjudged" else True
        self.statistic = f"graded@{cut}" if self.needs_grades else f"rbp@{cut}"
        self.fixed = {
            "cut": cut,
            **({} if self.needs_grades else {"persistence": PATIENCE}),
        }

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Gold and answers are lists of candidates in columns of numbers; gold may have grades."""
        assert isinstance(gold, Lists)
        assert isinstance(answers, Lists)
        count = len(gold)
        stats = np.zeros((count, len(self.columns) + 1))
        if self.needs_grades and not isinstance(gold, GradedLists):
            return stats
        judged, grades = graded(gold)
        rows = np.repeat(np.arange(count), judged.lengths)
        ranks = ranks_of(judged, answers)
        hits = (ranks > 0) & (ranks <= self.cut)
        gains = np.bincount(
            rows[hits], grades[hits] / np.log2(ranks[hits] + 1), minlength=count
        )
        best_first = np.lexsort((-grades, rows))
        places = np.arange(len(rows)) - np.searchsorted(rows, np.arange(count))[rows]
        best_gains = np.where(
            places < self.cut, grades[best_first] / np.log2(places + 2), 0.0
        )
        ideal = np.bincount(rows, best_gains, minlength=count).astype(np.float64)
        relevant = hits & (grades > 0)
        chances = (1 - PATIENCE) * PATIENCE ** (ranks[relevant] - 1.0)
        shown = np.minimum(answers.lengths, self.cut)
        with_grade = np.bincount(rows[hits], minlength=count)
        stats[:, 0] = ratio(gains, ideal)
        stats[:, 1] = np.bincount(rows[relevant], chances, minlength=count)
        stats[:, 2] = ratio(shown - with_grade, shown)
        stats[:, 3] = ideal > 0
        stats *= stats[:, 3:]
        return stats


class GradedNdcg(GradedRanking):
    """Graded nDCG where the gold has grades; without them all of the gold has 1."""

    def __init__(self, name: str, rules: str, *, cut: int = WHOLE) -> None:
        super().__init__(name, rules, measure="ndcg_graded", cut=cut)
        self.needs_grades, self.statistic = False, f"ndcg@{cut}"
        self.fixed = {"cut": "none" if cut == WHOLE else cut, "gains": "grades"}


class RPrecision(MeanMetric):
    """The mean over instances of the precision at so many places as there are gold candidates. An instance
    without an answer has 0; one without gold candidates does not count.
    """

    shape = "rank"
    columns = ("measured",)
    statistic = "r-precision"
    citation = PRECISION

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        wanted, ranked = numbered(gold, answers)
        ranks, sizes = ranks_of(wanted, ranked), wanted.lengths
        rows = np.repeat(np.arange(len(wanted)), sizes)
        hits = np.bincount(
            rows[(ranks > 0) & (ranks <= sizes[rows])], minlength=len(wanted)
        )
        return np.column_stack([hits / np.maximum(sizes, 1), sizes > 0]).astype(
            np.float64
        )


class Bpref(RPrecision):
    """The mean over instances of bpref: for each gold candidate found, 1 minus the share of candidates judged
    irrelevant above it, of which at most as many count as there are gold candidates; as trec_eval has it.
    """

    statistic = "bpref"
    citation = INCOMPLETE

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        assert isinstance(gold, Lists)
        judged, grades = graded(gold)
        ranks = (
            ranks_of(judged, answers)
            if isinstance(answers, Lists)
            else np.zeros(len(judged.values))
        )
        stats = np.zeros((len(gold), 2))
        for row, (start, end) in enumerate(
            zip(judged.offsets[:-1], judged.offsets[1:], strict=True)
        ):
            own, worth = ranks[start:end], grades[start:end] > 0
            relevant, others = int(worth.sum()), int((~worth).sum())
            if not relevant:
                continue
            wrong = np.sort(own[~worth & (own > 0)])
            above = np.minimum(np.searchsorted(wrong, own[worth & (own > 0)]), relevant)
            stats[row] = (
                (1 - above / max(1, min(relevant, others))).sum() / relevant,
                1.0,
            )
        return stats


def graded(gold: Lists) -> tuple[Lists, Floats]:
    """What is judged and its grades; without grades all of the gold has 1."""
    if isinstance(gold, GradedLists):
        return gold.judged, gold.grades.astype(np.float64)
    return gold, np.ones(len(gold.values))


class RankingF1(MeanMetric):
    """The mean over instances of F1 = 2PR / (P + R), 0 where nothing is found. Precision P is the share of
    the first ``cut`` places that hold gold candidates, also where a ranking is shorter, recall R the share of
    the gold candidates that are there. An instance without an answer has 0. With one gold candidate each it
    is 2 / (cut + 1) of the recall.
    """

    shape = "rank"
    columns = ("precision", "recall", "f1")
    citation = "van Rijsbergen 1979, Information Retrieval, chapter 7"
    form = "contexts"

    def __init__(self, name: str, rules: str, *, cut: int, column: str = "f1") -> None:
        super().__init__(name, rules, column=column)
        self.cut, self.statistic, self.fixed = (
            cut,
            f"f1@{cut}",
            {"cut": cut, "f1": self.form},
        )

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Gold and answers are lists of candidates, best first in the answers."""
        wanted, ranked = numbered(gold, answers)
        ranks, sizes = ranks_of(wanted, ranked), wanted.lengths
        rows = np.repeat(np.arange(len(wanted)), sizes)[
            (ranks > 0) & (ranks <= self.cut)
        ]
        right = np.bincount(rows, minlength=len(wanted))
        shares = (
            right / self.cut,
            right / np.maximum(sizes, 1),
            2 * right / (self.cut + sizes),
        )
        return np.column_stack([*shares, sizes > 0]).astype(np.float64)


class F1OfMeans(RankingF1):
    """F1 of the mean precision and the mean recall over instances. It is the same as the mean of F1 where
    every instance has equally many gold candidates.
    """

    form = "means"

    def aggregate(self, sums: Floats) -> Floats:
        precision, recall, count = sums[..., 0], sums[..., 1], sums[..., -1]
        return np.where(
            count > 0,
            ratio(2 * precision * recall, (precision + recall) * count),
            np.nan,
        )


class Perplexity(Metric):
    """How surprised a run is by what was cited, from the probabilities of candidates that it declares: exp of
    the mean over instances of -ln p, p the probability of the gold candidate; of several, the mean of their
    -ln p.

    What the probabilities of an instance leave of 1 is shared evenly by the candidates that have none, so
    that an instance without any, or without an answer, has 1 / candidates. It is 1 at best, the number of
    candidates for a run that always gives all the same, and infinite where a gold candidate has 0. A run
    that declares no probabilities has no value (NaN).
    """

    shape = "error"
    higher_is_better = False
    ends = (1.0, math.inf)
    counts_by_last_column = True
    statistic = "perplexity"
    citation = "Jelinek, Mercer, Bahl and Baker 1977, Perplexity, JASA 62"
    fixed = {"average": "instances", "base": "e", "rest": "even"}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """(n, 3): -ln p of what is possible, whether more is gold, and whether the instance counts."""
        assert isinstance(gold, Lists)
        stats = np.zeros((len(gold), 3))
        if not isinstance(answers, DeclaredLists):
            return stats
        logs = answers.declared.log_probabilities(gold, answers.candidates)
        rows, is_possible = (
            np.repeat(np.arange(len(gold)), gold.lengths),
            np.isfinite(logs),
        )
        sizes = np.maximum(gold.lengths, 1)
        stats[:, 0] = (
            np.bincount(rows[is_possible], -logs[is_possible], minlength=len(gold))
            / sizes
        )
        stats[:, 1] = np.bincount(rows[~is_possible], minlength=len(gold)) > 0
        stats[:, 2] = gold.lengths > 0
        return stats

    def denominators(self, rows: Floats) -> Floats:
        return rows[:, -1]

    def on_interval_scale(self, values: Floats) -> Floats:
        """The mean of -ln p, which lies above 0."""
        with np.errstate(invalid="ignore"):
            return np.log(values)

    def from_interval_scale(self, values: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(values)

    def aggregate(self, sums: Floats) -> Floats:
        means = quotient(sums[..., 0], sums[..., 2])
        with np.errstate(over="ignore"):
            return np.where(sums[..., 1] > 0, np.inf, np.exp(means))


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

    shape = "mean"
    statistic = "resolution_citations"
    citation = CITATION
    fixed = {"average": "citations"}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        assert isinstance(gold, Lists), "gold is numbered"
        assert isinstance(answers, Lists), "answers are numbered"
        return np.column_stack([best_ranks(gold, answers) == 1, gold.lengths]).astype(
            float
        )

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
        return np.column_stack(
            [np.where(is_known, answers.cocited, 0), is_known]
        ).astype(float)


def best_ranks(
    gold: Lists, answers: Lists
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each row the best rank of its gold, from 1; 0 where none was ranked. Each row has gold."""
    ranks = ranks_of(gold, answers).astype(np.int64)
    unranked = np.iinfo(np.int64).max
    best = np.minimum.reduceat(np.where(ranks > 0, ranks, unranked), gold.offsets[:-1])
    return np.where(best == unranked, 0, best)
