"""Paired tests: held to SciPy, to brute force over every exchange, and to their share of false alarms."""

import itertools
import math

import numpy as np
import pytest

from scoring.metrics.base import build_unit_rows
from scoring.metrics.weighted import RankCorrelation
from scoring.stats import significance
from scoring.stats.significance import (
    APPROXIMATE_TEST,
    EXACT_TEST,
    PairedRuns,
    adjust_by_holm,
    compute_run_differences,
    compute_smallest_p_value,
    run_randomisation_tests,
)
from tests.lazily import Lazily
from tests.scoring.toys import Counts, Divergence, Mean, mean_rows

stats = Lazily("scipy.stats")


def two_runs(n: int, seed: int, better: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.normal(1.0, 1.0, n)
    return a, a + rng.normal(better, 1.0, n)


def brute_force_p(metric, a: np.ndarray, b: np.ndarray) -> float:
    """The share of all exchanges whose difference is at least the observed one."""
    observed = abs(metric.aggregate(a.sum(axis=0)) - metric.aggregate(b.sum(axis=0)))
    extreme = 0
    for exchanged in itertools.product([False, True], repeat=len(a)):
        mask = np.array(exchanged)[:, None]
        own, other = np.where(mask, b, a).sum(axis=0), np.where(mask, a, b).sum(axis=0)
        extreme += (
            abs(metric.aggregate(own) - metric.aggregate(other)) >= observed - 1e-12
        )
    return extreme / 2 ** len(a)


@pytest.mark.parametrize("seed", range(6))
def test_few_units_are_tested_exactly_as_scipy_does(seed):
    a, b = two_runs(9, seed)
    theirs = stats.permutation_test(
        (a, b),
        lambda x, y: np.mean(x) - np.mean(y),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    ours = run_randomisation_tests(
        [PairedRuns(Mean(), mean_rows(a), mean_rows(b))], trials=10, seed=0
    )[0]
    assert (ours.kind, ours.trials) == (EXACT_TEST, 2**9)
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize(
    "metric",
    [
        Counts("f1", "micro"),
        Counts("precision", "macro"),
        Counts("f1", "macro"),
        Divergence(),
    ],
)
def test_any_metric_is_tested_by_its_own_value(metric):
    rng = np.random.default_rng(7)
    a, b = (rng.integers(1, 9, (8, 3)).astype(float) for _ in range(2))
    if metric.per_unit:
        a, b = metric.unit_stats(a), metric.unit_stats(b)
    ours = run_randomisation_tests([PairedRuns(metric, a, b)], trials=10, seed=0)[0]
    assert ours.p == pytest.approx(brute_force_p(metric, a, b), abs=1e-12)


@pytest.mark.parametrize("same", [0, 40])
def test_a_measure_that_is_no_function_of_sums_is_tested_over_every_exchange_of_units_that_differ(
    same,
):
    rng = np.random.default_rng(same)
    gold, a, other = (rng.normal(size=7 + same).tolist() for _ in range(3))
    b = [*other[:7], *a[7:]]
    metric = RankCorrelation("spearman", "corrected")
    found = [metric.instance_stats(gold, run) for run in (a, b)]
    units = np.arange(len(gold))
    pair = PairedRuns(metric, *(build_unit_rows(metric, own, units) for own in found))
    [test] = run_randomisation_tests([pair], trials=10, seed=0)
    observed, extreme = (
        abs(stats.spearmanr(gold, a)[0] - stats.spearmanr(gold, b)[0]),
        0,
    )
    for exchanged in itertools.product([False, True], repeat=7):
        sides = np.where([*exchanged, *[False] * same], [b, a], [a, b])
        values = [stats.spearmanr(gold, side)[0] for side in sides]
        extreme += abs(values[0] - values[1]) >= observed - 1e-9
    assert (test.kind, test.trials) == (EXACT_TEST, 2**7)
    assert test.p == pytest.approx(extreme / 2**7, abs=1e-12)


def test_units_on_which_both_runs_agree_change_nothing():
    a, b = two_runs(8, seed=3)
    same = np.linspace(0, 1, 5000)
    few = PairedRuns(Mean(), mean_rows(a), mean_rows(b))
    many = PairedRuns(Mean(), mean_rows([*a, *same]), mean_rows([*b, *same]))
    alone, among = run_randomisation_tests([few, many], trials=10, seed=0)
    assert among.kind == EXACT_TEST
    assert among.p == alone.p


def test_many_units_are_tested_approximately_near_the_exact_p_value():
    a, b = two_runs(18, seed=1, better=0.2)
    theirs = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
        batch=50_000,
    ).pvalue
    ours = run_randomisation_tests(
        [PairedRuns(Mean(), mean_rows(a), mean_rows(b))], trials=20_000, seed=0
    )[0]
    assert (ours.kind, ours.trials) == (APPROXIMATE_TEST, 20_000)
    assert ours.p == pytest.approx(
        theirs, abs=4 * math.sqrt(theirs * (1 - theirs) / 20_000)
    )


def test_an_approximate_p_value_is_the_one_worked_out_by_hand():
    """One bit of PCG64 exchanges a unit: the low byte of a word comes first, the high bit of a byte."""
    units, trials = 20, 48
    a, b = two_runs(units, seed=1)
    bits = np.random.PCG64(6)
    words = b"".join(
        int(bits.random_raw()).to_bytes(8, "little")
        for _ in range(units * trials // 64)
    )
    drawn = np.array([bit == "1" for byte in words for bit in f"{byte:08b}"]).reshape(
        trials, units
    )
    extreme = sum(
        abs(np.where(row, b - a, a - b).sum()) >= abs((a - b).sum()) for row in drawn
    )
    [ours] = run_randomisation_tests(
        [PairedRuns(Mean(), mean_rows(a), mean_rows(b))], trials=trials, seed=6
    )
    assert 1 < extreme < trials
    assert ours.p == (1 + extreme) / (1 + trials)


@pytest.mark.parametrize("block", [40, 400, 1_000_000])
def test_runs_of_one_value_have_a_p_value_of_1_in_however_many_blocks_their_exchanges_are_tried(
    monkeypatch, block
):
    monkeypatch.setattr(significance, "MAX_SAMPLED_UNITS_IN_MEMORY", block)
    values = two_runs(40, seed=2)[0]
    pair = PairedRuns(Mean(), mean_rows(values), mean_rows(values[::-1]))
    assert run_randomisation_tests([pair], trials=25, seed=0)[0].p == 1


def test_an_approximate_p_value_is_never_nought():
    a = np.linspace(0, 1, 40)
    ours = run_randomisation_tests(
        [PairedRuns(Mean(), mean_rows(a), mean_rows(a + 5))], trials=99, seed=0
    )[0]
    assert ours.p == 1 / 100


def test_a_run_does_not_differ_from_itself():
    rows = mean_rows(two_runs(30, seed=0)[0])
    found = compute_run_differences(
        [PairedRuns(Mean(), rows, rows)], trials=200, seed=0
    )[0]
    assert (found.difference, found.error, found.test.p) == (0, 0, 1)
    assert (found.low, found.high, found.no_interval) == (None, None, "same")


def test_the_test_does_not_mind_which_run_comes_first():
    a, b = (mean_rows(run) for run in two_runs(40, seed=2))
    there, back = (
        compute_run_differences([PairedRuns(Mean(), *runs)], trials=500, seed=4)[0]
        for runs in ((a, b), (b, a))
    )
    assert there.test.p == back.test.p
    assert there.error == pytest.approx(back.error, rel=1e-12)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), rel=1e-12)


def test_pairs_tested_together_have_the_p_values_they_have_alone():
    pairs = [
        PairedRuns(Mean(), *(mean_rows(run) for run in two_runs(30, seed)))
        for seed in range(4)
    ]
    together = run_randomisation_tests(pairs, trials=300, seed=5)
    assert together == [
        run_randomisation_tests([pair], trials=300, seed=5)[0] for pair in pairs
    ]


def test_true_equals_are_told_apart_as_seldom_as_promised():
    alarms = 0
    for trial in range(400):
        a, b = two_runs(10, seed=trial, better=0.0)
        alarms += (
            run_randomisation_tests(
                [PairedRuns(Mean(), mean_rows(a), mean_rows(b))], trials=1, seed=0
            )[0].p
            <= 0.05
        )
    # Five of a hundred, give or take three standard deviations.
    assert alarms / 400 <= 0.085


def test_a_true_difference_is_found():
    a, b = two_runs(200, seed=9, better=0.5)
    found = compute_run_differences(
        [PairedRuns(Mean(), mean_rows(b), mean_rows(a))], trials=1000, seed=0
    )[0]
    assert found.test.p < 0.01
    assert 0 < found.low < found.difference < found.high


class Length(Mean):
    value_range = (0.0, math.inf)


def test_the_interval_of_a_difference_of_means_without_ends_is_that_of_the_paired_t_test():
    a, b = two_runs(50, seed=6)
    ours = compute_run_differences(
        [PairedRuns(Length(), mean_rows(a), mean_rows(b))], trials=10, seed=0
    )[0]
    theirs = stats.ttest_rel(a, b)
    assert ours.error == pytest.approx(stats.sem(a - b), rel=1e-10)
    assert (ours.low, ours.high) == pytest.approx(
        tuple(theirs.confidence_interval()), rel=1e-10
    )
    assert ours.difference == pytest.approx(np.mean(a - b), rel=1e-12)


def test_a_difference_over_two_units_has_no_interval():
    found = compute_run_differences(
        [PairedRuns(Mean(), mean_rows([0.2, 0.4]), mean_rows([0.1, 0.8]))],
        trials=10,
        seed=0,
    )[0]
    assert found.low is found.high is None
    assert math.isnan(found.error)


def test_hardly_any_extreme_exchange_asks_for_more_of_them():
    """So many that Holm's correction over 500 comparisons leaves the smallest p-value below 0.05."""
    far, near = (
        PairedRuns(Mean(), mean_rows(a), mean_rows(b))
        for a, b in (two_runs(60, seed=2, better=3.0), two_runs(60, seed=2, better=0.2))
    )
    found, other = run_randomisation_tests(
        [far, near], trials=1_000, max_trials=16_000, seed=0
    )
    assert (found.trials, found.p) == (16_000, 1 / 16_001)
    assert other == run_randomisation_tests([near], trials=1_000, seed=0)[0]
    assert max(adjust_by_holm([found.p] * 500)) < 0.05


@pytest.mark.parametrize(
    ("units", "smallest"), [(4, 0.125), (5, 0.0625), (16, 2 / 2**16), (17, 1 / 1001)]
)
def test_the_smallest_p_value_is_that_of_runs_as_far_apart_as_can_be(units, smallest):
    pair = PairedRuns(Mean(), mean_rows(np.ones(units)), mean_rows(np.zeros(units)))
    assert (
        run_randomisation_tests([pair], trials=1_000, seed=0)[0].p
        == compute_smallest_p_value(units, 1_000)
        == smallest
    )


def test_an_undefined_value_has_no_p_value():
    nothing = np.zeros((3, 2))
    for pair in (
        PairedRuns(Mean(), nothing, mean_rows([1, 2, 3])),
        PairedRuns(Mean(), mean_rows([1, 2, 3]), nothing),
    ):
        found = compute_run_differences([pair], trials=10, seed=0)[0]
        assert math.isnan(found.difference)
        assert math.isnan(found.test.p)
        assert math.isnan(found.error)
        assert found.low is found.high is None


def test_rows_that_do_not_line_up_are_refused():
    with pytest.raises(ValueError, match="rows of mean do not line up"):
        PairedRuns(Mean(), mean_rows([1, 2]), mean_rows([1, 2, 3]))


def closed_testing(p_values: list[float]) -> list[float]:
    """Holm's adjustment by its definition: the worst Bonferroni test of any set of hypotheses that holds this
    one.
    """
    places = range(len(p_values))
    sets = [
        chosen
        for size in range(1, len(p_values) + 1)
        for chosen in itertools.combinations(places, size)
    ]
    return [
        max(
            min(1.0, len(chosen) * min(p_values[row] for row in chosen))
            for chosen in sets
            if place in chosen
        )
        for place in places
    ]


@pytest.mark.parametrize("seed", range(20))
def test_holm_is_the_closed_testing_of_bonferroni(seed):
    p_values = (np.random.default_rng(seed).random(6) ** 3).tolist()
    assert adjust_by_holm(p_values) == pytest.approx(
        closed_testing(p_values), rel=1e-12
    )


def test_holm_has_the_textbook_values():
    assert adjust_by_holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx(
        [0.03, 0.06, 0.06, 0.02]
    )
    assert adjust_by_holm([]) == []
    assert adjust_by_holm([0.4, 0.4]) == pytest.approx([0.8, 0.8])


def test_what_could_not_be_asked_does_not_make_holm_stricter():
    adjusted = adjust_by_holm([0.02, math.nan, 0.03])
    assert adjusted[0] == pytest.approx(0.04)
    assert math.isnan(adjusted[1])
    assert adjusted[2] == pytest.approx(0.04)


def test_each_row_of_a_board_is_corrected_as_holm_corrects_its_comparisons():
    """With equal p-values, such as are missing, and such as are not there yet and count all the same."""
    chance = np.random.default_rng(1)
    for rows in [*range(9)] * 20:
        p = np.round(chance.random((rows, rows)) ** 6, 3)
        p[chance.random(p.shape) < 0.1] = np.nan
        p[chance.random(p.shape) < 0.1] = np.inf
        p = np.maximum(p, p.T)
        found = significance.find_significant_differences(p)
        for row in range(rows):
            others = [
                other
                for other in range(rows)
                if other != row and not np.isnan(p[row, other])
            ]
            corrected = significance.adjust_by_holm(
                [min(1.0, p[row, other]) for other in others]
            )
            differ = [
                other
                for other, own in zip(others, corrected, strict=True)
                if own <= significance.FAMILYWISE_ERROR_RATE
            ]
            assert np.flatnonzero(found[row]).tolist() == differ
