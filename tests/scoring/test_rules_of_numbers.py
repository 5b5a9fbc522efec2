"""Rules of measures, tests and ranks that no other number shows, each by a case that it alone decides."""

import math

import numpy as np
import pytest

from scoring.metrics.base import MAX_JACKKNIFE_GROUPS, build_unit_rows
from scoring.metrics.numbers import LevelKappa
from scoring.metrics.spans import OverlapAt, Units
from scoring.metrics.weighted import Auroc, EqualSizeCalibrationError, RankCorrelation
from scoring.stats import jackknife, significance
from scoring.stats.correlation import correlate_points
from scoring.stats.people_and_labels import compute_fleiss_kappa
from scoring.stats.significance import PairedRuns, compute_difference_interval
from tasks.types.forms.spans import SpansOfAnswer
from tasks.types.probabilities import LabelWithProbabilities
from tests.scoring.toys import Counts


def test_two_rows_differ_only_where_the_families_of_both_say_so():
    """Of two others, the first row needs p ≤ .025; the second row has told one of its two apart already."""
    p = np.array([[np.nan, 0.03, 0.9], [0.03, np.nan, 0.001], [0.9, 0.001, np.nan]])
    differs = significance.find_significant_differences(p)
    assert (differs[1, 0], differs[0, 1]) == (True, False)
    above = significance.find_significantly_better_rows(np.array([1.0, 2.0, 3.0]), p)
    assert above.tolist() == [
        [False, False, False],
        [False, False, True],
        [False, False, False],
    ]


def test_units_that_carry_nothing_do_not_count_as_the_same_in_both_runs():
    rows = np.array([[3.0, 1, 0], [2, 2, 0], [1, 4, 0], [4, 1, 0], [2, 3, 0]])
    other = rows.copy()
    other[:3, 0] += 1
    precision = Counts("precision", "micro")
    # They answer nothing, and have something to find in the gold.
    empty = np.repeat([[0.0, 0, 2]], 50, axis=0)
    expected = compute_difference_interval(PairedRuns(precision, rows, other))
    found = compute_difference_interval(
        PairedRuns(precision, np.vstack([rows, empty]), np.vstack([other, empty]))
    )
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", [Auroc, EqualSizeCalibrationError])
def test_answers_that_are_left_out_have_no_score_and_no_confidence(kind):
    given = {"label": "a"} if kind is Auroc else {}
    metric = kind("measure", "corrected", labels=("a", "b"), **given)
    answers = [
        LabelWithProbabilities("a", confidence=0.9),
        LabelWithProbabilities("a", confidence=0.8, is_left_out=True),
    ]
    assert metric.instance_stats(["a", "b"], answers)[:, -1].tolist() == [1, 0]


def test_of_more_than_400_units_as_many_groups_are_left_out():
    metric = RankCorrelation("spearman", "corrected")
    numbers = np.arange(450.0).tolist()
    rows = build_unit_rows(
        metric, metric.instance_stats(numbers, numbers), np.arange(450)
    )
    assert len(metric.left_out(rows)) == MAX_JACKKNIFE_GROUPS == 400
    assert len(metric.left_out(rows[:400])) == 400
    assert len(metric.left_out(rows[:30])) == 30


def test_the_largest_shares_of_spans_are_matched_first():
    """The first answer has more of the second gold span; taken in order it would take the first one."""
    metric = OverlapAt("iou_f1", "corrected", part="f1", threshold=0.3)
    gold = [(0, 10, "A"), (5, 15, "A")]
    assert metric.counted(gold, [(4, 14, "A"), (7, 17, "A")]) == (1.0, 2.0, 2.0)
    assert metric.counted(gold, [(4, 14, "A"), (0, 9, "A")]) == (2.0, 2.0, 2.0)


def test_numbers_halfway_between_levels_go_to_the_higher_one():
    kappa = LevelKappa("kappa_quadratic", "corrected", levels=[0.0, 1.0, 2.0])
    rows = [
        kappa.instance_stats([1.0], [answer]).tolist() for answer in (0.5, 1.0, 0.49)
    ]
    assert rows[0] == rows[1] != rows[2]


def test_items_with_one_rating_do_not_count_for_fleiss_kappa():
    rated = [[1, 1], [0, 0], [1, 0]]
    assert compute_fleiss_kappa([*rated, [1], [1], [1]]) == compute_fleiss_kappa(rated)


@pytest.mark.parametrize(
    ("name", "square"),
    [
        ("Pearson", lambda r, n: 1 / (n - 3)),
        ("Spearman", lambda r, n: (1 + r**2 / 2) / (n - 3)),
        ("Kendall", lambda r, n: 0.437 / (n - 4)),
    ],
)
def test_correlations_of_points_have_the_errors_of_bonett_and_wright(name, square):
    rng = np.random.default_rng(4)
    x = rng.normal(size=14)
    found = correlate_points(name, x, x + rng.normal(size=14))
    reach = (math.atanh(found.high) - math.atanh(found.low)) / 2
    expected = 1.959963984540054 * math.sqrt(square(found.value, 14))
    assert reach == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("extreme", "is_tried"), [(0, 1), (20, 1), (21, 0), (30, 0)])
def test_pairs_with_at_most_20_extreme_exchanges_are_tried_further(extreme, is_tried):
    p = (1 + extreme) / (1 + 10_000)
    assert significance.may_need_more_exchanges(p, 10_000, 20_000) is bool(is_tried)


@pytest.mark.parametrize(
    ("comparisons", "trials"), [(1, 10_000), (400, 10_000), (401, 20_000)]
)
def test_each_comparison_of_a_row_has_25_exchanges(comparisons, trials):
    assert significance.choose_number_of_exchanges(12, comparisons) == trials


def test_rows_of_one_unit_count_as_one_unit_of_a_weighted_measure():
    """Twice the same rows in each unit: the interval is that of the rows once."""
    metric = Auroc("auroc", "corrected", labels=("a", "b"), label="a")
    gold = ["a", "b"] * 15
    answers = [
        LabelWithProbabilities("a", confidence=0.5 + (place * 7 % 15) / 40)
        for place in range(30)
    ]
    stats, units = metric.instance_stats(gold, answers), np.arange(30)
    once = build_unit_rows(metric, stats, units)
    twice = build_unit_rows(
        metric, np.vstack([stats, stats]), np.concatenate([units] * 2)
    )
    [expected] = jackknife.intervals([(metric, once)])
    [found] = jackknife.intervals([(metric, twice)])
    assert expected is not None
    assert found == pytest.approx(expected, rel=1e-9)


def test_tokens_beside_a_span_are_not_in_the_span():
    """The span ends where the full stop begins, and begins where the bracket ends."""
    metric = Units("token_f1", "corrected", part="f1", unit="token")
    gold = SpansOfAnswer([(1, 4, "A")])
    gold.text = "(Yes)."
    assert metric.counted(gold, [(1, 4, "A")]) == (1.0, 1.0, 1.0)
    assert metric.counted(gold, [(0, 5, "A")]) == (1.0, 3.0, 1.0)
