"""What ratings from 1 to 5 come to: agreement between annotators, and means with intervals. Plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from scoring.metrics.agreement import alpha, quadratic
from scoring.metrics.base import Floats
from scoring.stats.jackknife import ratio_interval
from scoring.stats.resampling import Bounds

#: The least and the most that a rating can be.
RATING_RANGE = (1.0, 5.0)

#: By annotator the rating of each text, by the number of the text.
Ratings = Mapping[str, Mapping[int, int]]


@dataclass(frozen=True)
class Pair:
    """Two annotators, how many texts both have rated, and their agreement there; NaN where undefined."""

    first: str
    second: str
    texts: int
    kappa: float


def pairwise(ratings: Ratings) -> list[Pair]:
    """Every two annotators, in order."""
    found = []
    for first, second in combinations(ratings, 2):
        shared = [text for text in ratings[first] if text in ratings[second]]
        kappa = quadratic(
            [ratings[first][text] for text in shared], [ratings[second][text] for text in shared]
        )
        found.append(Pair(first, second, len(shared), kappa))
    return found


def mean_kappa(pairs: Sequence[Pair]) -> float:
    """Over the pairs that have one; NaN where none has."""
    known = [pair.kappa for pair in pairs if not math.isnan(pair.kappa)]
    return sum(known) / len(known) if known else math.nan


@dataclass(frozen=True)
class Agreement:
    """Every two annotators, the mean of their kappas, and all at once; NaN where undefined."""

    pairs: Sequence[Pair]
    mean_kappa: float
    alpha: float


def agreement_of(ratings: Ratings) -> Agreement:
    """Krippendorff's alpha takes the ratings for ordinal, kappa with quadratic weights for equally spaced."""
    pairs = pairwise(ratings)
    by_text: dict[int, list[int]] = {}
    for own in ratings.values():
        for text, rating in own.items():
            by_text.setdefault(text, []).append(rating)
    return Agreement(pairs, mean_kappa(pairs), alpha(list(by_text.values()), "ordinal"))


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A system's mean rating over ``n`` ratings; None for an interval that says nothing."""

    value: float
    interval: Bounds | None
    n: int


def means(rated: Sequence[tuple[int, int, int]], instances: int) -> dict[int, Mean]:
    """By system the mean of its ratings, each given as (system, instance, rating); instances count from 0.

    The interval is a Wilson interval of the jackknife's error over the instances that have a rating of the
    system; with fewer than three there is none.
    """
    systems = list(dict.fromkeys(system for system, _, _ in rated))
    rows: Floats = np.zeros((instances, 2 * len(systems)))
    for system, instance, rating in rated:
        column = 2 * systems.index(system)
        rows[instance, column] += rating
        rows[instance, column + 1] += 1
    found = {}
    for place, system in enumerate(systems):
        total, count = rows[:, 2 * place].sum(), rows[:, 2 * place + 1].sum()
        found[system] = Mean(
            value=float(total / count),
            interval=_interval(rows[:, 2 * place : 2 * place + 2]),
            n=int(count),
        )
    return found


def _interval(rows: Floats) -> Bounds | None:
    """From (instances, 2) sums of ratings and their numbers."""
    return ratio_interval(rows[rows[:, 1] > 0], RATING_RANGE)
