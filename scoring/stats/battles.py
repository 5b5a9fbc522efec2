"""Battles of two systems: strengths by Bradley and Terry, shares of wins, position bias, agreement of judges.

A battle shows a judge the answers of two systems to a topic, on the left and on the right. A tie is half a
win for each system. Errors come from the jackknife over topics, since battles on a topic are alike.

Bradley and Terry 1952, Rank Analysis of Incomplete Block Designs I, Biometrika 39; Ford 1957, Solution of a
Ranking Problem from Binary Comparisons, American Mathematical Monthly 64 (strengths are finite only where the
graph of wins is strongly connected); Krippendorff 2004, Content Analysis (alpha).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from scoring.metrics.base import Floats, quotient
from scoring.stats.jackknife import (
    MIN_UNITS,
    NO_ENDS,
    Range,
    as_bounds,
    difference_bounds,
    jackknife_error,
    ratio_interval,
    score_bounds,
)
from scoring.stats.people_and_labels import alpha
from scoring.stats.resampling import LEVEL, Bounds

LEFT, RIGHT, TIE = LABELS = ("left", "right", "tie")
#: Wins of the left system by the label of the battle; a tie is half a win.
WON = {LEFT: 1.0, RIGHT: 0.0, TIE: 0.5}
#: Newton's method ends at a step of this size, in log strengths, or after so many steps.
PRECISION, MAX_STEPS = 1e-12, 200
#: The largest step of one iteration, in log strengths.
MAX_STEP = 2.0
SHARES: Range = (0.0, 1.0)


@dataclass(frozen=True)
class Battle:
    """Two different systems on a topic, and the label of a judge; an empty judge is the only one."""

    topic: str
    left: str
    right: str
    label: str
    judge: str = ""


@dataclass(frozen=True)
class Share:
    """A share of n things with its interval; NaN without any, and None without an interval."""

    value: float
    bounds: Bounds | None
    n: int


@dataclass(frozen=True)
class Standing:
    """A system: its centred log strength (NaN where strengths are not finite) and its share of wins, with
    their intervals, and the ranks that the comparisons with other systems leave open.
    """

    system: str
    strength: float
    strength_bounds: Bounds | None
    share: float
    share_bounds: Bounds | None
    rank: int
    first: int
    last: int


@dataclass(frozen=True)
class Agreement:
    """How often two judges agree on the same two systems and topic; ``alpha`` is Krippendorff's, NaN where it
    is undefined. ``by_judges`` has the same share for every two judges.
    """

    share: Share
    alpha: float
    by_judges: Mapping[tuple[str, str], Share]


@dataclass(frozen=True)
class Board:
    """All that follows from battles. ``by_strength`` is False where shares of wins order the systems.
    ``matrix`` is (k, k): the share of wins of the row's system against the column's, NaN if they never met.
    """

    standings: Sequence[Standing]
    by_strength: bool
    systems: Sequence[str]
    matrix: Floats
    left: Share
    agreement: Agreement | None
    battles: int
    topics: int


def wins_by_topic(battles: Sequence[Battle], systems: Sequence[str]) -> Floats:
    """Return (t, k, k) for t topics in the order of their names: the wins of row over column."""
    places = {system: place for place, system in enumerate(systems)}
    topics = {name: n for n, name in enumerate(sorted({own.topic for own in battles}))}
    wins = np.zeros((len(topics), len(systems), len(systems)))
    for own in battles:
        left, right, topic = places[own.left], places[own.right], topics[own.topic]
        wins[topic, left, right] += WON[own.label]
        wins[topic, right, left] += 1 - WON[own.label]
    return wins


def is_strongly_connected(wins: Floats) -> Floats:
    """Return for (…, k, k) wins whether each system beats each other one, directly or by way of others."""
    size = wins.shape[-1]
    reached = ((wins > 0) | np.eye(size, dtype=bool)).astype(np.float32)
    for _ in range(max(1, math.ceil(math.log2(max(2, size))))):
        reached = (reached @ reached > 0).astype(np.float32)
    return np.asarray(reached.all(axis=(-2, -1)))


def strengths(wins: Floats) -> Floats:
    """Return the (…, k) centred log strengths of (…, k, k) wins, by maximum likelihood.

    NaN where the graph of wins is not strongly connected.
    """
    size = wins.shape[-1]
    flat = wins.reshape(-1, size, size)
    fitted = np.full((len(flat), size), np.nan)
    finite = is_strongly_connected(flat)
    if size and finite.any():
        fitted[finite] = _fitted(flat[finite])
    return fitted.reshape(*wins.shape[:-2], size)


def _fitted(wins: Floats) -> Floats:
    """Return (n, k) from (n, k, k) by Newton's method, whose likelihood is concave."""
    games = wins + np.swapaxes(wins, -1, -2)
    won, size = wins.sum(axis=-1), wins.shape[-1]
    theta = np.zeros(won.shape)
    for _ in range(MAX_STEPS):
        chance = 1 / (1 + np.exp(theta[:, None, :] - theta[:, :, None]))
        gradient = won - (games * chance).sum(axis=-1)
        information = -games * chance * (1 - chance)
        diagonal = np.arange(size)
        information[:, diagonal, diagonal] -= information.sum(axis=-1)
        # Strengths are known but for a constant; this one keeps their sum at 0.
        step = np.linalg.solve(information + 1 / size, gradient[..., None])[..., 0]
        largest = np.abs(step).max(axis=-1, keepdims=True)
        theta += step * np.minimum(1.0, MAX_STEP / np.maximum(largest, MAX_STEP))
        if largest.max() < PRECISION:
            break
    return np.asarray(theta - theta.mean(axis=-1, keepdims=True))


def shares_of_wins(wins: Floats) -> Floats:
    """Return the (…, k) shares of their battles that systems win; NaN without a battle."""
    won = wins.sum(axis=-1)
    return quotient(won, won + wins.sum(axis=-2))


def left_out(by_topic: Floats) -> Floats:
    """Return (t, k, k): the wins of all topics but one."""
    return np.asarray(by_topic.sum(axis=0) - by_topic)


def bounds_of(
    values: Floats, without: Floats, value_range: Range, *, level: float = LEVEL
) -> list[Bounds | None]:
    """Return an interval for each of (k,) values from (t, k) values without each topic.

    None with fewer than three topics, and where a value is undefined.
    """
    if len(without) < MIN_UNITS:
        return [None] * len(values)
    errors = jackknife_error(without.T)
    units = np.full(len(values), float(len(without)))
    ends = score_bounds(values, errors, units, value_range, level=level)
    return [as_bounds(own) for own in zip(*ends, strict=True)]


def rank_ranges(
    values: Floats, without: Floats, value_range: Range, *, level: float = LEVEL
) -> tuple[Floats, Floats]:
    """Return the first and last ranks that comparisons with the other systems leave open, (k,) each.

    Two systems differ where the jackknife's interval of their difference excludes 0; the level of a system's
    intervals is that of all its comparisons together (Bonferroni).
    """
    size, topics = len(values), len(without)
    first, last = np.ones(size, dtype=int), np.full(size, size)
    if size < 2 or topics < MIN_UNITS:
        return first, last
    apart = np.nan_to_num(values[:, None] - values[None, :])
    errors = jackknife_error(
        np.moveaxis(without[:, :, None] - without[:, None, :], 0, -1)
    )
    low, _ = difference_bounds(
        apart,
        errors,
        np.full(apart.shape, float(topics)),
        value_range,
        level=1 - (1 - level) / (size - 1),
    )
    # Without a topic some systems may have no value; such comparisons decide nothing.
    is_better = (low > 0) & np.isfinite(errors)
    return first + is_better.sum(axis=0), last - is_better.sum(axis=1)


def left_share(battles: Sequence[Battle]) -> Share:
    """Return the share of decided battles that the left system wins: the position bias."""
    rows: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for own in battles:
        if own.label != TIE:
            rows[own.topic][0] += own.label == LEFT
            rows[own.topic][1] += 1
    return _share([*rows.values()])


def _share(rows: Sequence[Sequence[int]]) -> Share:
    """Return the share of pairs of a part and a whole, one for each topic."""
    table = np.array(rows, dtype=np.float64).reshape(-1, 2)
    part, whole = table.sum(axis=0)
    return Share(
        float(part / whole) if whole else math.nan,
        ratio_interval(table, SHARES) if len(table) else None,
        int(whole),
    )


def agreement_of(battles: Sequence[Battle]) -> Agreement | None:
    """Return how far judges agree on systems and topics that several judged; None where there are none.

    Of a judge who judged the same systems on a topic several times, every label counts.
    """
    items: defaultdict[tuple[str, str, str], list[tuple[str, float]]]
    items = defaultdict(list)
    for own in battles:
        first, second = sorted((own.left, own.right))
        won = WON[own.label]
        outcome = won if own.left == first else 1 - won
        items[own.topic, first, second].append((own.judge, outcome))
    agreed: defaultdict[tuple[str, str], dict[str, list[int]]] = defaultdict(dict)
    overall: dict[str, list[int]] = {}
    several = []
    for (topic, _, _), given in items.items():
        if len({judge for judge, _ in given}) < 2:
            continue
        several.append([outcome for _, outcome in given])
        for (one, a), (other, b) in combinations(given, 2):
            if one != other:
                judges = (min(one, other), max(one, other))
                for rows in (overall, agreed[judges]):
                    row = rows.setdefault(topic, [0, 0])
                    row[0] += a == b
                    row[1] += 1
    if not several:
        return None
    return Agreement(
        _share([*overall.values()]),
        alpha(several, "nominal"),
        {judges: _share([*rows.values()]) for judges, rows in sorted(agreed.items())},
    )


def board_of(battles: Sequence[Battle]) -> Board:
    """Return the board of at least one battle, the best system first.

    Strengths order the systems if all of them are finite, else shares of wins. Equal values stand in the
    order of the names.
    """
    systems = sorted({name for own in battles for name in (own.left, own.right)})
    by_topic = wins_by_topic(battles, systems)
    wins, without = by_topic.sum(axis=0), left_out(by_topic)
    strength, share = strengths(wins), shares_of_wins(wins)
    has_strengths = bool(np.isfinite(strength).all())
    strengths_without = (
        strengths(without)
        if has_strengths
        else np.full((len(without), len(systems)), np.nan)
    )
    shares_without = shares_of_wins(without)
    strength_bounds = bounds_of(strength, strengths_without, NO_ENDS)
    share_bounds = bounds_of(share, shares_without, SHARES)
    first, last = (
        rank_ranges(strength, strengths_without, NO_ENDS)
        if has_strengths
        else rank_ranges(share, shares_without, SHARES)
    )
    values = strength if has_strengths else share
    order = sorted(range(len(systems)), key=lambda place: -values[place])
    counts = Counter(values.tolist())
    ranks = {
        value: 1 + sum(count for other, count in counts.items() if other > value)
        for value in counts
    }
    return Board(
        standings=[
            Standing(
                systems[place],
                float(strength[place]),
                strength_bounds[place],
                float(share[place]),
                share_bounds[place],
                ranks[float(values[place])],
                int(first[place]),
                int(last[place]),
            )
            for place in order
        ],
        by_strength=has_strengths,
        systems=systems,
        matrix=quotient(wins, wins + wins.T),
        left=left_share(battles),
        agreement=agreement_of(battles),
        battles=len(battles),
        topics=len(by_topic),
    )
