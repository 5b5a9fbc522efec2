"""Metrics of rankings, such as recall, reciprocal rank, nDCG, success, average
precision and F1 at a cut-off, and the perplexity of declared probabilities.

The values of ranking metrics equal those of ir_measures. An answer is a list of
candidates, with the best candidate first. Metrics are computed from the ranks of the
gold candidates.
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import (
    Floats,
    MeanMetric,
    Metric,
    divide_or_zero,
    quotient,
)
from tasks.types.base import MeasureCredits
from tasks.types.citation_resolution.collection import RankingsWithCocitation
from tasks.types.ranking.lists import (
    ITEMS_PER_BLOCK,
    NO_ROW_NUMBER,
    GradedListColumn,
    Int32Array,
    ListColumn,
    compute_ranks_of_gold,
    divide_rows_into_blocks,
)
from tasks.types.ranking.runs import RankingsWithProbabilities

NDCG_CITATION = "Järvelin and Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, TOIS 20"
BPREF_CITATION = (
    "Buckley and Voorhees 2004, Retrieval evaluation with incomplete information, SIGIR"
)
PRECISION_CITATION = (
    "Buckley and Voorhees 2005, Retrieval System Evaluation, in TREC, MIT Press"
)
#: Column and source of each ranking metric.
COLUMN_AND_CITATION_BY_MEASURE = {
    "recall": (
        "recall",
        "Cleverdon 1967, The Cranfield tests on index language devices, Aslib Proceedings 19",
    ),
    "mrr": (
        "reciprocal_rank",
        "Kantor and Voorhees 2000, The TREC-5 Confusion Track, Information Retrieval 2",
    ),
    "ndcg": ("ndcg", NDCG_CITATION),
    "success": (
        "success",
        "Craswell and Hawking 2004, Overview of the TREC 2004 Web track",
    ),
    "map": ("average_precision", PRECISION_CITATION),
}
CITATION_BY_GRADED_MEASURE = {
    "ndcg_graded": NDCG_CITATION,
    "rbp": "Moffat and Zobel 2008, Rank-biased precision for measurement of retrieval effectiveness, TOIS 27",
    "unjudged": BPREF_CITATION,
}
#: This cut-off value selects the whole ranking.
WHOLE_RANKING_CUT = 2**31 - 1
#: Rank-biased precision assumes this probability that a reader continues.
RBP_PERSISTENCE = 0.8


class Ranking(MeanMetric):
    """The mean over instances of a measure of a ranking's first ``cut`` positions, with
    binary relevance.

    Relevance is binary. Recall is the share of the gold candidates that are in the
    first ``cut`` positions. The reciprocal rank is 1 / rank of the first gold candidate
    in the first ``cut`` positions, or 0 if these positions contain no gold candidate.
    nDCG sums the discounts 1 / log2(rank + 1) of the gold candidates and divides by the
    largest possible sum. Success is 1 if the first ``cut`` positions contain a gold
    candidate, else 0. Average precision is the mean over all gold candidates of the
    precision at the candidate's rank, which is 0 for missing candidates. A gold
    instance without an answer scores 0. Instances without gold candidates do not count.
    """

    shape = "rank"
    columns = tuple(column for column, _ in COLUMN_AND_CITATION_BY_MEASURE.values())

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        measure: str,
        cut: int = WHOLE_RANKING_CUT,
        over_units: bool = False,
    ) -> None:
        column, self.citation = COLUMN_AND_CITATION_BY_MEASURE[measure]
        super().__init__(name, rules, column=column, over_units=over_units)
        self.cut, self.fixed = cut, {"cut": "none" if cut == WHOLE_RANKING_CUT else cut}
        self.statistic = "ranking" if cut == WHOLE_RANKING_CUT else f"ranking@{cut}"

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Return an array (n, 6) with the columns that `measured` returns. Each gold
        value and each answer is a list of candidates, and answers have the best
        candidate first. ``gold`` and ``answers`` are `Lists`, or sequences of hashable
        ids.
        """
        wanted, ranked = number_candidates(gold, answers)
        return compute_ranking_measures(
            compute_ranks_of_gold(wanted, ranked), wanted, self.cut
        )

    def marks(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Sequence[MeasureCredits | None]:
        needs_one = self.column in ("reciprocal_rank", "success")
        return _mark_found_candidates(gold, answers, self.cut, needs_one=needs_one)


def _mark_found_candidates(
    gold: Sequence[Any],
    answers: Sequence[Any],
    cut: int,
    *,
    counts_wrong: bool = False,
    needs_one: bool = False,
) -> list[MeasureCredits | None]:
    """Mark the gold candidates in the first ``cut`` positions of a ranking as found,
    and all other gold candidates as missed.

    If ``needs_one`` is True, only the first gold candidate counts. If ``counts_wrong``
    is True, candidates that are not in the gold are marked too.
    """
    found: list[MeasureCredits | None] = []
    for own, answer in zip(gold, answers, strict=True):
        if not own:
            found.append(None)
            continue
        ranked, relevant = (answer or ())[:cut], set(own)
        hits = [candidate for candidate in ranked if candidate in relevant]
        counted = set(hits[:1] if needs_one else hits)
        missed = None if needs_one and hits else 0.0
        wrong = 0.0 if counts_wrong else None
        found.append(
            MeasureCredits(
                tuple(1.0 if one in counted else missed for one in own),
                (
                    *(
                        1.0 if one in counted else None if one in relevant else wrong
                        for one in ranked
                    ),
                    *[None] * (len(answer or ()) - len(ranked)),
                ),
            )
        )
    return found


def compute_ranking_measures(ranks: Int32Array, gold: ListColumn, cut: int) -> Floats:
    """Return an array (n, 6) with the five measures of each ranking in the order of
    ``Ranking.columns``, and 1 if the instance counts.

    ``ranks`` contains the ranks of gold candidates, from 1, or 0 for candidates that
    are not ranked.
    """
    stats = np.zeros((len(gold), len(Ranking.columns) + 1))
    for start, end in divide_rows_into_blocks(gold.offsets, ITEMS_PER_BLOCK):
        own, part = ranks[slice(*gold.offsets[[start, end]])], stats[start:end]
        sizes = np.diff(gold.offsets[start : end + 1])
        count = len(sizes)
        part[:, -1] = sizes > 0
        hits = np.flatnonzero((own > 0) & (own <= cut))
        rows = np.repeat(np.arange(count), sizes)[hits]
        # Hits are ranked gold candidates.
        # Hits are sorted by rank, so the first hit of a row is the best.
        # Sums over hits in rank order have the same rounding errors as other programs.
        order = np.lexsort((own[hits], rows))
        rows, at = rows[order], own[hits][order].astype(np.float64)
        right = np.bincount(rows, minlength=count)
        firsts = np.flatnonzero(np.diff(rows, prepend=NO_ROW_NUMBER))
        nth = np.arange(len(rows)) - np.repeat(firsts, right[rows[firsts]]) + 1
        size = np.maximum(sizes, 1)
        part[:, 0] = right / size
        part[rows[firsts], 1] = 1 / at[firsts]
        best = np.minimum(size, cut)
        last = int(np.concatenate([at, best]).max())
        # The discount of nDCG at each rank, where rank 0 is unused.
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


def number_candidates(
    gold: Sequence[Sequence[Hashable] | None],
    answers: Sequence[Sequence[Hashable] | None],
) -> tuple[ListColumn, ListColumn]:
    """Return gold and answers as lists of candidate numbers. Raises ValueError if an
    answer contains a candidate twice.
    """
    if isinstance(gold, ListColumn) and isinstance(answers, ListColumn):
        return gold, answers
    numbers: dict[Hashable, int] = {}

    def number_row(candidates: Sequence[Hashable] | None) -> list[int] | None:
        if candidates is None:
            return None
        return [numbers.setdefault(candidate, len(numbers)) for candidate in candidates]

    wanted = [
        None
        if candidates is None
        else list(dict.fromkeys(number_row(candidates) or ()))
        for candidates in gold
    ]
    ranked = [number_row(answer) for answer in answers]
    for index, ranking in enumerate(ranked):
        if ranking is not None and len(set(ranking)) < len(ranking):
            raise ValueError(f"answer {index} has a candidate twice")
    return ListColumn.of(wanted), ListColumn.of(ranked)


class GradedRanking(MeanMetric):
    """The mean over instances of a measure of a ranking's first ``cut`` positions, with
    graded relevance.

    Graded nDCG sums the candidates' grades, discounted by the binary logarithm of rank
    + 1, and divides by the largest possible sum. Rank-biased precision is the expected
    relevance for a reader who continues to the next answer with probability .8. The
    measure `unjudged` is the share of candidates without a grade, whose relevance is
    unknown. Graded nDCG and the unjudged share are undefined without grades. An
    instance without an answer scores 0. Instances without a relevant candidate do not
    count.
    """

    shape = "rank"
    columns = tuple(CITATION_BY_GRADED_MEASURE)

    def __init__(self, name: str, rules: str, *, measure: str, cut: int) -> None:
        super().__init__(name, rules, column=measure)
        self.cut, self.citation = cut, CITATION_BY_GRADED_MEASURE[measure]
        self.needs_grades = measure != "rbp"
        self.higher_is_better = None if measure == "unjudged" else True
        self.statistic = f"graded@{cut}" if self.needs_grades else f"rbp@{cut}"
        self.fixed = {
            "cut": cut,
            **({} if self.needs_grades else {"persistence": RBP_PERSISTENCE}),
        }

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Return an array with the measures in ``columns``, and 1 if the instance
        counts. If the gold has grades, ``gold`` is a `GradedListColumn`.
        """
        assert isinstance(gold, ListColumn)
        assert isinstance(answers, ListColumn)
        count = len(gold)
        stats = np.zeros((count, len(self.columns) + 1))
        if self.needs_grades and not isinstance(gold, GradedListColumn):
            return stats
        judged, grades = extract_candidates_and_grades(gold)
        rows = np.repeat(np.arange(count), judged.list_lengths)
        ranks = compute_ranks_of_gold(judged, answers)
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
        chances = (1 - RBP_PERSISTENCE) * RBP_PERSISTENCE ** (ranks[relevant] - 1.0)
        shown = np.minimum(answers.list_lengths, self.cut)
        with_grade = np.bincount(rows[hits], minlength=count)
        stats[:, 0] = divide_or_zero(gains, ideal)
        stats[:, 1] = np.bincount(rows[relevant], chances, minlength=count)
        stats[:, 2] = divide_or_zero(shown - with_grade, shown)
        stats[:, 3] = ideal > 0
        stats *= stats[:, 3:]
        return stats

    def marks(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Sequence[MeasureCredits | None]:
        return _mark_found_candidates(gold, answers, self.cut)


class GradedNdcg(GradedRanking):
    """Graded nDCG. If the gold has no grades, all gold candidates have grade 1."""

    def __init__(self, name: str, rules: str, *, cut: int = WHOLE_RANKING_CUT) -> None:
        super().__init__(name, rules, measure="ndcg_graded", cut=cut)
        self.needs_grades, self.statistic = False, f"ndcg@{cut}"
        self.fixed = {
            "cut": "none" if cut == WHOLE_RANKING_CUT else cut,
            "gains": "grades",
        }


class RPrecision(MeanMetric):
    """The mean over instances of the precision at rank R, where R is the number of gold
    candidates. An instance without an answer scores 0. Instances without gold
    candidates do not count.
    """

    shape = "rank"
    columns = ("measured",)
    statistic = "r-precision"
    citation = PRECISION_CITATION

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        wanted, ranked = number_candidates(gold, answers)
        ranks, sizes = compute_ranks_of_gold(wanted, ranked), wanted.list_lengths
        rows = np.repeat(np.arange(len(wanted)), sizes)
        hits = np.bincount(
            rows[(ranks > 0) & (ranks <= sizes[rows])], minlength=len(wanted)
        )
        return np.column_stack([hits / np.maximum(sizes, 1), sizes > 0]).astype(
            np.float64
        )

    def marks(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Sequence[MeasureCredits | None]:
        found: list[MeasureCredits | None] = []
        for own, answer in zip(gold, answers, strict=True):
            found += _mark_found_candidates(
                [own], [answer], len(own or ()), counts_wrong=True
            )
        return found


class Bpref(RPrecision):
    """The mean over instances of bpref, as in trec_eval. Each ranked gold candidate
    contributes 1 - min(r, R) / min(N, R), where r is the number of irrelevant
    candidates ranked above it, and R and N are the numbers of candidates that are
    judged relevant and irrelevant.
    """

    statistic = "bpref"
    citation = BPREF_CITATION

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        assert isinstance(gold, ListColumn)
        judged, grades = extract_candidates_and_grades(gold)
        ranks = (
            compute_ranks_of_gold(judged, answers)
            if isinstance(answers, ListColumn)
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

    def marks(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Sequence[MeasureCredits | None]:
        return _mark_found_candidates(gold, answers, WHOLE_RANKING_CUT)


def extract_candidates_and_grades(gold: ListColumn) -> tuple[ListColumn, Floats]:
    """Return the judged candidates and their grades. If the gold has no grades, all
    gold candidates have grade 1.
    """
    if isinstance(gold, GradedListColumn):
        return gold.judged, gold.grades.astype(np.float64)
    return gold, np.ones(len(gold.values))


class RankingF1(MeanMetric):
    """The mean over instances of F1 = 2PR / (P + R) of a ranking, or 0 if precision P
    and recall R are both 0. Precision P is the number of gold candidates in the first
    ``cut`` positions divided by ``cut``, even if the ranking is shorter. Recall R is
    the number of gold candidates in the first ``cut`` positions divided by the number
    of all gold candidates. An instance without an answer scores 0. If each instance has
    one gold candidate, F1 equals recall times 2 / (cut + 1).
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
        """Return an array (n, 4) with precision, recall and F1, and 1 if the instance
        counts.
        """
        wanted, ranked = number_candidates(gold, answers)
        ranks, sizes = compute_ranks_of_gold(wanted, ranked), wanted.list_lengths
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

    def marks(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Sequence[MeasureCredits | None]:
        counts_wrong = self.column != "recall"
        return _mark_found_candidates(
            gold, answers, self.cut, counts_wrong=counts_wrong
        )


class F1OfMeans(RankingF1):
    """F1 of the mean precision and the mean recall over instances. If all instances
    have the same number of gold candidates, this F1 equals the mean of the instances'
    F1.
    """

    form = "means"

    def aggregate(self, sums: Floats) -> Floats:
        precision, recall, count = sums[..., 0], sums[..., 1], sums[..., -1]
        return np.where(
            count > 0,
            divide_or_zero(2 * precision * recall, (precision + recall) * count),
            np.nan,
        )


class Perplexity(Metric):
    """The perplexity of the gold candidates under a run's probabilities of candidates.

    The perplexity is exp of the mean over instances of -ln p, where p is the
    probability of the gold candidate. If an instance has several gold candidates, -ln p
    is averaged over these candidates. The probability that a run leaves over for an
    instance is distributed evenly over the candidates without a probability. Without an
    answer or without any probabilities for an instance, each candidate has probability
    1 / number of candidates. The best value is 1. The perplexity of a uniform
    distribution is the number of candidates. The perplexity is infinite if a gold
    candidate has probability 0, and undefined (NaN) for a run without probabilities.
    """

    shape = "error"
    higher_is_better = False
    ends = (1.0, math.inf)
    counts_by_last_column = True
    statistic = "perplexity"
    citation = "Jelinek, Mercer, Bahl and Baker 1977, Perplexity, JASA 62"
    fixed = {"average": "instances", "base": "e", "rest": "even"}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """Return an array (n, 3) with the mean -ln p of gold candidates with positive
        probability, 1 if a gold candidate has probability 0, and 1 if the instance
        counts.
        """
        assert isinstance(gold, ListColumn)
        stats = np.zeros((len(gold), 3))
        if not isinstance(answers, RankingsWithProbabilities):
            return stats
        logs = answers.declared.log_probabilities(gold, answers.candidates)
        rows, is_possible = (
            np.repeat(np.arange(len(gold)), gold.list_lengths),
            np.isfinite(logs),
        )
        sizes = np.maximum(gold.list_lengths, 1)
        stats[:, 0] = (
            np.bincount(rows[is_possible], -logs[is_possible], minlength=len(gold))
            / sizes
        )
        stats[:, 1] = np.bincount(rows[~is_possible], minlength=len(gold)) > 0
        stats[:, 2] = gold.list_lengths > 0
        return stats

    def denominators(self, rows: Floats) -> Floats:
        return rows[:, -1]

    def on_interval_scale(self, values: Floats) -> Floats:
        """Return the logarithm of each perplexity."""
        with np.errstate(invalid="ignore"):
            return np.log(values)

    def from_interval_scale(self, values: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(values)

    def aggregate(self, sums: Floats) -> Floats:
        means = quotient(sums[..., 0], sums[..., 2])
        with np.errstate(over="ignore"):
            return np.where(sums[..., 1] > 0, np.inf, np.exp(means))


RESOLUTION_CITATION = (
    "Duma and Klein 2014, Citation Resolution: A method for evaluating context-based citation "
    "recommendation systems, ACL"
)
COCITATION_PROBABILITY_CITATION = (
    "He et al. 2010, Context-aware Citation Recommendation, WWW"
)


class ResolutionMean(MeanMetric):
    """The mean over citation contexts of the measure ``success`` or ``first``. A group
    of adjacent citations is one citation context. A citation context without an answer
    scores 0. ``success`` is 1 if one of the first n answers is one of the n distinct
    cited papers, else 0. ``first`` is 1 if the first answer is one of the cited papers,
    else 0.
    """

    statistic = "resolution"
    columns = ("success", "first")
    citation = RESOLUTION_CITATION

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        assert isinstance(gold, ListColumn), "gold is numbered"
        assert isinstance(answers, ListColumn), "answers are numbered"
        best = find_best_ranks(gold, answers)
        stats = np.ones((len(gold), 3))
        stats[:, 0] = (best > 0) & (best <= gold.list_lengths)
        stats[:, 1] = best == 1
        return stats


class FirstPerCitation(Metric):
    """The share of citations whose cited paper is the first answer for the citation's
    context. A group of n cited papers counts as n citations.
    """

    shape = "mean"
    statistic = "resolution_citations"
    citation = RESOLUTION_CITATION
    fixed = {"average": "citations"}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        assert isinstance(gold, ListColumn), "gold is numbered"
        assert isinstance(answers, ListColumn), "answers are numbered"
        return np.column_stack(
            [find_best_ranks(gold, answers) == 1, gold.list_lengths]
        ).astype(float)

    def denominators(self, rows: Floats) -> Floats:
        return rows[:, 1]

    def aggregate(self, sums: Floats) -> Floats:
        return quotient(sums[..., 0], sums[..., 1])


class CocitedProbability(MeanMetric):
    """The mean co-citation probability over all pairs of one of the first n answers and
    one of the n cited papers. The co-citation probability of two papers is the number
    of papers that cite both, divided by the number of papers that cite at least one.

    The co-citation probability is undefined without the citation graph of the
    collection.
    """

    statistic = "cocited"
    columns = ("cocited",)
    citation = COCITATION_PROBABILITY_CITATION

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        assert isinstance(answers, RankingsWithCocitation), (
            "answers know what the graph says"
        )
        is_known = ~np.isnan(answers.cocited)
        return np.column_stack(
            [np.where(is_known, answers.cocited, 0), is_known]
        ).astype(float)


def find_best_ranks(
    gold: ListColumn, answers: ListColumn
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the best rank of a gold candidate in each row of the gold, from 1, or 0 if
    no gold candidate is ranked. Each row must have gold.
    """
    ranks = compute_ranks_of_gold(gold, answers).astype(np.int64)
    unranked = np.iinfo(np.int64).max
    best = np.minimum.reduceat(np.where(ranks > 0, ranks, unranked), gold.offsets[:-1])
    return np.where(best == unranked, 0, best)
