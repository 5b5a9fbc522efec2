"""Items that organisers should read again, by the values that all systems have on them.

An item is an instance of a test set. Better systems should have higher values on it. Where they have lower
ones, the gold may be wrong, or the item may ask something else than the others. The functions select items to
read; they do not show that the gold of an item is wrong.

The functions take values of (systems, items) that are finite, and higher where a system is better.

Benjamini and Hochberg 1995, Controlling the False Discovery Rate; Ellis, Pecanka and Goeman 2020, Gaining
power in multiple testing of interval hypotheses via conditionalization (the bound on corrected p-values).
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: With fewer systems no item is tested.
MIN_SYSTEMS = 12
#: With fewer systems the best third is too small to select items.
MIN_SYSTEMS_OF_THIRD = 20
#: With fewer systems no correlation is shown: two boards of 20 systems agree on it by .28, of 60 by .55.
MIN_SYSTEMS_OF_DISCRIMINATION = 60
#: An item is selected if its own p-value is at most this, and its adjusted p-value at most the rate below.
ALPHA = 0.05
#: The expected share of the selected items whose true correlation is not below zero. The items are read by
#: people, and a rate of 5 % selects next to nothing on boards of 12 to 30 systems.
FALSE_DISCOVERY_RATE = 0.2
#: The correction counts p-values up to this bound and divides them by it. Most items have a true correlation
#: far above zero; their p-values near 1 would weaken the correction.
MAX_P = 0.5
SEED = 0
#: Permutations of a first look, the least of them on very large boards, and the p-value up to which items get
#: a second look.
FIRST_TRIALS, LEAST_TRIALS, SECOND_LOOK = 999, 99, 0.1
#: Permutations of the second look: at least so many, and so many for each item with a correlation below zero.
MIN_TRIALS, TRIALS_PER_ITEM = 9_999, 40
#: The second look exchanges at most so many values in total, some seconds; fewer permutations select less.
MAX_EXCHANGES = 200_000_000
#: Permutations that are computed at once.
BLOCK = 10_000
LEVEL = 0.95
#: Values that are equal but for rounding count as equal; on a range of 1.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Tested:
    """By item the item-rest correlation, its one-sided p-value and the p-value after the correction.

    A correlation is NaN where all systems have the same value. ``p`` is NaN where the correlation is not
    below zero, and ``adjusted`` also where ``p`` is above ``MAX_P``.
    """

    correlations: Floats
    p: Floats
    adjusted: Floats

    @property
    def is_below_zero(self) -> NDArray[np.bool_]:
        with np.errstate(invalid="ignore"):
            return np.asarray(
                (self.p <= ALPHA) & (self.adjusted <= FALSE_DISCOVERY_RATE)
            )


@dataclass(frozen=True)
class Difficulty:
    """By item the mean over the systems and its interval."""

    mean: Floats
    low: Floats
    high: Floats


def tested(values: Floats) -> Tested:
    """Test for each item whether its correlation with the sum of all other items is below zero."""
    correlations = item_rest(values)
    p = np.full(values.shape[1], np.nan)
    with np.errstate(invalid="ignore"):
        places = np.flatnonzero(correlations < 0)
    first = MAX_EXCHANGES // max(1, len(places) * len(values))
    p[places] = permutation_p(
        values, places, min(FIRST_TRIALS, max(LEAST_TRIALS, first))
    )
    again = places[p[places] <= SECOND_LOOK]
    affordable = MAX_EXCHANGES // max(1, len(again) * len(values))
    trials = min(max(TRIALS_PER_ITEM * len(places), MIN_TRIALS), affordable)
    if trials > FIRST_TRIALS:
        p[again] = permutation_p(values, again, trials)
    adjusted = np.full(values.shape[1], np.nan)
    with np.errstate(invalid="ignore"):
        counted = np.flatnonzero(p <= MAX_P)
    adjusted[counted] = benjamini_hochberg(p[counted] / MAX_P)
    return Tested(correlations, p, adjusted)


def item_rest(values: Floats) -> Floats:
    """Return Pearson's correlation of each item with the sum of all others; NaN where a side is constant."""
    rest = values.sum(axis=1, keepdims=True) - values
    own, others = values - values.mean(axis=0), rest - rest.mean(axis=0)
    squares = (own**2).sum(axis=0), (others**2).sum(axis=0)
    is_constant = (np.ptp(values, axis=0) <= ROUNDING) | (
        np.ptp(rest, axis=0) <= ROUNDING * values.shape[1]
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (own * others).sum(axis=0) / np.sqrt(squares[0] * squares[1])
    return np.where(is_constant, np.nan, np.clip(found, -1, 1))


def permutation_p(values: Floats, items: NDArray[np.intp], trials: int) -> Floats:
    """Return one-sided p-values: the share of permutations with an item-rest correlation as low or lower.

    A permutation exchanges the systems' values of the item; the observed order counts as one permutation. The
    p-values hold for any distribution of values, also with one right answer or one system far behind.
    """
    rng = np.random.default_rng(SEED)
    systems = len(values)
    own = values[:, items]
    rest = values.sum(axis=1, keepdims=True) - own
    rest = rest - rest.mean(axis=0)
    observed = (own * rest).sum(axis=0)
    slack = ROUNDING * np.maximum(1.0, np.abs(observed))
    extreme = np.ones(len(items))
    for begin in range(0, trials, BLOCK):
        size = min(BLOCK, trials - begin)
        orders = rng.permuted(np.tile(np.arange(systems), (size, 1)), axis=1)
        for place in range(len(items)):
            sums = rest[:, place][orders] @ own[:, place]
            extreme[place] += np.count_nonzero(sums <= observed[place] + slack[place])
    return extreme / (1 + trials)


def benjamini_hochberg(p: Floats) -> Floats:
    """Return p-values adjusted for the false discovery rate of all."""
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted


def best_third(values: Floats) -> NDArray[np.intp]:
    """Return the systems with the highest means; all that share the last one's mean are among them."""
    means = values.mean(axis=1)
    last = np.sort(means)[::-1][len(means) // 3 - 1]
    return np.flatnonzero(means >= last - ROUNDING)


def missed_by_best_third(values: Floats, worst: float) -> NDArray[np.bool_]:
    """Return True for items on which no system of the best third has more than the worst value."""
    return np.asarray((values[best_third(values)] <= worst + ROUNDING).all(axis=0))


def difficulty(values: Floats, low: float, high: float) -> Difficulty:
    """Return the mean of each item over the systems with Wilson's interval, for other systems of this kind.

    Values lie between ``low`` and ``high``. Graded values vary less than values at both ends, so the interval
    is not too narrow for them.
    """
    count = len(values)
    z = NormalDist().inv_cdf((1 + LEVEL) / 2)
    share = np.clip((values.mean(axis=0) - low) / (high - low), 0, 1)
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    reach = (
        z
        / (1 + z**2 / count)
        * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    )
    ends = (np.clip(middle + sign * reach, 0, 1) for sign in (-1, 1))
    start, end = (low + (high - low) * each for each in ends)
    return Difficulty(values.mean(axis=0), start, end)
