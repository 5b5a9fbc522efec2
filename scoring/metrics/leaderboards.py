"""Correlations of two leaderboards: how a judge orders systems, against how the truth does.

Each value is computed for many weights at once, so that leaving out systems and exchanging them is cheap. The
values are those of autojudge-evaluate 1.1.0, the program of TREC AutoJudge.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from scoring.metrics.base import Floats, MeanMetric, WeightedMetric, quotient, ratio

#: With fewer systems no correlation is defined.
MIN_SYSTEMS = 3
#: The columns of the matrix before those of the topics.
TRUTH, JUDGE, PLACE = range(3)
#: Truth, judge and whether the topic has the system.
COLUMNS_PER_TOPIC = 3


class SystemScore(Protocol):
    """A system on one leaderboard: its score, and its scores by topic where the leaderboard has any."""

    @property
    def score(self) -> float: ...

    @property
    def topics(self) -> dict[str, float]: ...


@dataclass(frozen=True)
class Systems:
    """Scores of n systems by the truth and by the judge, (n,) each. ``places`` order systems with equal
    scores.
    """

    truth: Floats
    judge: Floats
    places: Floats


def signs(values: Floats) -> Floats:
    """Return (n, n): 1 where the column's value is larger than the row's, -1 where it is smaller, else 0."""
    return np.sign(values[None, :] - values[:, None])


def pair_sum(matrix: Floats, weights: Floats) -> Floats:
    """Return the sum of an (n, n) matrix over the pairs that (…, n) weights choose."""
    return np.asarray(((weights @ matrix) * weights).sum(axis=-1))


def kendall(systems: Systems, weights: Floats) -> Floats:
    """Return τ-b; NaN where all scores of a side are equal."""
    truth, judge = signs(systems.truth), signs(systems.judge)
    ordered = pair_sum(np.abs(truth), weights) * pair_sum(np.abs(judge), weights)
    return quotient(pair_sum(truth * judge, weights), np.sqrt(ordered))


def varies(values: Floats, weights: Floats) -> Floats:
    """Return whether the values of positive weight differ; (n,) or (…, n) values."""
    chosen = weights > 0
    largest = np.where(chosen, values, -np.inf).max(axis=-1)
    smallest = np.where(chosen, values, np.inf).min(axis=-1)
    return np.asarray(largest > smallest, dtype=np.float64)


def product_moment(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return Pearson's correlation of (n,) or (…, n) values; NaN where a side does not vary."""
    total = weights.sum(axis=-1, keepdims=True)
    total = np.where(total > 0, total, np.nan)
    x = x - (weights * x).sum(axis=-1, keepdims=True) / total
    y = y - (weights * y).sum(axis=-1, keepdims=True) / total
    spread = (weights * x * x).sum(axis=-1) * (weights * y * y).sum(axis=-1)
    both_vary = varies(x, weights) * varies(y, weights)
    value = quotient((weights * x * y).sum(axis=-1), np.sqrt(spread) * both_vary)
    return np.asarray(np.clip(value, -1.0, 1.0))


def scaled(values: Floats) -> Floats:
    """Return the values over the largest of their sizes, whose squares neither vanish nor overflow."""
    largest = np.abs(values).max(initial=0.0)
    return values / largest if largest else values


def pearson(systems: Systems, weights: Floats) -> Floats:
    """Return Pearson's correlation of the scores; NaN where all scores of a side are equal."""
    return product_moment(scaled(systems.truth), scaled(systems.judge), weights)


def mid_ranks(values: Floats, weights: Floats) -> Floats:
    """Return (…, n) ranks from below among weighted values; equal values share the mean of their ranks."""
    return np.asarray(weights @ ((signs(values) + 1) / 2))


def spearman(systems: Systems, weights: Floats) -> Floats:
    """Return Pearson's correlation of the ranks; NaN where all scores of a side are equal."""
    truth, judge = (mid_ranks(side, weights) for side in (systems.truth, systems.judge))
    return product_moment(truth, judge, weights)


def tauap_b(systems: Systems, weights: Floats) -> Floats:
    """Return τ-AP-b, the mean of both directions; a direction in which all scores are equal gives 0."""
    both = (systems.truth, systems.judge), (systems.judge, systems.truth)
    return np.asarray(np.mean([_tauap_of(*own, weights) for own in both], axis=0))


def _tauap_of(leading: Floats, other: Floats, weights: Floats) -> Floats:
    """Return twice the mean share, less 1, of systems above each by ``leading`` that are so by ``other``.

    Systems of the first group have none above and are left out.
    """
    above = (signs(leading) > 0).astype(np.float64)
    number = weights @ above.T
    agreed = weights @ (above * (signs(other) > 0)).T
    own = weights * (number > 0)
    count = own.sum(axis=-1)
    shares = (own * ratio(agreed, number)).sum(axis=-1)
    return np.where(count > 0, 2 * ratio(shares, count) - 1, 0.0)


def tau_gap(systems: Systems, weights: Floats) -> Floats:
    """Return τ-GAP: the truth gives the gaps, the judge the order, and places order the judge's ties.

    NaN where all scores of the truth are equal.
    """
    judged, places = signs(systems.judge), signs(systems.places)
    above = (judged > 0) | ((judged == 0) & (places < 0))
    gaps = systems.truth[None, :] - systems.truth[:, None]
    whole = weights @ (above * np.abs(gaps)).T
    right = weights @ (above * np.maximum(gaps, 0.0)).T
    own = weights * (whole > 0)
    shares = (own * ratio(right, whole)).sum(axis=-1)
    return 2 * quotient(shares, own.sum(axis=-1)) - 1


def best_weights(systems: Systems, weights: Floats, count: int) -> Floats:
    """Return the weights of the ``count`` best systems by the truth, ties in the order of the places."""
    order = np.lexsort((systems.places, -systems.truth))
    own = weights[..., order]
    before = np.cumsum(own, axis=-1) - own
    chosen = np.empty_like(weights)
    chosen[..., order] = np.clip(count - before, 0.0, own)
    return chosen


@dataclass(frozen=True)
class Coefficient:
    """``value`` takes (…, n) weights and returns (…) values. ``of_ranks`` is True where the judge's scores
    count by their order alone.
    """

    value: Callable[[Systems, Floats], Floats]
    citation: str
    of_ranks: bool = True


COEFFICIENTS = {
    "kendall": Coefficient(
        kendall,
        "Kendall 1945, The treatment of ties in ranking problems, Biometrika 33",
    ),
    "pearson": Coefficient(
        pearson,
        "Pearson 1896, Mathematical Contributions to the Theory of Evolution III, Phil. Trans. A 187",
        of_ranks=False,
    ),
    "spearman": Coefficient(
        spearman,
        "Spearman 1904, The Proof and Measurement of Association between Two Things, AJP 15",
    ),
    "tauap_b": Coefficient(
        tauap_b,
        "Urbano and Marrero 2017, The Treatment of Ties in AP Correlation, ICTIR",
    ),
    "tau_gap": Coefficient(
        tau_gap,
        "Gao and Oard 2015, A Head-Weighted Gap-Sensitive Correlation Coefficient, SIGIR",
    ),
}


class LeaderboardCorrelation(WeightedMetric):
    """The correlation of a judge's leaderboard with the truth, over systems.

    ``best`` limits it to so many best systems by the truth. A system that the judge leaves out scores 0. The
    value is undefined (NaN) below three systems and where its coefficient is.
    """

    ends = (-1.0, 1.0)
    is_valid_in_one_label = False
    statistic = "leaderboards"
    #: The systems.
    carriers = (-1,)

    def __init__(
        self, name: str, rules: str, *, coefficient: str, best: int = 0
    ) -> None:
        super().__init__(name, rules)
        self.coefficient, self.best = COEFFICIENTS[coefficient], best
        self.citation = self.coefficient.citation
        self.fixed = {"coefficient": coefficient, **({"best": best} if best else {})}

    def instance_stats(
        self, gold: Sequence[SystemScore], answers: Sequence[SystemScore | None]
    ) -> Floats:
        """Return (n, 4 + 3 t) for n systems and t topics of the truth.

        The columns are truth, judge and place; for each topic truth, judge and whether the truth has the
        system there; and 1, as every system counts.
        """
        topics = sorted({topic for own in gold for topic in own.topics})
        rows = np.zeros((len(gold), PLACE + 2 + COLUMNS_PER_TOPIC * len(topics)))
        rows[:, PLACE], rows[:, -1] = np.arange(len(gold)), 1.0
        for row, own, answer in zip(rows, gold, answers, strict=True):
            judged = answer.topics if answer else {}
            row[TRUTH], row[JUDGE] = own.score, answer.score if answer else 0.0
            row[PLACE + 1 : -1] = [
                value
                for topic in topics
                for value in (
                    own.topics.get(topic, 0.0),
                    judged.get(topic, 0.0) if topic in own.topics else 0.0,
                    topic in own.topics,
                )
            ]
        return rows

    def value(self, rows: Floats, weights: Floats) -> Floats:
        """From (n, k) rows and (…, n) weights to (…) values; NaN where a value is undefined."""
        systems = Systems(rows[:, TRUTH], rows[:, JUDGE], rows[:, PLACE])
        return self.of_systems(systems, weights * rows[:, -1])

    def of_systems(self, systems: Systems, weights: Floats) -> Floats:
        if not weights.shape[-1]:
            return np.full(weights.shape[:-1], np.nan)
        if self.best:
            weights = best_weights(systems, weights, self.best)
        value = self.coefficient.value(systems, weights)
        return np.where(weights.sum(axis=-1) >= MIN_SYSTEMS, value, np.nan)

    def paired_rows(self, rows: Floats) -> Floats:
        """Return rows with the judge's ranks, or its standard scores, in place of its scores.

        Scores of two judges may be on different scales and cannot be exchanged.
        """
        shared = rows.copy()
        scores = rows[:, 1 + JUDGE]
        if self.coefficient.of_ranks:
            shared[:, 1 + JUDGE] = mid_ranks(scores, np.ones(len(scores)))
        elif np.ptp(scores):
            centred = scaled(scores - scores.mean())
            shared[:, 1 + JUDGE] = centred / centred.std()
        return shared


class TopicCorrelation(LeaderboardCorrelation):
    """The mean over topics of the correlation of both leaderboards on the topic alone.

    Topics on which the correlation is undefined are left out; without any other topic the mean is undefined
    (NaN). Two judges are not tested against each other by it.
    """

    is_exchangeable = False

    def __init__(self, name: str, rules: str, *, coefficient: str) -> None:
        super().__init__(name, rules, coefficient=coefficient)
        self.fixed = {**self.fixed, "average": "topics"}

    def value(self, rows: Floats, weights: Floats) -> Floats:
        own = weights * rows[:, -1]
        total, count = np.zeros(own.shape[:-1]), np.zeros(own.shape[:-1])
        for start in range(PLACE + 1, rows.shape[1] - 1, COLUMNS_PER_TOPIC):
            truth, judge, has_system = rows[:, start : start + COLUMNS_PER_TOPIC].T
            systems = Systems(truth, judge, rows[:, PLACE])
            values = self.of_systems(systems, own * has_system)
            is_defined = np.isfinite(values)
            total += np.where(is_defined, values, 0.0)
            count += is_defined
        return quotient(total, count)


class RankDistance(MeanMetric):
    """The mean distance between a system's rank by the judge and by the truth, in ranks.

    Equal scores share the mean of their ranks. A system that the judge leaves out scores 0.
    """

    statistic = "rank-distances"
    columns = ("distance",)
    higher_is_better = False
    scale = 0
    ends = (0.0, math.inf)
    citation = "Spearman 1906, Footrule for measuring correlation, British Journal of Psychology 2"

    def instance_stats(
        self, gold: Sequence[SystemScore], answers: Sequence[SystemScore | None]
    ) -> Floats:
        """Return (n, 2): the distance, and 1 as every system counts."""
        truth = np.array([own.score for own in gold], dtype=np.float64)
        judge = np.array(
            [own.score if own else 0.0 for own in answers], dtype=np.float64
        )
        every = np.ones(len(gold))
        distance = np.abs(mid_ranks(truth, every) - mid_ranks(judge, every))
        return np.column_stack([distance, every])
