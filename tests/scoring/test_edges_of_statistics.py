"""Statistics at their bounds: exactly at a limit, beyond an end, in portions, of nothing."""

import itertools
import math

import numpy as np
import pytest
from sklearn.metrics import log_loss

from scoring.metrics import discourse, mauve, sacrebleu
from scoring.metrics.calibration import DebiasedCalibrationError, LogLoss
from scoring.metrics.numbers import Pearson
from scoring.metrics.weighted import RankCorrelation
from scoring.stats import jackknife, significance
from scoring.stats.jackknife import (
    compute_difference_bounds,
    compute_intervals_or_reasons,
    compute_score_bounds,
)
from scoring.stats.resampling import round_to_summable_grid
from scoring.stats.significance import PairedRuns, run_randomisation_tests
from tasks.types.probabilities import LabelWithProbabilities
from tests.scoring.toys import Counts, Mean, mean_rows

MADE = np.random.default_rng(29)


def test_rounding_takes_the_measured_correlation_beyond_neither_end():
    metric = Pearson("m", "corrected")
    lines = [
        (x, slope * x + 0.1)
        for x in MADE.normal(size=(400, 7))
        for slope in (-3.7, 0.3)
    ]
    found = [
        float(metric.aggregate(metric.instance_stats(list(x), list(y)).sum(axis=0)))
        for x, y in lines
    ]
    assert min(found) == -1
    assert max(found) == 1


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (0.0, 100.0)])
def test_values_beyond_the_ends_have_the_bounds_of_the_ends(low, high):
    for error, units in itertools.product((0.0, 0.1, 3.0), (3, 40)):
        for value, end in ((high + 0.5, high), (low - 0.5, low)):
            beyond, at = (
                compute_score_bounds(own, error, units, (low, high))
                for own in (value, end)
            )
            assert np.array_equal(beyond, at)
        whole = high - low
        for sign in (-1, 1):
            beyond, at = (
                compute_difference_bounds(
                    sign * own, np.asarray(error), units, (low, high), same=0.0
                )
                for own in (whole + 0.5, whole)
            )
            assert np.array_equal(beyond, at)


def test_bounds_lie_within_the_ends_to_the_last_bit():
    values, errors = (
        side.ravel()
        for side in np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 0.7, 29))
    )
    for units in (3, 3.7, 10, 1000, 10**6):
        low, high = compute_score_bounds(values, errors, units, (0.0, 1.0))
        assert low.min() >= 0
        assert high.max() <= 1
        low, high = compute_difference_bounds(
            2 * values - 1, errors, units, (0.0, 1.0), same=0.0
        )
        assert low.min() >= -1
        assert high.max() <= 1


def test_units_that_weigh_like_fewer_than_two_have_one_degree_of_freedom():
    alone, several = (
        jackknife._compute_t_quantiles(0.95, units)
        for units in (1.5, np.array([1.2, 1.9, 2.0, 2.5]))
    )
    assert alone == pytest.approx(12.7062, abs=1e-4)
    assert several[:3] == pytest.approx([12.7062] * 3, abs=1e-4)
    assert several[3] == pytest.approx(float(jackknife._compute_t_quantiles(0.95, 2.5)))


def test_an_error_above_rounding_has_an_interval_and_one_below_has_none():
    for factor, has_one in ((1.5, True), (0.5, False)):
        error = np.asarray(factor * jackknife.ROUNDING_TOLERANCE)
        bounds = jackknife.convert_to_optional_bounds(
            compute_score_bounds(0.0, error, 9, jackknife.UNBOUNDED_RANGE)
        )
        assert (bounds is not None) == has_one
        bounds = jackknife.convert_to_optional_bounds(
            compute_score_bounds(200.0, 200 * error, 9, jackknife.UNBOUNDED_RANGE)
        )
        assert (bounds is not None) == has_one


def test_three_units_that_carry_a_number_are_enough_and_two_are_not():
    for carrying, others in itertools.product((2, 3), (0, 4)):
        rows = np.array(
            [[1.0, 1, 1], [2, 0, 1], [0, 3, 2]][:carrying] + [[0.0, 0, 0]] * others
        )
        for metric, own in (
            (Counts("f1"), rows),
            (Mean(), mean_rows([0.1, 0.4, 0.9][:carrying])),
        ):
            [found] = compute_intervals_or_reasons([(metric, own)])
            assert (found == jackknife.NoIntervalReason.FEW_UNITS) == (carrying == 2)
            other = own * 0.5
            [difference] = significance.compute_run_differences(
                [PairedRuns(metric, own, other)], trials=9, seed=0
            )
            assert (difference.no_interval == jackknife.NoIntervalReason.FEW_UNITS) == (
                carrying == 2
            )
    for rows in (np.zeros((0, 3)), np.zeros((2, 3))):
        assert compute_intervals_or_reasons([(Counts("f1"), rows)]) == [
            jackknife.NoIntervalReason.FEW_UNITS
        ]


def test_the_same_rows_and_rows_of_weighted_measures_have_intervals_side_by_side():
    weighted = RankCorrelation("spearman", "corrected")
    rows = weighted.instance_stats([1.0, 2, 3, 4, 5], [2.0, 1, 3, 5, 4])
    own = np.column_stack([np.arange(5.0), rows])
    means = mean_rows([0.1, 0.4, 0.9, 0.3])
    measured = [(Mean(), means), (weighted, own), (Mean(), means)]
    alone = [compute_intervals_or_reasons([each])[0] for each in measured]
    assert all(isinstance(each, tuple) for each in alone)
    assert compute_intervals_or_reasons(measured) == alone


def test_a_difference_that_is_just_detectable_needs_just_these_units():
    for at_units, comparisons in (
        (7, 1),
        (37, 1),
        (500, 3),
        (significance.MAX_CONSIDERED_UNITS, 1),
    ):
        just = significance.compute_detectable_difference(
            0.05, 9, at_units=at_units, comparisons=comparisons
        )
        assert (
            significance.compute_needed_units(just, 0.05, 9, comparisons=comparisons)
            == at_units
        )
        assert (
            significance.compute_detectable_difference(
                0.05, 9, at_units=at_units, largest=just, comparisons=comparisons
            )
            == just
        )
        less = np.nextafter(just, 0)
        assert significance.compute_detectable_difference(
            0.05, 9, at_units=at_units, largest=less, comparisons=comparisons
        ) == (math.inf)
    assert significance.compute_needed_units(float(less), 0.05, 9) is None


def test_units_are_not_asked_for_without_a_difference_or_an_error():
    for difference, error in (
        (0.0, 0.1),
        (0.1, 0.0),
        (0.1, math.nan),
        (math.nan, 0.1),
        (math.inf, 0.1),
    ):
        assert significance.compute_needed_units(difference, error, 9) is None


def test_the_chance_of_an_order_is_defined_on_boards_of_every_size_and_undefined_without_errors():
    for rows, squares in itertools.product((2, 30, 3000), (0.0, 1e-4, 10.0)):
        chance = significance.order_chance(
            0.02, 0.01, 40, rows=rows, squares=squares, errors=1e-4
        )
        assert 0.5 < chance < 1
    for error, errors, units in (
        (0.0, 1.0, 9),
        (1.0, 0.0, 9),
        (math.nan, 1.0, 9),
        (1.0, math.nan, 9),
        (1.0, 1.0, 1),
    ):
        assert math.isnan(
            significance.order_chance(
                0.0, error, units, rows=4, squares=1.0, errors=errors
            )
        )


def test_rows_of_one_value_are_not_above_each_other_however_small_their_p_value():
    for values in ([0.5, 0.5, 0.1], [math.nan, math.nan, math.nan]):
        found = significance.compute_ranks_with_ranges(values, np.zeros((3, 3)))
        assert (found[0], found[1]) == (found[1], found[0])
        assert found[0].low == found[0].rank == 1


def test_what_is_not_compared_differs_from_nothing_at_any_level():
    p = np.array(
        [[math.nan, 0.01, math.nan], [0.01, math.nan, 0.2], [math.nan, 0.2, math.nan]]
    )
    for family in (significance.ROW_FAMILY, significance.BOARD_FAMILY):
        found = significance.find_significant_differences(p, family=family, alpha=0.99)
        assert found.tolist() == [
            [False, True, False],
            [True, False, True],
            [False, True, False],
        ]


def test_holms_correction_of_rows_is_that_of_each_row_alone():
    p = MADE.choice([0.001, 0.01, 0.01, 0.02, 0.04, math.nan, 0.3, 1.0], size=(60, 60))
    for alpha in (0.02, 0.05, 0.3):
        found = significance.find_significant_differences(p, alpha=alpha)
        for row in range(len(p)):
            others = np.delete(p[row], row)
            expected = [
                own <= alpha for own in significance.adjust_by_holm(others.tolist())
            ]
            assert np.delete(found[row], row).tolist() == expected


@pytest.mark.parametrize("is_weighted", [False, True])
def test_exchanges_in_portions_are_those_of_one(monkeypatch, is_weighted):
    units, trials = 20, 640
    gold, a, b = (MADE.permutation(units).astype(float) for _ in range(3))
    if is_weighted:
        metric = RankCorrelation("spearman", "corrected")
        sides = (
            np.column_stack([np.arange(units), metric.instance_stats(gold, own)])
            for own in (a, b)
        )
        pair = PairedRuns(metric, *sides)
    else:
        pair = PairedRuns(Mean(), mean_rows(a * gold), mean_rows(b * gold))
    whole = run_randomisation_tests([pair], trials=trials, seed=3)
    monkeypatch.setattr(
        significance,
        "MAX_SAMPLED_UNITS_IN_MEMORY",
        64 * units * (2 if is_weighted else 1),
    )
    assert run_randomisation_tests([pair], trials=trials, seed=3) == whole


def test_the_grid_of_sums_is_no_finer_than_numbers_can_be():
    for exponent, expected in ((-1000, 2.0**-1000), (-1001, 0.0)):
        assert round_to_summable_grid(np.array([[2.0**exponent]]), 1).tolist() == [
            [expected]
        ]
    assert round_to_summable_grid(np.zeros((0, 3)), 0).shape == (0, 3)
    rows = np.array([[0.1], [0.7]])
    assert np.abs(round_to_summable_grid(rows, 1000) - rows).max() <= 2.0**-52 * 1000


def test_a_sure_forecast_costs_to_the_last_bit_what_scikit_learn_says():
    metric = LogLoss("log_loss", "corrected", labels=["a", "b"])
    stats = metric.instance_stats(
        ["a", "b", "z"], [LabelWithProbabilities("a", {"a": 1.0, "b": 0.0})] * 3
    )
    sure, wrong = (log_loss([label], [[1.0, 0.0]], labels=["a", "b"]) for label in "ab")
    assert stats.tolist() == [[sure, 1.0], [wrong, 1.0], [wrong, 1.0]]
    assert sure > 0


def test_counts_of_no_texts_are_as_wide_as_those_of_some():
    for metric in (
        sacrebleu.Bleu("b", "r"),
        sacrebleu.Chrf("c", "r"),
        sacrebleu.Chrf("w", "r", words=2),
    ):
        none, some = (
            metric.instance_stats([], []),
            metric.instance_stats(["a b"], ["b a"]),
        )
        assert none.shape == (0, some.shape[1])
        assert np.isnan(metric.aggregate(np.zeros((2, some.shape[1])))).all()


def test_a_bin_that_is_all_right_is_drawn_no_more():
    metric = DebiasedCalibrationError(
        "ece_debiased", "corrected", labels=["a", "b"], bins=2
    )
    sums = metric.compute_bin_columns(
        np.array([0.9, 0.8, 0.3]), np.array([1, 1, 0]), np.ones(3, dtype=bool)
    ).sum(axis=0)
    assert float(metric.aggregate(sums)) == pytest.approx((0.3 + 0.3) / 3)


def test_a_divergence_of_one_set_is_that_of_its_shares():
    counts = np.array([[3.0, 1.0], [0.0, 0.0]])
    assert discourse.compute_macro_average(counts[:1]).tolist() == [0.75, 0.25]
    assert discourse.compute_macro_average(counts).tolist() == [0.375, 0.125]
    assert mauve.compute_divergence_curve_area(
        np.array([0.5, 0.5]), np.array([0.5, 0.5])
    ) == pytest.approx(1)


def test_sums_of_exchanged_units_are_exact_in_whatever_order_they_are_added_up():
    a, b = MADE.random((2, 4096))
    exchange = significance._ExchangeValues(
        PairedRuns(Mean(), mean_rows(a), mean_rows(b))
    )
    for _ in range(5):
        surplus = MADE.permutation(exchange.surplus[:, 0])
        assert float(np.cumsum(surplus)[-1]) == math.fsum(surplus)
    assert float(exchange.totals[0][0] - exchange.totals[1][0]) == math.fsum(
        exchange.surplus[:, 0]
    )
