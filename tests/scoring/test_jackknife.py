"""Intervals without draws: held to formulas, to other programs, and to how often they hold the true value."""

import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from scoring.metrics.classification import ClassAverage, Kappa
from scoring.metrics.numbers import Determination
from scoring.stats import jackknife
from scoring.stats.jackknife import compute_t_quantile
from scoring.stats.resampling import NonFiniteStatistics
from scoring.stats.significance import PairedRuns, compute_difference_interval
from tests.lazily import Lazily
from tests.scoring.toys import Counts, Divergence, Mean, mean_rows

stats = Lazily("scipy.stats")

ROOT = Path(__file__).resolve().parents[2]


class Length(Mean):
    value_range = (0.0, math.inf)


class Unbounded(Mean):
    value_range = (-math.inf, math.inf)


def interval(metric, rows) -> tuple[float, float] | None:
    return jackknife.intervals([(metric, np.asarray(rows, dtype=float))])[0]


def wilson(successes: float, trials: float, t: float) -> tuple[float, float]:
    """As the textbook has it."""
    share = successes / trials
    middle = (share + t**2 / (2 * trials)) / (1 + t**2 / trials)
    half = (
        t
        / (1 + t**2 / trials)
        * math.sqrt(share * (1 - share) / trials + t**2 / (4 * trials**2))
    )
    return middle - half, middle + half


def by_hand(metric, rows) -> float:
    """The jackknife's error by leaving the rows out one by one."""
    rows = np.asarray(rows, dtype=float)
    left_out = [
        metric.aggregate(np.delete(rows, place, axis=0).sum(axis=0))
        for place in range(len(rows))
    ]
    return math.sqrt(
        (len(rows) - 1) / len(rows) * sum((np.array(left_out) - np.mean(left_out)) ** 2)
    )


@pytest.mark.parametrize("df", [1, 2, 3, 4, 9, 17, 99, 299, 300, 13_999])
@pytest.mark.parametrize("share", [0.6, 0.8, 0.975, 0.9999, 0.025])
def test_quantiles_of_students_t_are_those_of_scipy(share, df):
    assert compute_t_quantile(share, df) == pytest.approx(
        stats.t.ppf(share, df), rel=1e-9
    )


def test_there_is_no_quantile_of_everything_or_of_no_unit():
    for share, df in ((1.0, 3), (0.0, 3), (0.5, 0)):
        with pytest.raises(ValueError, match="there is no quantile"):
            compute_t_quantile(share, df)


@pytest.mark.parametrize(
    "metric", [Counts("f1", "micro"), Counts("recall", "micro"), Counts("f1", "macro")]
)
def test_the_error_is_that_of_leaving_out_one_unit_after_the_other(metric):
    rows = np.random.default_rng(3).integers(1, 9, (7, 3)).astype(float)
    rows = metric.unit_stats(rows) if metric.per_unit else rows
    left_out = metric.aggregate(rows.sum(axis=0) - rows)
    assert jackknife.compute_jackknife_error(left_out) == pytest.approx(
        by_hand(metric, rows), rel=1e-10
    )


def test_of_a_mean_the_error_is_the_standard_error():
    values = np.random.default_rng(5).random(12)
    left_out = Mean().aggregate(mean_rows(values).sum(axis=0) - mean_rows(values))
    assert jackknife.compute_jackknife_error(left_out) == pytest.approx(
        stats.sem(values), rel=1e-10
    )


def test_errors_of_many_values_at_once_are_those_of_each():
    left_out = np.random.default_rng(6).random((3, 8))
    alone = [float(jackknife.compute_jackknife_error(values)) for values in left_out]
    assert jackknife.compute_jackknife_error(left_out) == pytest.approx(
        alone, rel=1e-12
    )


def test_a_share_has_a_wilson_interval_of_the_trials_that_its_error_stands_for():
    values = [1.0] * 3 + [0.0] * 9
    per_trial = 1 / 11 + 1 / (1.5 * 12**2)
    expected = wilson(0.25 / per_trial, 1 / per_trial, stats.t.ppf(0.975, 11))
    assert interval(Mean(), mean_rows(values)) == pytest.approx(expected, rel=1e-10)


def test_percentages_have_the_interval_of_shares():
    rows = np.random.default_rng(1).random((9, 1))
    percent = Mean()
    percent.scale = 100
    low, high = interval(Mean(), mean_rows(rows[:, 0]))
    assert interval(percent, mean_rows(rows[:, 0])) == pytest.approx(
        (100 * low, 100 * high), rel=1e-12
    )


@pytest.mark.parametrize("value", [0.0, 0.25, 1.0])
def test_units_that_are_all_alike_have_the_wilson_bounds_of_their_number(value):
    found = interval(Mean(), mean_rows([value] * 6))
    assert found == pytest.approx(
        wilson(6 * value, 6, stats.t.ppf(0.975, 5)), abs=1e-12
    )
    assert found[1] - found[0] > 0.3


def test_rounding_puts_no_end_of_a_share_beyond_1():
    units = np.arange(3, 100)
    errors = np.zeros(len(units))
    _, high = jackknife.compute_score_bounds(
        np.ones(len(units)), errors, units, (0.0, 1.0)
    )
    assert high.max() == 1


def test_units_that_are_nearly_alike_do_not_stand_for_endless_trials():
    low, high = interval(Mean(), mean_rows([0.5, 0.5000001, 0.4999999]))
    assert (low, high) == pytest.approx(
        wilson(6.75, 13.5, stats.t.ppf(0.975, 2)), abs=1e-6
    )


@pytest.mark.parametrize("units", [0, 1, 2])
def test_fewer_than_three_units_have_no_interval(units):
    assert interval(Mean(), mean_rows([0.1, 0.9][:units])) is None


def test_a_measure_that_may_be_negative_is_mapped_to_its_range():
    kappa = Kappa("kappa", "corrected", labels="ab")
    gold, answers = list("aabbabababbaabab"), list("ababababaabaabbb")
    rows = kappa.instance_stats(gold, answers)
    value, error = kappa.aggregate(rows.sum(axis=0)), by_hand(kappa, rows)
    share, own = (value + 1) / 2, error / 2
    trials = 1 / (own**2 / (share * (1 - share)) + 1 / (1.5 * 16**2))
    low, high = wilson(share * trials, trials, stats.t.ppf(0.975, 15))
    assert interval(kappa, rows) == pytest.approx((2 * low - 1, 2 * high - 1), rel=1e-9)
    assert -1 <= interval(kappa, rows)[0] < value < interval(kappa, rows)[1] <= 1


def test_what_has_no_ends_has_t_errors_to_either_side():
    values = np.random.default_rng(2).normal(0.0, 3.0, 9)
    expected = stats.t.interval(0.95, 8, loc=values.mean(), scale=stats.sem(values))
    assert interval(Unbounded(), mean_rows(values)) == pytest.approx(expected, rel=1e-9)


def test_a_length_never_reaches_below_0_and_reaches_further_up():
    low, high = interval(Length(), mean_rows([3.0, 40.0, 55.0, 200.0]))
    assert 0 <= low < 74.5 < high
    assert high - 74.5 > 74.5 - low
    far = mean_rows(1_000_000 + np.random.default_rng(0).normal(0, 1, 50))
    t, error = stats.t.ppf(0.975, 49), stats.sem(far[:, 0])
    expected = far[:, 0].mean() + t * error * np.array([-1, 1.01])
    assert interval(Length(), far) == pytest.approx(tuple(expected), rel=1e-9)


@pytest.mark.parametrize(
    ("end", "sign"), [(0.0, 1), (2.0, 1), (1.0, -1)], ids=["from 0", "from 2", "to 1"]
)
def test_towards_its_one_end_an_interval_has_t_errors_and_away_from_it_those_of_the_log(
    end, sign
):
    distances = np.array([0.9, 1.5, 1.1, 1.3])
    left_out = end + sign * distances
    value_range = (end, math.inf) if sign > 0 else (-math.inf, end)
    ends = jackknife.compute_one_ended_bounds(
        end + sign * 1.2, left_out, 4, value_range
    )
    t, scale = stats.t.ppf(0.975, 3), math.sqrt(3 / 4)
    error, of_logs = (
        scale * math.sqrt(((own - own.mean()) ** 2).sum())
        for own in (distances, np.log(distances))
    )
    expected = [1.2 - t * error, 1.2 * math.exp(t * of_logs * (1 + 1 / 8))]
    found = sorted(sign * (float(own) - end) for own in ends)
    assert found == pytest.approx([max(0.0, expected[0]), expected[1]])
    assert ends[0] < ends[1]


def test_an_interval_never_reaches_beyond_the_one_end_of_its_measure():
    r2 = Determination("r2", "corrected")
    gold, answers = [1.0, 2, 3, 4, 5, 2], [1.2, 2.5, 2.7, 3.1, 4.9, 2.9]
    low, high = interval(r2, r2.instance_stats(gold, answers))
    assert low < 0.814 < high <= 1.0
    assert interval(r2, r2.instance_stats(gold, gold)) is None
    with pytest.raises(ValueError, match="expected two ends or none"):
        jackknife.compute_score_bounds(0.5, np.asarray(0.1), 9, (0.0, math.inf))


def test_an_error_of_a_single_unit_has_no_interval():
    """Without that unit the error is at its end, of which there is no logarithm."""
    [found] = jackknife.compute_intervals_or_reasons(
        [(Length(), mean_rows([0, 0, 0, 7.0]))]
    )
    assert found == "few-units"


@pytest.mark.parametrize("metric", [Length(), Unbounded()])
def test_without_ends_units_that_are_all_alike_say_nothing_of_the_error(metric):
    assert interval(metric, mean_rows([7.0] * 5)) is None


def test_a_value_outside_of_the_range_that_its_metric_names_has_t_errors():
    values = [1.5, 2.5, 2.0]
    assert interval(Mean(), mean_rows(values)) == pytest.approx(
        stats.t.interval(0.95, 2, loc=2.0, scale=stats.sem(values))
    )


def test_an_infinite_or_undefined_value_has_no_interval_and_neither_has_one_that_rests_on_a_single_unit():
    assert interval(Divergence(), [[1, 0, 0], [1, 1, 0], [0, 1, 0]]) is None
    assert interval(Mean(), np.zeros((4, 2))) is None
    assert interval(Mean(), [[0.5, 1], [0, 0], [0, 0]]) is None


def test_a_number_that_is_none_is_named():
    with pytest.raises(NonFiniteStatistics, match="column 0 of row 1"):
        interval(Mean(), mean_rows([0.1, math.nan, 0.2]))


def test_a_mean_over_classes_needs_each_class_in_five_units():
    macro, micro = (
        ClassAverage(
            f"{average}_f1", "corrected", part="f1", average=average, labels="ab"
        )
        for average in ("macro", "micro")
    )
    gold = ["a"] * 10 + ["b"] * 4
    rows = macro.instance_stats(gold, gold)
    assert interval(macro, rows) is None
    assert interval(micro, rows) is not None
    enough = macro.instance_stats([*gold, "b"], [*gold, "b"])
    assert interval(macro, enough) is not None


def test_metrics_measured_together_have_the_intervals_they_have_alone():
    rng = np.random.default_rng(9)
    metrics, rows = (
        [Counts("f1", "micro"), Counts("recall", "micro")],
        rng.integers(0, 5, (8, 3)).astype(float),
    )
    other = mean_rows(rng.random(5))
    together = jackknife.intervals(
        [*((metric, rows) for metric in metrics), (Mean(), other)]
    )
    assert together == [
        *(interval(metric, rows) for metric in metrics),
        interval(Mean(), other),
    ]


def test_runs_that_are_the_same_in_every_unit_have_no_interval():
    low, high = jackknife.compute_difference_bounds(
        0.0, np.asarray(0.0), 20, (0.0, 100.0), same=1.0
    )
    assert np.isnan(low)
    assert np.isnan(high)


def test_a_word_of_difference_in_one_unit_is_as_wide_as_nothing_but_a_hair_of_it():
    """Continuous: the fewer units differ and the less, the nearer the width is to one that all but equal
    runs have, which is that of four times the square of the units as trials.
    """
    t, widths = stats.t.ppf(0.975, 19), []
    for tiny in (1e-1, 1e-3, 1e-6, 1e-9):
        a, b = np.full(20, 0.4), np.full(20, 0.4)
        b[3] += tiny
        low, high = compute_difference_interval(
            PairedRuns(Mean(), mean_rows(a), mean_rows(b))
        )
        assert low < 0 < high
        widths.append(high - low)
    low, high = wilson(0.5 * 4 * 20**2 / 0.95, 4 * 20**2 / 0.95, t)
    assert widths[1:] == pytest.approx([2 * (high - low)] * 3, rel=1e-3)
    assert widths == sorted(widths, reverse=True)


def test_a_difference_has_the_wilson_interval_of_the_trials_that_its_error_stands_for():
    found = jackknife.compute_difference_bounds(10.0, np.asarray(5.0), 20, (0.0, 100.0))
    # On a scale from 0 to 1 the difference is 0.55 and its error 0.025.
    trials = 0.55 * 0.45 / 0.025**2
    low, high = wilson(0.55 * trials, trials, stats.t.ppf(0.975, 19))
    assert found == pytest.approx((100 * (2 * low - 1), 100 * (2 * high - 1)), rel=1e-9)


def test_a_difference_lies_between_minus_and_plus_the_range():
    low, high = jackknife.compute_difference_bounds(
        0.9, np.asarray(0.08), 4, (0.0, 1.0)
    )
    assert -1 <= low < 0.9 < high <= 1
    low, high = jackknife.compute_difference_bounds(
        90.0, np.asarray(80.0), 4, (0.0, math.inf)
    )
    assert (low + high) / 2 == pytest.approx(90.0)


def coverage():
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import interval_coverage
    finally:
        sys.path.pop(0)
    return interval_coverage


def test_the_intervals_hold_the_true_value_as_often_as_they_say_at_the_sizes_of_the_field():
    """Four topics, where percentile intervals hold it in four of five test sets; the page has all of it."""
    simulation = coverage()
    rng = np.random.default_rng(4)
    family = next(
        own for own in simulation.families() if own.name == "micro F1, unit topic"
    )
    rows = family.rows(rng, (800, 4))
    truth = family.truth(rng)
    ours = simulation.cell(truth, *family.bounds(rows))
    theirs = simulation.cell(truth, *family.percentiles(rng, rows[:200]))
    assert ours.held >= 93 - ours.error
    assert theirs.held <= 88


def test_the_page_holds_what_the_command_writes():
    page = (ROOT / "docs" / "uncertainty.md").read_text()
    simulation = coverage()
    _, _, rest = page.partition(simulation.BEGIN)
    tables, _, _ = rest.partition(simulation.END)
    for family in simulation.families():
        [row] = re.findall(
            rf"^\| {re.escape(family.shape)} \| {re.escape(family.name)} \|(.*)$",
            tables,
            re.MULTILINE,
        )
        assert row.count("|") == len(
            simulation.SIZES_ON_PAGE + simulation.PERCENTILE_SIZES
        ), row


def spans(right: int, wrong: int, topics: int) -> np.ndarray:
    """Rows of true and false positives and missed ones: the first topics answer, the others do not."""
    rows = np.zeros((topics, 3))
    rows[:right, 0], rows[right : right + wrong, 1] = 1, 1
    return rows


def test_units_that_carry_nothing_are_no_units_of_a_number():
    """Two right spans in a thousand topics say next to nothing of precision; they used to read [.996, 1]."""
    precision = Counts("precision", "micro")
    assert interval(precision, spans(2, 0, 1000)) is None
    assert interval(precision, spans(3, 2, 1000)) == interval(precision, spans(3, 2, 5))
    low, high = interval(precision, spans(5, 0, 1000))
    assert (low, high) == pytest.approx(wilson(5, 5, stats.t.ppf(0.975, 4)))
    assert high - low > 0.5


@pytest.mark.parametrize("part", ["precision", "recall", "f1"])
def test_each_part_is_carried_by_its_own_denominator(part):
    rows = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 3], [0, 0, 0]])
    wanted = {"precision": [1, 2, 0, 0], "recall": [1, 0, 3, 0], "f1": [2, 2, 3, 0]}[
        part
    ]
    assert Counts(part, "micro").denominators(rows).tolist() == wanted


def test_units_of_unequal_weight_have_the_degrees_of_freedom_of_kishs_number():
    weights = np.array([1.0, 1, 1, 5])
    assert jackknife.compute_kish_number(weights) == pytest.approx(64 / 28)
    assert jackknife.compute_kish_number(np.ones(7)) == 7
    low, high = jackknife.compute_score_bounds(
        0.5, np.asarray(0.1), 64 / 28, jackknife.UNBOUNDED_RANGE
    )
    assert (high - low) / 2 == pytest.approx(0.1 * stats.t.ppf(0.975, 64 / 28 - 1))


def test_there_is_always_a_reason_where_there_is_no_interval():
    kappa = Kappa("kappa", "corrected", labels="ab")
    gold, rows = ["a"] * 30 + ["b"] * 4, mean_rows([0.5] * 4)
    for metric, own, reason in (
        (Mean(), rows[:2], "few-units"),
        (kappa, kappa.instance_stats(gold, gold), "few-of-a-class"),
        (Divergence(), np.array([[1.0, 0, 0], [1, 1, 0], [0, 1, 0]]), "undefined"),
        # Finite, but infinite without the only unit that has the third class.
        (
            Divergence(),
            np.array([[1.0, 0, 2], [1, 1, 0], [2, 1, 0], [1, 2, 0]]),
            "undefined",
        ),
        (Length(), rows, "all-equal"),
    ):
        [found] = jackknife.compute_intervals_or_reasons([(metric, own)])
        assert found == reason


@pytest.mark.parametrize(
    "name",
    [
        "mean of beta(.2, 3)",
        "micro F1, size goes with ease",
        "precision .05, 5 topics answered",
        "perplexity, surprisal exponential",
    ],
)
def test_the_intervals_hold_in_populations_that_are_hard(name):
    simulation = coverage()
    rng = np.random.default_rng(11)
    family = next(own for own in simulation.families() if own.name == name)
    truth = float(np.mean([family.truth(rng)]))
    for size in (5, 30):
        found = simulation.cell(truth, *family.bounds(family.rows(rng, (600, size))))
        assert found.held >= simulation.AIM - found.error
        assert found.given == 1
