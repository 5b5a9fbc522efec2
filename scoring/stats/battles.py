"""Compute Bradley-Terry strengths, shares of wins, position bias and agreement of
judges from pairwise comparisons (battles) of systems.

In a battle, a judge compares two systems' answers to the same topic, one shown on the
left and one on the right. A tie counts as half a win for each of the two systems.
Standard errors are jackknife estimates over topics, because battles on a topic are
correlated.

Bradley and Terry 1952 introduced the model of strengths (Rank Analysis of Incomplete
Block Designs I, Biometrika 39). Ford 1957 showed that strengths are finite only if the
graph of wins is strongly connected (Solution of a Ranking Problem from Binary
Comparisons, American Mathematical Monthly 64). The agreement of judges is alpha of
Krippendorff 2004 (Content Analysis).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, quotient
from scoring.stats.jackknife import (
    MIN_INFLUENTIAL_UNITS,
    UNBOUNDED_RANGE,
    ValueRange,
    compute_difference_bounds,
    compute_jackknife_error,
    compute_ratio_interval,
    compute_score_bounds,
    convert_to_optional_bounds,
)
from scoring.stats.people_and_labels import compute_krippendorff_alpha
from scoring.stats.resampling import CONFIDENCE_LEVEL, IntervalBounds

Integers = NDArray[np.int_]
LEFT_LABEL, RIGHT_LABEL, TIE_LABEL = BATTLE_LABELS = ("left", "right", "tie")
#: Number of wins of the left system for each label of a battle.
LEFT_WINS_BY_LABEL = {LEFT_LABEL: 1.0, RIGHT_LABEL: 0.0, TIE_LABEL: 0.5}
#: Newton's method stops at steps below ``NEWTON_TOLERANCE`` in log strengths.
#: Newton's method also stops after ``MAX_NEWTON_STEPS`` steps.
NEWTON_TOLERANCE, MAX_NEWTON_STEPS = 1e-12, 200
#: Values of systems are equal if they differ by at most ``ROUNDING_TOLERANCE``, because
#: the log strengths of systems with equal results differ by rounding errors.
ROUNDING_TOLERANCE = 1e-9
#: Tables of wins that are in memory at once have at most this many cells in total.
#: A single table with more cells is in memory alone.
#: Fitting strengths needs about ten times the memory of the win tables.
MAX_WIN_CELLS_IN_MEMORY = 1 << 18
#: Maximum step of one iteration of Newton's method, in log strengths.
MAX_NEWTON_STEP_SIZE = 2.0
SHARE_RANGE: ValueRange = (0.0, 1.0)


@dataclass(frozen=True)
class Battle:
    """A judge's label for a battle, which compares the answers of two systems to a
    topic. ``judge`` is empty if all battles have the same judge.
    """

    topic: str
    left: str
    right: str
    label: str
    judge: str = ""


@dataclass(frozen=True)
class ShareWithInterval:
    """A share of ``n`` items, with an interval. ``value`` is the share, or NaN if ``n``
    is 0. ``bounds`` is the interval of the share, or None without an interval.
    """

    value: float
    bounds: IntervalBounds | None
    n: int


@dataclass(frozen=True)
class BattleStanding:
    """The results of one system in battles. The results are the centred log strength
    (NaN if strengths are not finite), the share of wins, intervals of both, and the
    best and worst rank that pairwise tests do not exclude.
    """

    system: str
    strength: float
    strength_bounds: IntervalBounds | None
    share: float
    share_bounds: IntervalBounds | None
    rank: int
    first: int
    last: int


@dataclass(frozen=True)
class JudgeAgreement:
    """The agreement of judges who compared the same two systems on the same topic.
    ``share`` is the share of equal labels over all pairs of judges. ``by_judges``
    contains the share of equal labels for each pair of judges. ``alpha`` is
    Krippendorff's alpha, or NaN if alpha is undefined.
    """

    share: ShareWithInterval
    alpha: float
    by_judges: Mapping[tuple[str, str], ShareWithInterval]


@dataclass(frozen=True)
class BattleResults:
    """The results of all systems in battles. ``by_strength`` is False if systems are
    sorted by shares of wins. ``matrix`` of shape (k, k) contains the share of wins of
    the row's system against the column's system, or NaN without a battle.
    """

    standings: Sequence[BattleStanding]
    by_strength: bool
    systems: Sequence[str]
    matrix: Floats
    left: ShareWithInterval
    agreement: JudgeAgreement | None
    battles: int
    topics: int


@dataclass(frozen=True)
class WinCounts:
    """The numbers of wins between k systems on t topics, as a sparse table. The c cells
    with a battle are sorted by topic. ``topics``, ``winners`` and ``losers`` (c,) are
    indices, and ``counts`` (c,) are numbers of wins.
    """

    size: int
    number_of_topics: int
    topics: Integers
    winners: Integers
    losers: Integers
    counts: Floats

    @cached_property
    def total(self) -> Floats:
        """Return an array (k, k) with the wins of the row's system over the column's
        system on all topics.
        """
        return self._build_wins_matrix(slice(None))

    def _build_wins_matrix(self, cells: slice) -> Floats:
        wins = np.zeros((self.size, self.size))
        places = self.winners[cells], self.losers[cells]
        np.add.at(wins, places, self.counts[cells])
        return wins

    def left_out(self) -> Iterator[Floats]:
        """For each topic, yield a table (k, k) with the wins on all other topics, in
        blocks (…, k, k). A block has at most ``MAX_WIN_CELLS_IN_MEMORY`` cells, or a
        single table.
        """
        at_once = max(1, MAX_WIN_CELLS_IN_MEMORY // max(1, self.size**2))
        ends = np.searchsorted(self.topics, np.arange(self.number_of_topics + 1))
        for start in range(0, self.number_of_topics, at_once):
            stop = min(start + at_once, self.number_of_topics)
            cells = [
                slice(ends[place], ends[place + 1]) for place in range(start, stop)
            ]
            yield np.stack(
                [self.total - self._build_wins_matrix(cell) for cell in cells]
            )


def count_wins(battles: Sequence[Battle], systems: Sequence[str]) -> WinCounts:
    """Return the numbers of wins between the systems in battles. The topics of the
    result are sorted by name.
    """
    places = {system: index for index, system in enumerate(systems)}
    topics = {
        name: n for n, name in enumerate(sorted({battle.topic for battle in battles}))
    }
    counts: defaultdict[tuple[int, int, int], float] = defaultdict(float)
    for own in battles:
        topic, left, right = topics[own.topic], places[own.left], places[own.right]
        counts[topic, left, right] += LEFT_WINS_BY_LABEL[own.label]
        counts[topic, right, left] += 1 - LEFT_WINS_BY_LABEL[own.label]
    cells = np.array(sorted(counts), dtype=int).reshape(-1, 3)
    return WinCounts(
        len(systems),
        len(topics),
        cells[:, 0],
        cells[:, 1],
        cells[:, 2],
        np.array([counts[tuple(cell)] for cell in cells.tolist()], dtype=float),
    )


def is_strongly_connected(wins: Floats) -> Floats:
    """Return an array (…) with True if the graph of (…, k, k) wins is strongly
    connected, which means that each system reaches each other system by a chain of
    wins.
    """
    size = wins.shape[-1]
    reached = ((wins > 0) | np.eye(size, dtype=bool)).astype(np.float32)
    for _ in range(max(1, math.ceil(math.log2(max(2, size))))):
        reached = (reached @ reached > 0).astype(np.float32)
    return np.asarray(reached.all(axis=(-2, -1)))


def fit_log_strengths(wins: Floats) -> Floats:
    """Return the maximum likelihood estimates of centred log strengths, an array (…,
    k), from (…, k, k) numbers of wins.

    The estimates are NaN if the graph of wins is not strongly connected.
    """
    size = wins.shape[-1]
    flat = wins.reshape(-1, size, size)
    fitted = np.full((len(flat), size), np.nan)
    finite = is_strongly_connected(flat)
    places = np.flatnonzero(finite) if size else ()
    at_once = max(1, MAX_WIN_CELLS_IN_MEMORY // max(1, size**2))
    for start in range(0, len(places), at_once):
        some = places[start : start + at_once]
        fitted[some] = _fit_connected_strengths(flat[some])
    return fitted.reshape(*wins.shape[:-2], size)


def _fit_connected_strengths(wins: Floats) -> Floats:
    """Return an array (n, k) of log strengths from (n, k, k) numbers of wins. Newton's
    method maximises the concave log-likelihood.
    """
    games = wins + np.swapaxes(wins, -1, -2)
    won, size = wins.sum(axis=-1), wins.shape[-1]
    theta = np.zeros(won.shape)
    moving, diagonal = np.arange(len(wins)), np.arange(size)
    for _ in range(MAX_NEWTON_STEPS):
        own, played = theta[moving], games[moving]
        chance = 1 / (1 + np.exp(own[:, None, :] - own[:, :, None]))
        played *= chance
        gradient = won[moving] - played.sum(axis=-1)
        played *= chance - 1
        played[:, diagonal, diagonal] -= played.sum(axis=-1)
        # Log strengths are unique up to a constant.
        # Adding 1 / size fixes the sum of log strengths at 0.
        step = np.linalg.solve(played + 1 / size, gradient[..., None])[..., 0]
        largest = np.abs(step).max(axis=-1, keepdims=True)
        theta[moving] += step * np.minimum(
            1.0, MAX_NEWTON_STEP_SIZE / np.maximum(largest, MAX_NEWTON_STEP_SIZE)
        )
        # The iteration stops separately for each table, so tables are independent.
        moving = moving[largest[:, 0] >= NEWTON_TOLERANCE]
        if not len(moving):
            break
    return np.asarray(theta - theta.mean(axis=-1, keepdims=True))


def compute_win_shares(wins: Floats) -> Floats:
    """Return an array (…, k) with each system's share of wins among its own battles, or
    NaN without a battle.
    """
    won = wins.sum(axis=-1)
    return quotient(won, won + wins.sum(axis=-2))


def compute_jackknife_intervals(
    values: Floats,
    without: Floats,
    value_range: ValueRange,
    *,
    level: float = CONFIDENCE_LEVEL,
) -> list[IntervalBounds | None]:
    """Return an interval for each of k systems' values, computed from (t, k) jackknife
    values over t topics. Return None if there are fewer than three topics or a value is
    undefined.
    """
    if len(without) < MIN_INFLUENTIAL_UNITS:
        return [None] * len(values)
    errors = compute_jackknife_error(without.T)
    units = np.full(len(values), float(len(without)))
    ends = compute_score_bounds(values, errors, units, value_range, level=level)
    return [convert_to_optional_bounds(own) for own in zip(*ends, strict=True)]


def compute_system_ranks(values: Floats) -> NDArray[np.intp]:
    """Return the ranks (k,) of k systems, where 1 is the rank of the largest value.
    Values that differ only by rounding errors have the same rank.
    """
    is_above = values[None, :] - values[:, None] > ROUNDING_TOLERANCE
    return np.asarray(1 + is_above.sum(axis=1), dtype=np.intp)


def compute_rank_ranges(
    values: Floats,
    without: Floats,
    value_range: ValueRange,
    *,
    level: float = CONFIDENCE_LEVEL,
) -> tuple[Floats, Floats]:
    """Return two arrays (k,) with the best and the worst rank of each system that
    pairwise tests do not exclude.

    Two systems differ if the jackknife interval of their difference excludes 0. The
    level of these tests is corrected by the number of comparisons of each system
    (Bonferroni).
    """
    size, topics = len(values), len(without)
    first, last = np.ones(size, dtype=int), np.full(size, size)
    if size < 2 or topics < MIN_INFLUENTIAL_UNITS:
        return first, last
    apart = np.nan_to_num(values[:, None] - values[None, :])
    of_systems = np.ascontiguousarray(without.T)
    errors = np.stack(
        [compute_jackknife_error(system - of_systems) for system in of_systems]
    )
    low, _ = compute_difference_bounds(
        apart,
        errors,
        np.full(apart.shape, float(topics)),
        value_range,
        level=1 - (1 - level) / (size - 1),
    )
    # A system without a value when some topic is omitted has no significant comparison.
    is_better = (low > 0) & np.isfinite(errors)
    return first + is_better.sum(axis=0), last - is_better.sum(axis=1)


def compute_left_share(battles: Sequence[Battle]) -> ShareWithInterval:
    """Return the position bias, which is the share of battles without a tie that the
    left system wins.
    """
    rows: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for battle in battles:
        if battle.label != TIE_LABEL:
            rows[battle.topic][0] += battle.label == LEFT_LABEL
            rows[battle.topic][1] += 1
    return _compute_share_over_topics([*rows.values()])


def _compute_share_over_topics(rows: Sequence[Sequence[int]]) -> ShareWithInterval:
    """Return a share with an interval, computed from one pair (numerator, denominator)
    per topic.
    """
    table = np.array(rows, dtype=np.float64).reshape(-1, 2)
    part, whole = table.sum(axis=0)
    return ShareWithInterval(
        float(part / whole) if whole else math.nan,
        compute_ratio_interval(table, SHARE_RANGE) if len(table) else None,
        int(whole),
    )


def compute_judge_agreement(battles: Sequence[Battle]) -> JudgeAgreement | None:
    """Return the agreement of judges over all battles that several judges decided, or
    None if each battle has one judge. If a judge labels a battle several times, all
    labels by the judge count.
    """
    items: defaultdict[tuple[str, str, str], list[tuple[str, float]]]
    items = defaultdict(list)
    for battle in battles:
        first, second = sorted((battle.left, battle.right))
        won = LEFT_WINS_BY_LABEL[battle.label]
        outcome = won if battle.left == first else 1 - won
        items[battle.topic, first, second].append((battle.judge, outcome))
    agreed: defaultdict[tuple[str, str], dict[str, list[int]]] = defaultdict(dict)
    overall: dict[str, list[int]] = {}
    several = []
    for (topic, _, _), item in items.items():
        if len({judge for judge, _ in item}) < 2:
            continue
        several.append([outcome for _, outcome in item])
        for (one, a), (other, b) in combinations(item, 2):
            if one != other:
                judges = (min(one, other), max(one, other))
                for rows in (overall, agreed[judges]):
                    row = rows.setdefault(topic, [0, 0])
                    row[0] += a == b
                    row[1] += 1
    if not several:
        return None
    return JudgeAgreement(
        _compute_share_over_topics([*overall.values()]),
        compute_krippendorff_alpha(several, "nominal"),
        {
            judges: _compute_share_over_topics([*rows.values()])
            for judges, rows in sorted(agreed.items())
        },
    )


def compute_battle_results(battles: Sequence[Battle]) -> BattleResults:
    """Return the results of the systems in one or more battles, with the best system
    first.

    Systems are sorted by strength if all strengths are finite, otherwise by share of
    wins. Systems with equal values are sorted by name.
    """
    systems = sorted(
        {name for battle in battles for name in (battle.left, battle.right)}
    )
    by_topic = count_wins(battles, systems)
    wins = by_topic.total
    strength, share = fit_log_strengths(wins), compute_win_shares(wins)
    has_strengths = bool(np.isfinite(strength).all())
    parts = [
        (
            fit_log_strengths(without)
            if has_strengths
            else np.full(without.shape[:2], np.nan),
            compute_win_shares(without),
        )
        for without in by_topic.left_out()
    ]
    strengths_without, shares_without = map(np.concatenate, zip(*parts, strict=True))
    strength_bounds = compute_jackknife_intervals(
        strength, strengths_without, UNBOUNDED_RANGE
    )
    share_bounds = compute_jackknife_intervals(share, shares_without, SHARE_RANGE)
    first, last = (
        compute_rank_ranges(strength, strengths_without, UNBOUNDED_RANGE)
        if has_strengths
        else compute_rank_ranges(share, shares_without, SHARE_RANGE)
    )
    ranks = compute_system_ranks(strength if has_strengths else share)
    order = sorted(range(len(systems)), key=lambda place: ranks[place])
    return BattleResults(
        standings=[
            BattleStanding(
                systems[place],
                float(strength[place]),
                strength_bounds[place],
                float(share[place]),
                share_bounds[place],
                int(ranks[place]),
                int(first[place]),
                int(last[place]),
            )
            for place in order
        ],
        by_strength=has_strengths,
        systems=systems,
        matrix=quotient(wins, wins + wins.T),
        left=compute_left_share(battles),
        agreement=compute_judge_agreement(battles),
        battles=len(battles),
        topics=by_topic.number_of_topics,
    )
