"""Agreement and means of ratings, against scikit-learn and by hand."""

import math
import random

import numpy as np
import pytest

from scoring.human.outcome import (
    compute_annotator_agreement,
    compute_mean_ratings_by_system,
)
from scoring.stats.jackknife import compute_score_bounds
from scoring.stats.people_and_labels import compute_quadratic_kappa
from tests.lazily import Lazily

stats, sklearn = Lazily("scipy.stats"), Lazily("sklearn.metrics")


def test_quadratic_kappa_equals_scikit_learn_s():
    drawn = random.Random(1)
    for length in (2, 5, 30, 200):
        first = [drawn.randint(1, 5) for _ in range(length)]
        second = [min(5, max(1, each + drawn.randint(-1, 1))) for each in first]
        expected = sklearn.cohen_kappa_score(
            first, second, weights="quadratic", labels=[1, 2, 3, 4, 5]
        )
        assert compute_quadratic_kappa(first, second) == pytest.approx(
            expected, rel=1e-12
        )


def test_kappa_is_undefined_where_nothing_can_disagree():
    assert math.isnan(compute_quadratic_kappa([], []))
    assert math.isnan(compute_quadratic_kappa([3, 3], [3, 3]))
    with pytest.raises(ValueError, match="1 and 2 ratings"):
        compute_quadratic_kappa([1], [1, 2])


def test_each_two_annotators_are_compared_on_the_texts_both_have_rated():
    ratings = {"Ada": {1: 1, 2: 5, 3: 2}, "Bo": {2: 5, 3: 2, 4: 4}, "Cy": {}}
    found = compute_annotator_agreement(
        {
            name: {(text, text): one for text, one in own.items()}
            for name, own in ratings.items()
        }
    )
    pairs = found.pairs
    assert [(pair.first, pair.second, pair.texts) for pair in pairs] == [
        ("Ada", "Bo", 2),
        ("Ada", "Cy", 0),
        ("Bo", "Cy", 0),
    ]
    assert found.mean_kappa == pairs[0].kappa == 1.0


def test_leniency_is_how_far_above_the_others_an_annotator_rates_the_same_texts():
    """Ada is 1 below Bo on the first text, 3 below the mean of both others on the second."""
    ratings = {"Ada": {1: 2, 2: 1, 3: 5}, "Bo": {1: 3, 2: 3}, "Cy": {2: 5}}
    found = compute_annotator_agreement(
        {
            name: {(text, text): one for text, one in own.items()}
            for name, own in ratings.items()
        }
    )
    told = [(one.name, one.texts, one.value) for one in found.leniency]
    assert told == [("Ada", 2, -2.0), ("Bo", 2, 0.5), ("Cy", 1, 3.0)]


def test_agreement_has_intervals_by_leaving_out_an_instance_with_all_its_texts():
    drawn = random.Random(3)
    texts = [
        (instance, 2 * instance + place) for instance in range(20) for place in (0, 1)
    ]
    truth = {text: drawn.randint(1, 5) for text in texts}
    ratings = {
        name: {
            text: min(5, max(1, one + drawn.randint(0, 1)))
            for text, one in truth.items()
        }
        for name in ("Ada", "Bo", "Cy")
    }
    found = compute_annotator_agreement(ratings)

    def without(instance: int):
        kept = {
            name: {text: one for text, one in own.items() if text[0] != instance}
            for name, own in ratings.items()
        }
        return compute_annotator_agreement(kept)

    left_out = [without(instance) for instance in range(20)]
    for value, interval, values in (
        (found.mean_kappa, found.mean_interval, [one.mean_kappa for one in left_out]),
        (found.alpha, found.alpha_interval, [one.alpha for one in left_out]),
        (found.ac1, found.ac1_interval, [one.ac1 for one in left_out]),
        (
            found.pairs[1].kappa,
            found.pairs[1].interval,
            [one.pairs[1].kappa for one in left_out],
        ),
    ):
        error = np.sqrt(19 * np.var(values))
        assert interval == pytest.approx(
            tuple(map(float, compute_score_bounds(value, error, 20, (-1.0, 1.0))))
        )
        assert -1 < interval[0] < value < interval[1] <= 1


def test_agreement_without_an_interval_says_why():
    def agreed(*ratings: tuple[int, int]):
        names = zip(("Ada", "Bo"), zip(*ratings, strict=True), strict=True)
        return compute_annotator_agreement(
            {
                name: {(place, place): one for place, one in enumerate(own)}
                for name, own in names
            }
        )

    two = agreed((1, 1), (5, 4))
    assert (
        two.pairs[0].interval == two.mean_interval == two.alpha_interval == "few-units"
    )
    # Hardly any agreement on another rating than the most frequent one.
    few = agreed(*[(2, 2)] * 9, *[(5, 5)] * 4, (5, 4))
    assert (
        few.pairs[0].interval
        == few.mean_interval
        == few.alpha_interval
        == "few-of-a-class"
    )
    assert few.ac1_interval[0] < few.ac1 <= few.ac1_interval[1]
    enough = agreed(*[(2, 2)] * 9, *[(5, 5)] * 5, (5, 4))
    assert enough.alpha_interval[0] < enough.alpha <= enough.alpha_interval[1]


def test_a_mean_is_over_all_ratings_with_an_interval_over_instances():
    rated = [
        (7, 0, 4),
        (7, 0, 5),
        (7, 1, 3),
        (7, 2, 4),
        *((8, instance, 1) for instance in range(3)),
    ]
    found = compute_mean_ratings_by_system(rated, 3)
    assert (found[7].value, found[7].n) == (4.0, 4)
    low, high = found[7].interval
    assert 1 < low < 4 < high < 5
    # All alike: the Wilson bounds of three trials, on the scale from 1 to 5.
    t = stats.t.ppf(0.975, 2)
    assert found[8].interval == pytest.approx((1.0, 1 + 4 * t**2 / (3 + t**2)))


def test_fewer_than_three_rated_instances_have_no_interval():
    assert compute_mean_ratings_by_system([(7, 0, 4)], 1)[7].interval is None
    found = compute_mean_ratings_by_system(
        [(7, 0, 4), (7, 1, 3), *((8, instance, 2) for instance in range(4))], 4
    )
    assert found[7].interval is None
    assert found[8].interval is not None
