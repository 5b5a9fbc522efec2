"""What scores can tell of secret gold, by definition; the steps of the Ladder."""

import math

import numpy as np
import pytest

from scoring.metrics.weighted import RankCorrelation
from scoring.stats.leakage import (
    compute_bits_by_ranks,
    compute_ladder_step,
    compute_max_bits_by_ladder,
    compute_max_bits_by_scores,
    compute_rank_publications_per_year,
    correlate_row_values,
    count_differing_rows,
    round_score_by_ladder,
)
from tests.scoring.toys import Mean, mean_rows


@pytest.mark.parametrize(
    ("values", "step"),
    [
        # Standard errors of .0577, .115 and .231; of equal units 1 / (2 sqrt(n)) = .289 and .25.
        ([0.4, 0.5, 0.6], 0.1),
        ([0.3, 0.5, 0.7], 0.2),
        ([0.1, 0.5, 0.9], 0.5),
        ([0.5] * 3, 0.5),
        ([0.5] * 4, 0.5),
        # Exactly 1, 2 and 5 hundredths, and a hair more than one.
        (np.array([-1, 0, 1]) * 0.01 * 3**0.5 + 0.5, 0.01),
        (np.array([-1, 0, 1]) * 0.02 * 3**0.5 + 0.5, 0.02),
        (np.array([-1, 0, 1]) * 0.05 * 3**0.5 + 0.5, 0.05),
        (np.array([-1, 0, 1]) * 0.0101 * 3**0.5 + 0.5, 0.02),
        (np.array([-1, 0, 1]) * 0.06 * 3**0.5 + 0.5, 0.1),
    ],
)
def test_a_step_is_the_standard_error_rounded_up_to_1_2_or_5(values, step):
    assert compute_ladder_step(Mean(), mean_rows(values)) == pytest.approx(
        step, rel=1e-9
    )


def test_two_units_have_no_step():
    assert math.isnan(compute_ladder_step(Mean(), mean_rows([0.1, 0.9])))


@pytest.mark.parametrize(
    ("value", "step", "best", "sign", "told"),
    [
        (0.5234, 0.02, None, 1, 0.52),
        (0.5234, 0.02, 0.48, 1, 0.52),
        (0.5, 0.125, 0.375, 1, None),
        (0.5, 0.125, 0.374, 1, 0.5),
        (0.5, 0.1, 0.45, 1, None),
        (0.3, 0.1, -0.5, -1, 0.3),
        (0.3, 0.1, -0.35, -1, None),
        (37.0, 5.0, None, 1, 35.0),
        (None, 0.1, None, 1, None),
        (0.5, math.nan, None, 1, None),
    ],
)
def test_a_number_is_told_on_the_grid_where_it_is_a_step_better(
    value, step, best, sign, told
):
    assert round_score_by_ladder(value, step, best, sign) == told


def test_bits_are_counted_by_what_could_have_been_told():
    assert compute_max_bits_by_scores(3, [1, 3]) == 3 * (1 + 2)
    assert compute_max_bits_by_scores(2, []) == 0
    # 100 instances have at most 40 steps; 1,000 tries place each in log2(1000) bits.
    assert compute_max_bits_by_ladder(1000, 100) == pytest.approx(
        40 * (math.log2(1000) + math.log2(40))
    )
    assert compute_max_bits_by_ladder(5, 100) == pytest.approx(
        5 * (math.log2(5) + math.log2(40))
    )
    assert compute_max_bits_by_ladder(1, 100) == pytest.approx(1 + math.log2(40))
    assert compute_max_bits_by_ladder(3, 0) == 0
    assert compute_bits_by_ranks(12, 8) == 36
    assert compute_bits_by_ranks(3, 1) == 3


@pytest.mark.parametrize(
    ("instances", "runs", "times"),
    [(63, 1, 0), (64, 1, 1), (127, 1, 1), (128, 1, 2), (384, 1, 6), (320, 1, 4), (768, 1, 12), (9999, 1, 12),
     (768, 2, 6), (128, 3, 0)],
)  # fmt: skip
def test_a_private_part_ranks_as_often_a_year_as_its_size_allows(
    instances, runs, times
):
    assert compute_rank_publications_per_year(instances, runs) == times


@pytest.mark.parametrize("columns", [0, 2])
def test_runs_of_a_weighted_measure_differ_in_the_rows_that_do(columns):
    """Columns that one run lacks are 0."""
    metric = RankCorrelation("spearman", "corrected")
    gold = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    one, other = (
        metric.instance_stats(gold, [1.0, 2.0, 3.0, 4.0, *last])
        for last in ([5.0, 6.0], [6.0, 5.0])
    )
    wider = np.pad(other, ((0, 0), (0, columns)))
    assert count_differing_rows(metric, one, wider) == 2
    assert count_differing_rows(metric, wider, one) == 2


def test_runs_of_a_weighted_measure_are_correlated_if_it_has_intervals(monkeypatch):
    metric = RankCorrelation("spearman", "corrected")
    gold = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    one, other = (
        metric.instance_stats(gold, answers)
        for answers in ([1.0, 3.0, 2.0, 4.0, 6.0, 5.0], [2.0, 1.0, 3.0, 6.0, 4.0, 5.0])
    )
    assert correlate_row_values(metric, one, one) == pytest.approx(1)
    assert -1 < correlate_row_values(metric, one, other) < 1
    monkeypatch.setattr(metric, "has_interval", False)
    assert math.isnan(correlate_row_values(metric, one, other))
