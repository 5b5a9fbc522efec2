"""Correlations, held to SciPy; and that their intervals keep what they promise."""

import math

import numpy as np
import pytest

from scoring.stats.correlation import (
    CORRELATION_FUNCTIONS,
    compute_kendall_tau_b,
    compute_pearson,
    compute_ranks,
    compute_spearman,
    correlate_grouped_points,
    correlate_points,
)
from tests.lazily import Lazily

stats = Lazily("scipy.stats")

SCIPY = {
    "Pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "Spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "Kendall": lambda x, y: stats.kendalltau(x, y).statistic,
}
EVERY = pytest.mark.parametrize("name", CORRELATION_FUNCTIONS)


def points(seed: int, size: int, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size)
    y = x + rng.normal(size=size)
    return (np.round(x), np.round(y)) if ties else (x, y)


@EVERY
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("size", [2, 3, 10, 200])
def test_each_coefficient_is_that_of_scipy(name, size, ties):
    for seed in range(5):
        x, y = points(seed, size, ties)
        if np.ptp(x) and np.ptp(y):
            assert CORRELATION_FUNCTIONS[name](x, y) == pytest.approx(
                SCIPY[name](x, y), rel=1e-12, abs=1e-12
            )


def test_rounding_takes_pearsons_coefficient_beyond_neither_end():
    found = [
        compute_pearson(x, slope * x + 0.1)
        for x in np.random.default_rng(0).normal(size=(200, 7))
        for slope in (-3.7, 0.3)
    ]
    assert (min(found), max(found)) == (-1, 1)


def test_ranks_are_those_of_scipy():
    values = np.array([3.0, 1.0, 3.0, 2.0, 3.0])
    assert compute_ranks(values).tolist() == stats.rankdata(values).tolist()


def test_pearsons_interval_over_points_is_that_of_scipy():
    x, y = points(3, 30, ties=False)
    found = correlate_points("Pearson", x, y)
    assert (found.low, found.high) == pytest.approx(
        tuple(stats.pearsonr(x, y).confidence_interval()), rel=1e-12
    )


@pytest.mark.parametrize(
    "coefficient", [compute_pearson, compute_spearman, compute_kendall_tau_b]
)
def test_a_side_that_does_not_vary_leaves_it_undefined(coefficient):
    assert math.isnan(coefficient(np.array([0.1, 0.1, 0.1]), np.array([1.0, 2.0, 3.0])))


@EVERY
def test_fewer_than_five_points_or_groups_have_no_interval(name):
    x, y = points(1, 4, ties=False)
    assert correlate_points(name, x, y).low is None
    assert (
        correlate_grouped_points(
            name, *points(1, 40, ties=False), ["a", "b", "c", "d"] * 10
        ).low
        is None
    )


@EVERY
def test_a_perfect_order_has_1_and_an_interval_up_to_it(name):
    x = np.arange(10.0)
    found = correlate_points(name, x, x)
    assert found.value == 1
    assert found.low is not None
    assert found.low <= 1 <= round(found.high or 0, 6)
    assert correlate_grouped_points(name, x, x, range(10)).low is None


@EVERY
def test_intervals_over_groups_hold_the_value_of_a_large_population(name):
    """Points of one group share half of what makes them; 5 % of intervals may miss, and chance adds to it."""
    rng = np.random.default_rng(7)

    def drawn(groups: int) -> tuple[np.ndarray, np.ndarray]:
        shared = np.repeat(rng.normal(size=groups), 3)
        x = shared + rng.normal(size=3 * groups)
        return x, shared + rng.normal(size=3 * groups)

    truth = CORRELATION_FUNCTIONS[name](*drawn(700))
    held = 0
    for _ in range(150):
        found = correlate_grouped_points(
            name, *drawn(20), np.repeat(np.arange(20), 3).tolist()
        )
        held += (found.low or 1) <= truth <= (found.high or 0)
    assert held >= 0.88 * 150


def test_two_points_of_groups_have_a_coefficient_and_one_has_none():
    assert (
        correlate_grouped_points(
            "Pearson", np.array([1.0, 2.0]), np.array([3.0, 5.0]), ["a", "b"]
        ).value
        == 1
    )
    assert math.isnan(
        correlate_grouped_points(
            "Pearson", np.array([1.0]), np.array([3.0]), ["a"]
        ).value
    )


@pytest.mark.parametrize("name", CORRELATION_FUNCTIONS)
def test_what_is_undefined_without_one_group_has_no_interval(name):
    """Of six groups one alone has another value; with a second one there is an interval."""
    y, groups = np.array([1.0, 2, 3, 2, 1, 4]), list("abcdef")
    found = correlate_grouped_points(name, np.array([0.0, 0, 0, 0, 0, 1]), y, groups)
    assert found.value > 0
    assert (found.low, found.high) == (None, None)
    found = correlate_grouped_points(name, np.array([0.0, 0, 1, 0, 0, 1]), y, groups)
    assert found.low < found.value < found.high
