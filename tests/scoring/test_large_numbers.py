"""Numbers far from 0 and from each other: values of exact fractions, comparisons that keep their digits."""

import math
from fractions import Fraction

import numpy as np
import pytest

from scoring.metrics.numbers import (
    AbsoluteError,
    Concordance,
    Determination,
    Moments,
    Pearson,
    SquaredError,
)
from scoring.offline.compare import compare_runs
from scoring.offline.evaluate import RunMeasurements
from scoring.stats.significance import PairedRuns, run_randomisation_tests
from tests.mass import mass

KINDS = {
    "pearson": Pearson,
    "concordance": Concordance,
    "r2": Determination,
    "mae": AbsoluteError,
    "rmse": SquaredError,
}
METRICS = {name: kind(name, "corrected") for name, kind in KINDS.items()}


def exact(gold, answers) -> dict[str, float]:
    """By definition, in fractions but for the roots."""
    x, y = ([Fraction(value) for value in side] for side in (gold, answers))
    count = len(x)
    of_x, of_y = (
        [value - sum(side, Fraction(0)) / count for value in side] for side in (x, y)
    )
    xx, yy, xy = (
        sum((a * b for a, b in zip(one, other, strict=True)), Fraction(0)) / count
        for one, other in ((of_x, of_x), (of_y, of_y), (of_x, of_y))
    )
    distances = [a - b for a, b in zip(x, y, strict=True)]
    square = sum((own**2 for own in distances), Fraction(0)) / count
    mean = sum(distances, Fraction(0)) / count
    return {
        "pearson": float(xy) / math.sqrt(float(xx) * float(yy)),
        "concordance": float(2 * xy / (xx + yy + mean**2)),
        "r2": float(1 - square / xx),
        "mae": float(sum(map(abs, distances), Fraction(0)) / count),
        "rmse": math.sqrt(float(square)),
    }


def drawn(rng, count, offset, far):
    """Gold around the offset, answers so many spreads of theirs away from it."""
    gold = offset + rng.normal(size=count)
    spread = 10 ** rng.uniform(-1, 1)
    noise = spread * rng.normal(size=count)
    return gold.tolist(), (gold + far * math.hypot(1, spread) + noise).tolist()


def measurements(metrics, gold, answers) -> RunMeasurements:
    rows = {own.statistic: own.instance_stats(gold, answers) for own in metrics}
    names = [f"i{place:04d}" for place in range(len(gold))]
    return RunMeasurements(matrices=rows, units=np.arange(len(gold)), unit_names=names)


@pytest.mark.mass
def test_numbers_far_from_0_have_the_values_of_exact_fractions():
    rng = np.random.default_rng(6)
    for case in range(mass(40, 500)):
        offset = float(rng.choice([-1, 1]) * 10 ** rng.uniform(-2, 8))
        far = 0.0 if case % 3 == 0 else float(10 ** rng.uniform(0, 3)) * (-1) ** case
        gold, answers = drawn(rng, int(rng.integers(3, 80)), offset, far)
        for name, expected in exact(gold, answers).items():
            metric = METRICS[name]
            found = metric.total(metric.instance_stats(gold, answers))
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-9), (offset, far)


@pytest.mark.parametrize("far", [0.0, 700.0])
def test_comparisons_of_numbers_far_from_0_rest_on_values_of_exact_fractions(far):
    rng = np.random.default_rng(7)
    gold, first = drawn(rng, 40, 1e8, far)
    second = (np.array(gold) + rng.normal(size=40)).tolist()
    runs = [measurements([METRICS["pearson"]], gold, own) for own in (first, second)]
    found = compare_runs(list(METRICS.values()), *runs, trials=200, seed=0)
    for name, told in found.items():
        for side, answers in (("a", first), ("b", second)):
            expected = exact(gold, answers)[name]
            assert told[side] == pytest.approx(expected, rel=1e-9, abs=1e-9), name
        assert told["p"] is not None


def test_answers_beyond_a_thousand_spreads_are_not_compared_by_correlation_for_a_reason():
    gold = np.arange(12.0)
    far, near = (gold + 1e5 * 3.6).tolist(), gold[::-1].tolist()
    pearson, rmse = METRICS["pearson"], METRICS["rmse"]
    runs = [measurements([pearson], gold.tolist(), own) for own in (far, near)]
    found = compare_runs([pearson, rmse], *runs, trials=200, seed=0)
    assert found["pearson"]["a"] == pytest.approx(1.0, abs=1e-9)
    told = {name: found["pearson"][name] for name in ("p", "low", "no_interval")}
    assert told == {"p": None, "low": None, "no_interval": "too-far"}
    assert found["rmse"]["p"] < 0.01


@pytest.mark.parametrize("name", METRICS)
def test_what_rounding_leaves_of_sums_over_no_instance_has_no_value(name):
    assert math.isnan(METRICS[name].aggregate(np.array([1e-17] * 10 + [0.0])))


def test_a_change_of_one_answer_is_a_difference_of_one_row():
    """Although it moves the median of the answers, from which rows are centred."""
    gold = np.arange(9.0).tolist()
    rows = [
        METRICS["pearson"].instance_stats(gold, answers)
        for answers in (gold, [*gold[:4], 40.0, *gold[5:]])
    ]
    pair = PairedRuns(METRICS["pearson"], *rows)
    assert np.flatnonzero((pair.a != pair.b).any(axis=1)).tolist() == [4]
    [test] = run_randomisation_tests([pair], trials=9, seed=0)
    assert test.trials == 2


@pytest.mark.parametrize(("further", "is_compared"), [(0, True), (1, False)])
def test_answers_a_thousand_deviations_from_the_gold_are_compared_and_no_further_ones(
    further, is_compared
):
    """Mean and variance of the answers are 999,999: their mean square is a million variances."""
    away = [1999, 63, 5, 1, -1, -5, -63, -1999]
    answers = [999_999 + further + own for own in away]
    rows = METRICS["pearson"].instance_stats([0] * len(away), answers)
    assert METRICS["pearson"].can_be_compared(rows) is is_compared


def old_rows(gold, answers) -> np.ndarray:
    x, y = np.array(gold), np.array(answers)
    columns = [x, y, x * x, y * y, x * y, np.abs(x - y), np.ones(len(x))]
    return np.column_stack(columns)


def test_rows_of_version_1_have_their_values_and_are_never_beside_rows_of_today():
    rng = np.random.default_rng(8)
    gold, answers = drawn(rng, 30, 5.0, 2.0)
    old, new = {"moments": old_rows(gold, answers)}, {Moments.statistic: []}
    for name, expected in exact(gold, answers).items():
        metric = METRICS[name].as_stored(old)
        assert (metric.statistic, metric.version) == ("moments", 1)
        found = metric.aggregate(old[metric.statistic].sum(axis=0))
        assert found == pytest.approx(expected, abs=1e-6)
        assert METRICS[name].as_stored(new, new) is METRICS[name]
        assert METRICS[name].as_stored(old, new) is None
        assert METRICS[name].version == 2
