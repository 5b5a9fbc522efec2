"""Items to read again, against values that were computed by hand."""

import itertools
import math

import numpy as np
import pytest

from scoring.stats import items


def test_an_item_is_correlated_with_the_sum_of_all_other_items():
    """The rest of the last item is 2, 1, 1, 0 over four systems, and the item 0, 0, 1, 1.

    Deviations are (1, 0, 0, -1) and (-.5, -.5, .5, .5): -1 / sqrt(2 * 1).
    """
    values = np.array([[1.0, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]])
    found = items.compute_item_rest_correlations(values)
    assert found[2] == pytest.approx(-1 / math.sqrt(2))
    # The rest of the first item is 1, 0, 2, 1: deviations (0, -1, 1, 0) and (.5, .5, -.5, -.5).
    assert found[0] == pytest.approx(-1 / math.sqrt(2))


def test_an_item_with_the_same_value_everywhere_has_no_correlation():
    values = np.array([[1.0, 1, 0.1 + 0.2], [0, 0, 0.3], [1, 1, 0.3]])
    assert np.isnan(items.compute_item_rest_correlations(values)).tolist() == [
        False,
        False,
        True,
    ]
    assert np.isnan(items.compute_item_rest_correlations(values[:, [0, 2]])).all()
    tested = items.run_item_rest_tests(values)
    assert np.isnan(tested.adjusted).all()
    assert not tested.is_below_zero.any()


def test_the_permutation_test_has_the_p_value_of_all_orders():
    """Of the 720 orders of six systems, each is asked; the random permutations come close."""
    values = np.array(
        [[0.0, 1, 1, 1], [0, 1, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 1]]
    )  # fmt: skip
    own, rest = values[:, 0], values[:, 1:].sum(axis=1)
    sums = [np.array(order) @ rest for order in itertools.permutations(own)]
    exact = np.mean(np.array(sums) <= own @ rest + 1e-9)
    [found] = items.compute_permutation_p_values(values, np.array([0]), 19_999)
    assert found == pytest.approx(exact, abs=0.004)


def test_one_right_answer_of_the_last_system_is_no_evidence_however_far_behind_it_is():
    """Pearson's test gives p < .001; of twelve systems one is the last by chance in 1/12 of boards."""
    values = np.ones((12, 40))
    values[:, ::2] = 0.9
    values[11] = 0.0
    values[:, 0] = [*[0.0] * 11, 1.0]
    tested = items.run_item_rest_tests(values)
    assert tested.correlations[0] == pytest.approx(-1)
    assert tested.p[0] == pytest.approx(1 / 12, abs=0.01)
    assert not tested.is_below_zero[0]


def test_adjusted_p_values_are_those_of_benjamini_and_hochberg():
    """Of four: .01 * 4 / 1, .04 * 4 / 3 (smaller than .03 * 4 / 2) and .5 * 4 / 4."""
    found = items.adjust_by_benjamini_hochberg(np.array([0.5, 0.01, 0.03, 0.04]))
    assert found == pytest.approx([0.5, 0.04, 0.16 / 3, 0.16 / 3])
    assert items.adjust_by_benjamini_hochberg(np.array([])).tolist() == []


def test_items_with_reversed_gold_are_selected_and_others_are_not():
    """Two of forty items are right where the system is among the weaker ones of thirty."""
    rng = np.random.default_rng(3)
    chances = 1 / (1 + np.exp(-np.linspace(-2.5, 2.5, 30)))[:, None]
    values = (rng.random((30, 40)) < chances).astype(float)
    values[:, [7, 31]] = np.arange(30)[:, None] < [12, 16]
    found = items.run_item_rest_tests(values)
    assert np.flatnonzero(found.is_below_zero).tolist() == [7, 31]
    assert np.nanmin(found.adjusted) > 0
    assert np.isnan(found.p[found.correlations >= 0]).all()


def test_the_best_third_has_all_systems_that_share_the_mean_of_its_last():
    values = np.array([[1.0, 0], [0, 1], [0, 1], [0, 0], [0, 0], [0, 0]])
    assert items.find_best_third_of_systems(values).tolist() == [0, 1, 2]
    assert items.find_best_third_of_systems(values[[0, 3, 1, 4, 5, 3]]).tolist() == [
        0,
        2,
    ]
    assert items.find_items_missed_by_best_third(values, 0.0).tolist() == [False, False]
    lower = np.array([[0.0, 0.2], [0, 0.3], [0.1, 0], [0, 0], [0, 0], [0.1, 0]])
    assert items.find_items_missed_by_best_third(lower, 0.0).tolist() == [True, False]


def test_difficulty_has_the_interval_of_wilson_on_any_range():
    """8 of 20: [.2188, .6134] (Wilson); the same on a range from -1 to 1, and no end outside it."""
    right = np.array([[1.0, 0]] * 8 + [[0.0, 0]] * 12)
    found = items.compute_item_difficulty(right, 0.0, 1.0)
    assert found.mean.tolist() == [0.4, 0.0]
    assert (found.low[0], found.high[0]) == pytest.approx((0.21880, 0.61342), abs=1e-5)
    # None of 20: z² / (20 + z²).
    assert (found.low[1], found.high[1]) == pytest.approx((0, 0.16113), abs=1e-5)
    other = items.compute_item_difficulty(2 * right - 1, -1.0, 1.0)
    assert other.low == pytest.approx(2 * found.low - 1)
    assert other.high == pytest.approx(2 * found.high - 1)


def test_an_item_is_selected_up_to_both_limits():
    p, adjusted = np.array([0.05, 0.05, 0.051]), np.array([0.2, 0.201, 0.2])
    found = items.ItemRestTests(np.full(3, -0.5), p, adjusted)
    assert found.is_below_zero.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("exchanges", "asked"),
    [
        # All permutations of both looks; the second look has 40 for each of 300 items.
        (200_000_000, [999, 12_000]),
        # 250 permutations of 12 values of 300 items, and 500 of half as many.
        (900_000, [250]),
        # No look has fewer permutations than the least.
        (36_000, [99]),
    ],
)
def test_permutations_grow_with_the_items_and_stop_where_they_take_too_long(
    exchanges, asked, monkeypatch
):
    trials = []

    def permutation_p(values, places, number):
        trials.append(number)
        return np.full(len(places), 0.01)

    monkeypatch.setattr(items, "compute_permutation_p_values", permutation_p)
    monkeypatch.setattr(items, "MAX_PERMUTED_VALUES", exchanges)
    # Each of 300 pairs has an item that is the reverse of all others.
    right = (np.arange(12) % 2).astype(float)[:, None]
    values = np.hstack([np.tile(right, 900), np.tile(1 - right, 300)])
    found = items.run_item_rest_tests(values)
    assert np.count_nonzero(found.correlations < 0) == 300
    assert trials == asked


def test_p_values_of_the_same_values_are_the_same_on_every_machine():
    values = np.array([[0.0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 1]])
    counted = items.compute_permutation_p_values(values, np.array([0]), 999) * 1000
    assert counted.tolist() == [counted_with_seed_0(values)]


def test_p_values_do_not_change_when_all_values_of_other_items_are_larger():
    """Ties are told by sums around 0, since the tolerance grows with the sums."""
    values = np.array([[1.0, 0], [1, 1], [0, 2], [0, 3], [1, 4], [0, 5]])
    larger = values + np.array([0.0, 1e9])
    [p], [of_larger] = (
        items.compute_permutation_p_values(each, np.array([0]), 999)
        for each in (values, larger)
    )
    assert of_larger == p < 0.5


def counted_with_seed_0(values) -> float:
    """Return how many of 1,000 orders of the first item, with the observed one, are as low."""
    rng = np.random.default_rng(0)
    orders = rng.permuted(np.tile(np.arange(len(values)), (999, 1)), axis=1)
    rest = values[:, 1:].sum(axis=1)
    rest = rest - rest.mean()
    sums = rest[orders] @ values[:, 0]
    return 1.0 + np.count_nonzero(sums <= values[:, 0] @ rest + 1e-9)
