"""Correlations between the leaderboard of a judge and the true leaderboard.

Each function computes a correlation for many weight vectors at once, which makes
jackknifes and permutation tests fast. The correlations equal those of
autojudge-evaluate 1.1.0, the program of TREC AutoJudge.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from scoring.metrics.base import (
    Floats,
    MeanMetric,
    WeightedMetric,
    divide_or_zero,
    quotient,
)
from tasks.types.base import MeasureCredits

#: Correlations of leaderboards are undefined for fewer systems than this number.
MIN_SYSTEMS_FOR_CORRELATION = 3
#: Indices of the matrix columns with true score, judge's score and place of a system.
TRUTH_COLUMN, JUDGE_COLUMN, PLACE_COLUMN = range(3)
#: Each topic has a column for the true score and a column for the judge's score.
#: The topic's third column is 1 if the true leaderboard has a score of the system.
COLUMNS_PER_TOPIC = 3


class ScoredSystem(Protocol):
    """A system's score on a leaderboard, and the system's scores for single topics if
    the leaderboard has topics.
    """

    @property
    def score(self) -> float: ...

    @property
    def topics(self) -> dict[str, float]: ...


@dataclass(frozen=True)
class LeaderboardScores:
    """The true scores and the judge's scores of n systems, as two (n,) arrays. The
    array ``places`` (n,) determines the order of systems with equal scores.
    """

    truth: Floats
    judge: Floats
    places: Floats


def compute_pairwise_signs(values: Floats) -> Floats:
    """Return an array (n, n) whose entry is the sign of the column's value minus the
    row's value.
    """
    return np.sign(values[None, :] - values[:, None])


def sum_over_pairs(matrix: Floats, weights: Floats) -> Floats:
    """Return the sums of an (n, n) matrix over all pairs, weighted by each of the (…,
    n) weight vectors.
    """
    return np.asarray(((weights @ matrix) * weights).sum(axis=-1))


def compute_kendall_tau_b(systems: LeaderboardScores, weights: Floats) -> Floats:
    """Return Kendall's τ-b between the judge's scores and the true scores, or NaN if
    all true scores or all judge's scores are equal.
    """
    truth, judge = (
        compute_pairwise_signs(systems.truth),
        compute_pairwise_signs(systems.judge),
    )
    ordered = sum_over_pairs(np.abs(truth), weights) * sum_over_pairs(
        np.abs(judge), weights
    )
    return quotient(sum_over_pairs(truth * judge, weights), np.sqrt(ordered))


def compute_ordered_pair_shares(systems: LeaderboardScores, weights: Floats) -> Floats:
    """Return an array (n,) with each system's share of correctly ordered pairs. A pair
    consists of the system and a system with a different true score. A pair is correctly
    ordered if the judge's scores have the same order as the true scores.

    ``weights`` are (n,). The share is NaN for systems with weight 0 or without a pair.
    """
    truth, judge = (
        compute_pairwise_signs(systems.truth),
        compute_pairwise_signs(systems.judge),
    )
    alike = (truth * judge > 0).astype(np.float64)
    shares = quotient(alike @ weights, np.abs(truth) @ weights)
    return np.where(weights > 0, shares, np.nan)


def indicate_varying_values(values: Floats, weights: Floats) -> Floats:
    """Return an array (…) with 1 if the values with positive weight differ, else 0. The
    array ``values`` has the shape (n,) or (…, n).
    """
    chosen = weights > 0
    largest = np.where(chosen, values, -np.inf).max(axis=-1)
    smallest = np.where(chosen, values, np.inf).min(axis=-1)
    return np.asarray(largest > smallest, dtype=np.float64)


def compute_product_moment(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return Pearson's correlation between ``x`` and ``y``, arrays (n,) or (…, n), or
    NaN if one of the arrays is constant.
    """
    total = weights.sum(axis=-1, keepdims=True)
    x = x - quotient((weights * x).sum(axis=-1, keepdims=True), total)
    y = y - quotient((weights * y).sum(axis=-1, keepdims=True), total)
    spread = (weights * x * x).sum(axis=-1) * (weights * y * y).sum(axis=-1)
    both_vary = indicate_varying_values(x, weights) * indicate_varying_values(
        y, weights
    )
    value = quotient((weights * x * y).sum(axis=-1), np.sqrt(spread) * both_vary)
    return np.asarray(np.clip(value, -1.0, 1.0))


def divide_by_largest(values: Floats) -> Floats:
    """Return numbers divided by their largest absolute value, so that squares neither
    underflow nor overflow.
    """
    largest = np.abs(values).max(initial=0.0)
    return values / largest if largest else values


def compute_pearson(systems: LeaderboardScores, weights: Floats) -> Floats:
    """Return Pearson's correlation between the judge's scores and the true scores, or
    NaN if all true scores or all judge's scores are equal.
    """
    return compute_product_moment(
        divide_by_largest(systems.truth), divide_by_largest(systems.judge), weights
    )


def compute_mid_ranks(values: Floats, weights: Floats) -> Floats:
    """Return the ranks of values, an array (…, n), where each value counts with its
    weight. The smallest value has the lowest rank. Tied values have the mean of their
    ranks.
    """
    return np.asarray(weights @ ((compute_pairwise_signs(values) + 1) / 2))


def compute_spearman(systems: LeaderboardScores, weights: Floats) -> Floats:
    """Return Spearman's correlation between the judge's scores and the true scores, or
    NaN if all true scores or all judge's scores are equal.
    """
    truth, judge = (
        compute_mid_ranks(side, weights) for side in (systems.truth, systems.judge)
    )
    return compute_product_moment(truth, judge, weights)


def tauap_b(systems: LeaderboardScores, weights: Floats) -> Floats:
    """Return τ-AP-b, which is the mean of two values of the rank correlation τ-AP. The
    reference is the true leaderboard for one value of τ-AP and the judge's leaderboard
    for the other. τ-AP is 0 if all scores of the reference are equal.
    """
    both = (systems.truth, systems.judge), (systems.judge, systems.truth)
    return np.asarray(np.mean([_compute_tau_ap(*own, weights) for own in both], axis=0))


def _compute_tau_ap(leading: Floats, other: Floats, weights: Floats) -> Floats:
    """Return τ-AP of ``other`` with ``leading`` as the reference.

    For each system, compute which share of the systems that ``leading`` ranks higher is
    also ranked higher in ``other``. τ-AP is twice the mean of these shares minus 1.
    Systems that no system precedes in ``leading`` are excluded.
    """
    above = (compute_pairwise_signs(leading) > 0).astype(np.float64)
    number = weights @ above.T
    agreed = weights @ (above * (compute_pairwise_signs(other) > 0)).T
    own = weights * (number > 0)
    count = own.sum(axis=-1)
    shares = (own * divide_or_zero(agreed, number)).sum(axis=-1)
    return np.where(count > 0, 2 * divide_or_zero(shares, count) - 1, 0.0)


def tau_gap(systems: LeaderboardScores, weights: Floats) -> Floats:
    """Return the rank correlation τ-GAP between the judge's scores and the true scores.

    The gaps in τ-GAP are differences of true scores. The judge's scores determine the
    order of the systems, and ``places`` determines the order of ties. τ-GAP is NaN if
    all true scores are equal.
    """
    judged, places = (
        compute_pairwise_signs(systems.judge),
        compute_pairwise_signs(systems.places),
    )
    above = (judged > 0) | ((judged == 0) & (places < 0))
    gaps = systems.truth[None, :] - systems.truth[:, None]
    whole = weights @ (above * np.abs(gaps)).T
    right = weights @ (above * np.maximum(gaps, 0.0)).T
    own = weights * (whole > 0)
    shares = (own * divide_or_zero(right, whole)).sum(axis=-1)
    return 2 * quotient(shares, own.sum(axis=-1)) - 1


def select_best_systems(
    systems: LeaderboardScores, weights: Floats, count: int
) -> Floats:
    """Return weights that select the ``count`` systems with the highest true scores.
    ``places`` order ties.
    """
    order = np.lexsort((systems.places, -systems.truth))
    own = weights[..., order]
    before = np.cumsum(own, axis=-1) - own
    chosen = np.empty_like(weights)
    chosen[..., order] = np.clip(count - before, 0.0, own)
    return chosen


@dataclass(frozen=True)
class LeaderboardCoefficient:
    """A correlation coefficient. ``value`` computes (…) coefficients from (…, n)
    weights. ``of_ranks`` is True if the coefficient depends only on the order of the
    judge's scores. ``shares`` returns the credit of each system from (n,) weights, or
    None if the coefficient has no credit for single systems.
    """

    value: Callable[[LeaderboardScores, Floats], Floats]
    citation: str
    of_ranks: bool = True
    shares: Callable[[LeaderboardScores, Floats], Floats] | None = None


COEFFICIENT_BY_NAME = {
    "kendall": LeaderboardCoefficient(
        compute_kendall_tau_b,
        "Kendall 1945, The treatment of ties in ranking problems, Biometrika 33",
        shares=compute_ordered_pair_shares,
    ),
    "pearson": LeaderboardCoefficient(
        compute_pearson,
        "Pearson 1896, Mathematical Contributions to the Theory of Evolution III, Phil. Trans. A 187",
        of_ranks=False,
    ),
    "spearman": LeaderboardCoefficient(
        compute_spearman,
        "Spearman 1904, The Proof and Measurement of Association between Two Things, AJP 15",
    ),
    "tauap_b": LeaderboardCoefficient(
        tauap_b,
        "Urbano and Marrero 2017, The Treatment of Ties in AP Correlation, ICTIR",
    ),
    "tau_gap": LeaderboardCoefficient(
        tau_gap,
        "Gao and Oard 2015, A Head-Weighted Gap-Sensitive Correlation Coefficient, SIGIR",
    ),
}


class LeaderboardCorrelation(WeightedMetric):
    """The correlation of a judge's leaderboard with the true leaderboard.

    If ``best`` is a number, the correlation uses only this number of systems, those
    with the highest true scores. A system that the judge omits scores 0. The
    correlation is undefined (NaN) for fewer than three systems.
    """

    ends = (-1.0, 1.0)
    is_valid_in_one_label = False
    statistic = "leaderboards"
    #: The last column contains ones, because the value depends on every system.
    carriers = (-1,)

    def __init__(
        self, name: str, rules: str, *, coefficient: str, best: int = 0
    ) -> None:
        super().__init__(name, rules)
        self.coefficient, self.best = COEFFICIENT_BY_NAME[coefficient], best
        self.citation = self.coefficient.citation
        self.fixed = {"coefficient": coefficient, **({"best": best} if best else {})}

    def instance_stats(
        self, gold: Sequence[ScoredSystem], answers: Sequence[ScoredSystem | None]
    ) -> Floats:
        """Return an array (n, 4 + 3 t) for n systems and t topics of the true
        leaderboard.

        The first columns are the true score, the judge's score, and the system's place
        in the file. Each topic has columns for the true score, the judge's score, and 1
        if the true leaderboard has a score of the system. The last column is 1.
        """
        topics = sorted({topic for own in gold for topic in own.topics})
        rows = np.zeros((len(gold), PLACE_COLUMN + 2 + COLUMNS_PER_TOPIC * len(topics)))
        rows[:, PLACE_COLUMN], rows[:, -1] = np.arange(len(gold)), 1.0
        for row, own, answer in zip(rows, gold, answers, strict=True):
            judged = answer.topics if answer else {}
            row[TRUTH_COLUMN], row[JUDGE_COLUMN] = (
                own.score,
                answer.score if answer else 0.0,
            )
            row[PLACE_COLUMN + 1 : -1] = [
                value
                for topic in topics
                for value in (
                    own.topics.get(topic, 0.0),
                    judged.get(topic, 0.0) if topic in own.topics else 0.0,
                    topic in own.topics,
                )
            ]
        return rows

    def marks(
        self, gold: Sequence[ScoredSystem], answers: Sequence[ScoredSystem | None]
    ) -> list[MeasureCredits | None]:
        """Return the share of correctly ordered pairs as the credit of each scored
        system. The truth has no marks.
        """
        if self.coefficient.shares is None:
            return [None] * len(gold)
        judge = [answer.score if answer else 0.0 for answer in answers]
        systems = LeaderboardScores(
            np.array([own.score for own in gold], dtype=np.float64),
            np.array(judge, dtype=np.float64),
            np.arange(len(gold), dtype=np.float64),
        )
        weights = np.ones(len(gold))
        if self.best:
            weights = select_best_systems(systems, weights, self.best)
        shares = self.coefficient.shares(systems, weights)
        return [
            MeasureCredits((), (None if np.isnan(share) else float(share),))
            if answer
            else None
            for share, answer in zip(shares, answers, strict=True)
        ]

    def value(self, rows: Floats, weights: Floats) -> Floats:
        """Return (…) correlations from (n, k) rows and (…, n) weights, or NaN if
        undefined.
        """
        systems = LeaderboardScores(
            rows[:, TRUTH_COLUMN], rows[:, JUDGE_COLUMN], rows[:, PLACE_COLUMN]
        )
        return self.compute_coefficient(systems, weights)

    def compute_coefficient(
        self, systems: LeaderboardScores, weights: Floats
    ) -> Floats:
        if not weights.shape[-1]:
            return np.full(weights.shape[:-1], np.nan)
        if self.best:
            weights = select_best_systems(systems, weights, self.best)
        value = self.coefficient.value(systems, weights)
        return np.where(
            weights.sum(axis=-1) >= MIN_SYSTEMS_FOR_CORRELATION, value, np.nan
        )

    def paired_rows(self, rows: Floats) -> Floats:
        """Replace the judge's scores in rows by ranks or standard scores. A paired test
        cannot exchange the raw scores of two judges, because the judges may use
        different scales.
        """
        shared = rows.copy()
        scores = rows[:, 1 + JUDGE_COLUMN]
        if self.coefficient.of_ranks:
            shared[:, 1 + JUDGE_COLUMN] = compute_mid_ranks(
                scores, np.ones(len(scores))
            )
        elif np.ptp(scores):
            centred = divide_by_largest(scores - scores.mean())
            shared[:, 1 + JUDGE_COLUMN] = centred / centred.std()
        return shared


class TopicCorrelation(LeaderboardCorrelation):
    """The mean over topics of the correlation between the judge's and the true
    leaderboard of the topic.

    The mean excludes topics with an undefined correlation. The mean over no topics is
    undefined (NaN). This mean over topics has no paired test.
    """

    is_exchangeable = False

    def __init__(self, name: str, rules: str, *, coefficient: str) -> None:
        super().__init__(name, rules, coefficient=coefficient)
        self.fixed = {**self.fixed, "average": "topics"}

    def marks(
        self, gold: Sequence[ScoredSystem], answers: Sequence[ScoredSystem | None]
    ) -> list[MeasureCredits | None]:
        """Return no credits of systems, because each topic orders the systems
        differently.
        """
        return [None] * len(gold)

    def value(self, rows: Floats, weights: Floats) -> Floats:
        total, count = np.zeros(weights.shape[:-1]), np.zeros(weights.shape[:-1])
        for start in range(PLACE_COLUMN + 1, rows.shape[1] - 1, COLUMNS_PER_TOPIC):
            truth, judge, has_system = rows[:, start : start + COLUMNS_PER_TOPIC].T
            systems = LeaderboardScores(truth, judge, rows[:, PLACE_COLUMN])
            values = self.compute_coefficient(systems, weights * has_system)
            is_defined = np.isfinite(values)
            total += np.where(is_defined, values, 0.0)
            count += is_defined
        return quotient(total, count)


class RankDistance(MeanMetric):
    """The mean absolute difference between a system's rank on the judge's leaderboard
    and its rank on the true leaderboard.

    Systems with equal scores have the mean of their ranks. A system that the judge
    omits scores 0.
    """

    statistic = "rank-distances"
    columns = ("distance",)
    higher_is_better = False
    scale = 0
    ends = (0.0, math.inf)
    citation = "Spearman 1906, Footrule for measuring correlation, British Journal of Psychology 2"

    def instance_stats(
        self, gold: Sequence[ScoredSystem], answers: Sequence[ScoredSystem | None]
    ) -> Floats:
        """Return an array (n, 2) with the difference between the system's two ranks,
        and 1.
        """
        truth = np.array([own.score for own in gold], dtype=np.float64)
        judge = np.array(
            [answer.score if answer else 0.0 for answer in answers], dtype=np.float64
        )
        every = np.ones(len(gold))
        distance = np.abs(
            compute_mid_ranks(truth, every) - compute_mid_ranks(judge, every)
        )
        return np.column_stack([distance, every])
