"""Select items of a test set that organisers should check, by the values of all systems
on these items.

An item is an instance of a test set. Better systems should have higher values on an
item. If better systems have lower values, the gold may be wrong, or the item may
measure something else than the other items. A selected item is a candidate for a check,
and the item's gold is not necessarily wrong.

The arrays of values have the shape (systems, items). All values are finite, and higher
values are better.

The sources are Benjamini and Hochberg 1995 (Controlling the False Discovery Rate) and,
for the bound on corrected p-values, Ellis, Pecanka and Goeman 2020 (Gaining power in
multiple testing of interval hypotheses via conditionalization).
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Tests of items need at least this number of systems.
MIN_SYSTEMS = 12
#: The search for items that the best third of systems fails needs this many systems.
MIN_SYSTEMS_FOR_BEST_THIRD = 20
#: Item-rest correlations are shown for leaderboards with at least this many systems.
#: Item-rest correlations of two leaderboards agree by .28 for 20 systems, .55 for 60.
MIN_SYSTEMS_FOR_ITEM_REST = 60
#: An item is selected if p ≤ ``SIGNIFICANCE_LEVEL`` and the adjusted p ≤ ``FALSE_DISCOVERY_RATE``.
SIGNIFICANCE_LEVEL = 0.05
#: At most this share of the selected items should have no negative true correlation.
#: A false discovery rate of 5 % would select hardly any items for 12 to 30 systems.
#: People check the selected items, so some wrong selections are acceptable.
FALSE_DISCOVERY_RATE = 0.2
#: The correction drops p-values above this bound and divides all others by the bound.
#: Items with positive correlations have p-values near 1 and would reduce the power.
MAX_CORRECTED_P_VALUE = 0.5
SEED = 0
#: The first step uses ``FIRST_STEP_PERMUTATIONS`` permutations of each item's values.
#: Very large leaderboards use at least ``MIN_FIRST_STEP_PERMUTATIONS`` permutations in the first step.
#: Items with p-values up to ``MAX_FIRST_STEP_P_VALUE`` enter the second step of the test.
FIRST_STEP_PERMUTATIONS, MIN_FIRST_STEP_PERMUTATIONS, MAX_FIRST_STEP_P_VALUE = (
    999,
    99,
    0.1,
)
#: The second step of the permutation test uses at least ``MIN_SECOND_STEP_PERMUTATIONS`` permutations.
#: The number of permutations grows with the number of negatively correlated items.
MIN_SECOND_STEP_PERMUTATIONS, PERMUTATIONS_PER_ITEM = 9_999, 40
#: The second step permutes at most this number of values, which takes some seconds.
#: If the number of permutations is reduced, fewer items are selected.
MAX_PERMUTED_VALUES = 200_000_000
#: This number of permutations is computed at once.
PERMUTATIONS_PER_BLOCK = 10_000
CONFIDENCE_LEVEL = 0.95
#: Values in a range of 1 are equal if their difference is at most this rounding error.
ROUNDING_TOLERANCE = 1e-9


@dataclass(frozen=True)
class ItemRestTests:
    """For each item, the correlation of its values with the sum of all other items, the
    one-sided p-value of the correlation, and the adjusted p-value.

    A correlation is NaN if all systems have the same value on the item. The p-value
    ``p`` is NaN unless the correlation is negative. The adjusted p-value ``adjusted``
    is NaN if ``p`` is NaN or above ``MAX_CORRECTED_P_VALUE``.
    """

    correlations: Floats
    p: Floats
    adjusted: Floats

    @property
    def is_below_zero(self) -> NDArray[np.bool_]:
        with np.errstate(invalid="ignore"):
            return np.asarray(
                (self.p <= SIGNIFICANCE_LEVEL) & (self.adjusted <= FALSE_DISCOVERY_RATE)
            )


@dataclass(frozen=True)
class ItemDifficulty:
    """The mean value of each item over the systems, with an interval."""

    mean: Floats
    low: Floats
    high: Floats


def run_item_rest_tests(values: Floats) -> ItemRestTests:
    """Test for each item whether its correlation with the sum of all other items is
    negative.
    """
    correlations = compute_item_rest_correlations(values)
    p = np.full(values.shape[1], np.nan)
    with np.errstate(invalid="ignore"):
        places = np.flatnonzero(correlations < 0)
    first = MAX_PERMUTED_VALUES // max(1, len(places) * len(values))
    p[places] = compute_permutation_p_values(
        values,
        places,
        min(FIRST_STEP_PERMUTATIONS, max(MIN_FIRST_STEP_PERMUTATIONS, first)),
    )
    again = places[p[places] <= MAX_FIRST_STEP_P_VALUE]
    affordable = MAX_PERMUTED_VALUES // max(1, len(again) * len(values))
    trials = min(
        max(PERMUTATIONS_PER_ITEM * len(places), MIN_SECOND_STEP_PERMUTATIONS),
        affordable,
    )
    if trials > FIRST_STEP_PERMUTATIONS:
        p[again] = compute_permutation_p_values(values, again, trials)
    adjusted = np.full(values.shape[1], np.nan)
    with np.errstate(invalid="ignore"):
        counted = np.flatnonzero(p <= MAX_CORRECTED_P_VALUE)
    adjusted[counted] = adjust_by_benjamini_hochberg(p[counted] / MAX_CORRECTED_P_VALUE)
    return ItemRestTests(correlations, p, adjusted)


def compute_item_rest_correlations(values: Floats) -> Floats:
    """Return Pearson's correlation between each item and the sum of all other items, or
    NaN if the item or the sum is constant.
    """
    rest = values.sum(axis=1, keepdims=True) - values
    own, others = values - values.mean(axis=0), rest - rest.mean(axis=0)
    squares = (own**2).sum(axis=0), (others**2).sum(axis=0)
    is_constant = (np.ptp(values, axis=0) <= ROUNDING_TOLERANCE) | (
        np.ptp(rest, axis=0) <= ROUNDING_TOLERANCE * values.shape[1]
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (own * others).sum(axis=0) / np.sqrt(squares[0] * squares[1])
    return np.where(is_constant, np.nan, np.clip(found, -1, 1))


def compute_permutation_p_values(
    values: Floats, items: NDArray[np.intp], trials: int
) -> Floats:
    """Return the one-sided p-value of each item, which is the share of permutations
    whose item-rest correlation is at most the observed correlation.

    A permutation reorders the values of the systems on the item. The observed order
    counts as one permutation. The p-values are valid for any distribution of values.
    """
    rng = np.random.default_rng(SEED)
    systems = len(values)
    own = values[:, items]
    rest = values.sum(axis=1, keepdims=True) - own
    rest = rest - rest.mean(axis=0)
    observed = (own * rest).sum(axis=0)
    slack = ROUNDING_TOLERANCE * np.maximum(1.0, np.abs(observed))
    extreme = np.ones(len(items))
    for begin in range(0, trials, PERMUTATIONS_PER_BLOCK):
        size = min(PERMUTATIONS_PER_BLOCK, trials - begin)
        orders = rng.permuted(np.tile(np.arange(systems), (size, 1)), axis=1)
        for place in range(len(items)):
            sums = rest[:, place][orders] @ own[:, place]
            extreme[place] += np.count_nonzero(sums <= observed[place] + slack[place])
    return extreme / (1 + trials)


def adjust_by_benjamini_hochberg(p: Floats) -> Floats:
    """Return p-values adjusted by the procedure of Benjamini and Hochberg."""
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return adjusted


def find_best_third_of_systems(values: Floats) -> NDArray[np.intp]:
    """Return the indices of the third of systems with the highest means, including all
    systems that are tied with the last system of this third.
    """
    means = values.mean(axis=1)
    last = np.sort(means)[::-1][len(means) // 3 - 1]
    return np.flatnonzero(means >= last - ROUNDING_TOLERANCE)


def find_items_missed_by_best_third(values: Floats, worst: float) -> NDArray[np.bool_]:
    """Return an array (items,) with True for each item on which all systems of the best
    third have the worst value.
    """
    return np.asarray(
        (values[find_best_third_of_systems(values)] <= worst + ROUNDING_TOLERANCE).all(
            axis=0
        )
    )


def compute_item_difficulty(values: Floats, low: float, high: float) -> ItemDifficulty:
    """Return the mean of each item over the systems, with Wilson's interval for the
    mean in a population of systems.

    Values lie between ``low`` and ``high``. Wilson's interval is conservative for
    graded values, which vary less than binary values.
    """
    count = len(values)
    z = NormalDist().inv_cdf((1 + CONFIDENCE_LEVEL) / 2)
    share = np.clip((values.mean(axis=0) - low) / (high - low), 0, 1)
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    reach = (
        z
        / (1 + z**2 / count)
        * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2))
    )
    ends = (np.clip(middle + sign * reach, 0, 1) for sign in (-1, 1))
    start, end = (low + (high - low) * end for end in ends)
    return ItemDifficulty(values.mean(axis=0), start, end)
