"""Agreement of a judge with people, from counts of labels by topic."""

import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from scoring.stats.confusion import ConfusionMatrices, sum_confusion_matrices
from scoring.stats.jackknife import NoIntervalReason, compute_jackknife_interval

YES_NO = ("yes", "no")


def confusion(*topics: list[list[int]], labels=YES_NO) -> ConfusionMatrices:
    return ConfusionMatrices(
        labels=labels,
        by_topic={number: np.array(counts) for number, counts in enumerate(topics)},
    )


def test_numbers_follow_from_the_counts():
    found = confusion([[10, 2], [1, 20]], [[8, 4], [5, 10]])
    assert found.counts.tolist() == [[18, 6], [6, 30]]
    assert (found.judgements, found.same) == (60, 48)
    # Observed agreement .8, chance agreement (24 · 24 + 36 · 36) / 60² = .52.
    assert found.kappa == pytest.approx((0.8 - 0.52) / (1 - 0.52))
    assert (found.by_people("yes"), found.by_people("no")) == (24, 36)
    assert found.sensitivity("yes") == found.specificity("no") == 18 / 24
    assert found.specificity("yes") == found.sensitivity("no") == 30 / 36


def test_three_labels_have_sensitivity_and_specificity_each():
    found = confusion(
        [[6, 2, 0], [1, 3, 1], [0, 2, 5]], labels=("full", "partial", "none")
    )
    assert found.sensitivity("partial") == 3 / 5
    assert found.specificity("partial") == (6 + 0 + 0 + 5) / 15
    assert found.specificity("full") == (3 + 1 + 2 + 5) / 12
    # Observed 14 / 20; chance (8 · 7 + 5 · 7 + 7 · 6) / 20².
    assert found.kappa == pytest.approx((0.7 - 133 / 400) / (1 - 133 / 400))


def listed(counts: np.ndarray) -> tuple[list[int], list[int]]:
    """Return people's and the judge's labels with these counts."""
    cells = [cell for cell in np.ndindex(counts.shape) for _ in range(counts[cell])]
    return [row for row, _column in cells], [column for _row, column in cells]


def test_the_interval_of_kappa_leaves_out_one_topic_at_a_time():
    rng = np.random.default_rng(52)
    found = confusion(*(rng.integers(1, 9, (2, 2)) for _topic in range(8)))
    without = [
        cohen_kappa_score(*listed(found.counts - counts))
        for counts in found.by_topic.values()
    ]
    value = cohen_kappa_score(*listed(found.counts))
    assert found.kappa == pytest.approx(value)
    low, high = found.kappa_interval
    assert (low, high) == pytest.approx(
        compute_jackknife_interval(value, without, (-1.0, 1.0))
    )
    assert low < value < high


@pytest.mark.parametrize(
    ("topics", "reason"),
    [
        ([[[4, 1], [1, 4]]] * 2, NoIntervalReason.FEW_UNITS),
        # People and judge agree on “yes” in four topics.
        (
            [[[1, 0], [0, 2]]] * 4 + [[[0, 1], [1, 2]]] * 4,
            NoIntervalReason.FEW_OF_A_CLASS,
        ),
    ],
)
def test_too_few_topics_give_the_reason_in_place_of_an_interval(topics, reason):
    found = confusion(*topics)
    assert math.isfinite(found.kappa)
    assert found.kappa_interval == reason


def test_one_label_alone_has_no_kappa_and_no_specificity():
    found = confusion([[3, 0], [0, 0]], [[4, 0], [0, 0]])
    assert math.isnan(found.kappa)
    assert (found.sensitivity("yes"), found.specificity("yes")) == (1, None)
    assert (found.sensitivity("no"), found.specificity("no")) == (None, 1)


def test_no_judgements_have_no_numbers():
    found = confusion()
    assert (found.judgements, found.same) == (0, 0)
    assert math.isnan(found.kappa)
    assert found.sensitivity("yes") is found.specificity("yes") is None
    assert found.kappa_interval == NoIntervalReason.FEW_UNITS


def test_systems_are_joined_by_topic():
    first = confusion([[1, 0], [0, 1]], [[2, 0], [0, 0]])
    second = ConfusionMatrices(
        labels=YES_NO,
        by_topic={1: np.array([[0, 3], [0, 0]]), 2: np.array([[0, 0], [4, 0]])},
    )
    found = sum_confusion_matrices([first, second])
    assert {topic: counts.tolist() for topic, counts in found.by_topic.items()} == {
        0: [[1, 0], [0, 1]],
        1: [[2, 3], [0, 0]],
        2: [[0, 0], [4, 0]],
    }
    assert first.counts.tolist() == [[3, 0], [0, 1]]
