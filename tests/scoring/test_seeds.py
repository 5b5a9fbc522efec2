"""Means over seeds: their intervals, their differences, and how often both hold."""

import dataclasses
import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from scoring.metrics.clsumm import Overlap
from scoring.stats import jackknife
from scoring.stats.jackknife import NoIntervalReason
from scoring.stats.seeds import compare_system_means, compute_system_mean_interval
from tests.lazily import Lazily
from tests.scoring.toys import Mean, mean_rows

stats = Lazily("scipy.stats")
ROOT = Path(__file__).resolve().parents[2]
F1 = Overlap("overlap_f1_micro", "corrected", part="f1", average="micro")


@pytest.fixture(scope="module")
def simulation():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return importlib.import_module("seed_coverage")
    finally:
        sys.path.pop(0)


def rows_of(*hits: int) -> np.ndarray:
    """A unit of ten for each number, of which so many are found."""
    return np.array([(found, 10 - found, 10 - found) for found in hits], dtype=float)


ONE = rows_of(9, 7, 5, 8, 2, 6, 9, 4)


@pytest.mark.parametrize(
    ("kind", "runs"),
    [("accuracy, small", 3), ("micro F1, large", 5), ("error, small", 3)],
)
def test_means_hold_and_equal_systems_seldom_differ(
    simulation, kind, runs, monkeypatch
):
    monkeypatch.setattr(simulation, "TRUE_SEEDS", 200)
    family = simulation.FAMILIES[kind]
    cell = simulation.simulate(family, runs, 100, repetitions=100, seed=1)
    assert cell.faults == []


def test_a_cell_fails_three_standard_errors_below_93_or_above_5(simulation):
    cell = simulation.Cell(
        family="x", runs=3, units=9, held=92, differing=6, width=1, repetitions=1000
    )
    assert cell.faults == []
    low = dataclasses.replace(cell, held=90, differing=8)
    assert len(low.faults) == 2


@pytest.mark.proof
def test_every_cell_of_means_over_seeds_holds(simulation):
    cells = simulation.cells(repetitions=300, seed=simulation.SEED)
    assert [fault for cell in cells for fault in cell.faults] == []


def test_equal_runs_have_the_interval_of_one_run():
    [alone] = jackknife.intervals([(F1, ONE)])
    assert compute_system_mean_interval(F1, [ONE, ONE, ONE]) == pytest.approx(alone)


def test_perfect_runs_of_unequal_units_have_one_degree_of_freedom_at_least():
    rows = np.array([(1, 0, 0), (1, 0, 0), (8, 0, 0)], dtype=float)
    units, t = 10**2 / (1 + 1 + 8**2), math.tan(0.975 * math.pi - math.pi / 2)
    low, high = compute_system_mean_interval(F1, [rows, rows, rows])
    assert (low, high) == pytest.approx((units / (units + t**2), 1))


def test_perfect_runs_of_equal_units_have_the_interval_of_one_perfect_run():
    perfect = rows_of(*[10] * 8)
    [alone] = jackknife.intervals([(F1, perfect)])
    assert compute_system_mean_interval(F1, [perfect] * 3) == pytest.approx(alone)


def test_the_spread_of_seeds_widens_the_interval_of_equal_units():
    runs = [rows_of(*[hits] * 200) for hits in (4, 5, 6)]
    low, high = compute_system_mean_interval(F1, runs)
    assert low < 0.5 - 0.1 < 0.5 + 0.1 < high


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        ([ONE, ONE], NoIntervalReason.FEW_RUNS),
        ([rows_of(9, 8)] * 3, NoIntervalReason.FEW_UNITS),
        ([np.zeros((8, 3))] * 3, NoIntervalReason.FEW_UNITS),
    ],
)
def test_a_mean_without_enough_runs_or_units_has_no_interval(runs, reason):
    assert compute_system_mean_interval(F1, runs) == reason


class Unbounded(Mean):
    ends = (-math.inf, math.inf)


class Loss(Mean):
    ends = (0.0, math.inf)


class Share(Mean):
    ends = (0.0, 1.0)


def with_an_empty_unit(numbers: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each run, with one more unit that carries nothing."""
    return [np.vstack([mean_rows(run), [0.0, 0.0]]) for run in numbers]


def error_of_mean(numbers: np.ndarray) -> float:
    return float(numbers.std(ddof=1) / math.sqrt(len(numbers)))


def reach_and_df(*parts: tuple[float, int]) -> tuple[float, float]:
    """Return t times the root of the summed squares of errors, and Satterthwaite's degrees of freedom."""
    squares = sum(error**2 for error, _own in parts)
    df = squares**2 / sum(error**4 / own for error, own in parts)
    return float(stats.t.ppf(0.975, df)) * math.sqrt(squares), df


NUMBERS = 3 + np.random.default_rng(4).normal(size=(3, 6))


def test_the_interval_of_a_mean_has_the_errors_of_units_and_seeds():
    mean = NUMBERS.mean()
    of_units = error_of_mean(NUMBERS.mean(axis=0))
    of_seeds = error_of_mean(NUMBERS.mean(axis=1))
    reach, df = reach_and_df((of_units, 5), (of_seeds, 2))
    runs = with_an_empty_unit(NUMBERS)
    assert compute_system_mean_interval(Unbounded(), runs) == pytest.approx(
        (mean - reach, mean + reach)
    )
    left_out = (NUMBERS.mean(axis=0).sum() - NUMBERS.mean(axis=0)) / 5
    of_logs = error_of_mean(np.log(left_out)) * 5
    of_logs = math.hypot(of_logs, of_seeds / mean) * (1 + 1 / 12)
    far = mean * math.exp(float(stats.t.ppf(0.975, df)) * of_logs)
    assert compute_system_mean_interval(Loss(), runs) == pytest.approx(
        (mean - reach, far)
    )


def test_the_difference_of_means_has_the_errors_of_units_and_of_both_seeds():
    others = NUMBERS[:2] + [[0.3], [0.1]] + 0.2 * np.arange(6)
    paired = NUMBERS.mean(axis=0) - others.mean(axis=0)
    reach, df = reach_and_df(
        (error_of_mean(paired), 5),
        (error_of_mean(NUMBERS.mean(axis=1)), 2),
        (error_of_mean(others.mean(axis=1)), 1),
    )
    found = compare_system_means(
        Unbounded(), with_an_empty_unit(NUMBERS), with_an_empty_unit(others)
    )
    mean = paired.mean()
    error = reach / stats.t.ppf(0.975, df)
    assert (found.difference, found.error, found.df) == pytest.approx((mean, error, df))
    assert (found.low, found.high) == pytest.approx((mean - reach, mean + reach))
    assert found.p == pytest.approx(2 * stats.t.sf(abs(mean) / error, df))


def test_units_that_are_the_same_in_all_runs_widen_the_interval_of_a_difference():
    one = np.array([0.2, 0.5, 0.9, 0.4, 0.6, 0.7])
    other = one + np.array([0.0, 0.0, 0.0, 0.1, -0.3, 0.2])
    found = compare_system_means(Share(), [mean_rows(one)], [mean_rows(other)])
    share, error = (1 + found.difference) / 2, error_of_mean(one - other) / 2
    trials = 1 / (error**2 / (share * (1 - share)) + 0.5 / (4 * 6**2))
    t = float(stats.t.ppf(0.975, 5))
    middle = share + t**2 / (2 * trials)
    half = t * math.sqrt(share * (1 - share) / trials + t**2 / (4 * trials**2))
    ends = [2 * end / (1 + t**2 / trials) - 1 for end in (middle - half, middle + half)]
    assert (found.low, found.high) == pytest.approx(tuple(ends))


def test_the_difference_is_turned_round_with_its_interval():
    better = rows_of(9, 8, 6, 9, 4, 7, 9, 6)
    there = compare_system_means(F1, [better, better], [ONE])
    back = compare_system_means(F1, [ONE], [better, better])
    assert there.p == pytest.approx(back.p)
    assert (there.difference, there.low) == pytest.approx(
        (-back.difference, -back.high)
    )
    assert there.low < there.difference < there.high


def test_a_p_value_is_not_smaller_than_that_of_an_exact_test():
    best, worst = rows_of(*[10] * 5), rows_of(*[1] * 5)
    assert compare_system_means(F1, [best, best], [worst, worst]).p == 2 / 2**5


def test_systems_without_a_difference_have_p_1_and_few_units_none():
    assert compare_system_means(F1, [ONE, ONE], [ONE]).p == 1
    few = compare_system_means(F1, [rows_of(9, 8)] * 2, [rows_of(2, 3)])
    assert math.isnan(few.p)
    assert few.no_interval == NoIntervalReason.FEW_UNITS
