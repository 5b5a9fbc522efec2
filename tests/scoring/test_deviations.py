"""Standard deviations and lengths are what NumPy says of the values, over the units that carry them."""

import numpy as np
import pytest

from scoring.metrics.aliice import AliiceDeviation
from scoring.metrics.answers import LengthDeviation
from scoring.metrics.ranking import Perplexity
from scoring.metrics.references import Length
from scoring.stats.jackknife import NoIntervalReason, compute_intervals_or_reasons
from tasks.types import task_type


@pytest.fixture
def options():
    return task_type("positional-citations").validate_options({})


@pytest.mark.parametrize("words", [[3, 3, 3], [1, 2], [5], [2, 9, 4, 4, 30]])
def test_the_deviation_of_lengths_is_that_of_all_responses(words):
    metric = LengthDeviation("length_deviation", "corrected", column="words")
    rows = np.array([[own, own**2, 1] for own in words], dtype=float)
    # What counts for nothing has no part in it.
    sums = np.vstack([rows, np.zeros((2, 3))]).sum(axis=0)
    assert metric.aggregate(sums) == pytest.approx(np.std(words), abs=1e-12)
    assert np.isnan(metric.aggregate(np.zeros(3)))


def test_the_deviation_of_responses_is_carried_by_those_that_count(options):
    metric = AliiceDeviation(
        "aliice_deviation", "corrected", options=options, part="recall"
    )
    values = np.array([0.0, 0.5, 1.0, 1.0, 0.25])
    carrying = np.column_stack([values, values**2, np.ones(5), np.zeros(5)])
    rows = np.vstack([carrying, np.zeros((30, 4))])
    assert metric.denominators(rows).tolist() == [1] * 5 + [0] * 30
    assert metric.aggregate(rows.sum(axis=0)) == pytest.approx(
        metric.scale * np.std(values)
    )
    with_others, alone = compute_intervals_or_reasons(
        [(metric, rows), (metric, carrying)]
    )
    assert with_others == pytest.approx(alone)
    assert compute_intervals_or_reasons([(metric, rows[3:])]) == [
        NoIntervalReason.FEW_UNITS
    ]
    assert np.isnan(metric.aggregate(np.zeros(4)))


def test_a_text_without_gold_has_no_part_in_the_mean_length():
    metric = Length("length", "corrected", column="words")
    rows = metric.instance_stats(["x", None, "y", "z"], ["one two", "three", None, ""])
    assert rows.tolist() == [[2, 1], [0, 0], [0, 1], [0, 1]]
    assert metric.aggregate(rows.sum(axis=0)) == pytest.approx(2 / 3)


def test_a_perplexity_that_no_run_has_gives_no_interval_and_no_warning():
    logs = [-0.5, -0.1, -0.2, -0.4, -0.9]
    rows = np.column_stack([logs, np.zeros(5), np.ones(5)])
    [found] = compute_intervals_or_reasons(
        [(Perplexity("perplexity", "citeboard"), rows)]
    )
    assert isinstance(found, NoIntervalReason)
