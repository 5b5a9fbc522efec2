"""Agreement and means of ratings, against scikit-learn and by hand."""

import math
import random

import pytest

from scoring.human.outcome import mean_kappa, means, pairwise
from scoring.stats.people_and_labels import quadratic
from tests.lazily import Lazily

stats, sklearn = Lazily("scipy.stats"), Lazily("sklearn.metrics")


def test_quadratic_kappa_equals_scikit_learn_s():
    drawn = random.Random(1)
    for length in (2, 5, 30, 200):
        first = [drawn.randint(1, 5) for _ in range(length)]
        second = [min(5, max(1, each + drawn.randint(-1, 1))) for each in first]
        expected = sklearn.cohen_kappa_score(first, second, weights="quadratic", labels=[1, 2, 3, 4, 5])
        assert quadratic(first, second) == pytest.approx(expected, rel=1e-12)


def test_kappa_is_undefined_where_nothing_can_disagree():
    assert math.isnan(quadratic([], []))
    assert math.isnan(quadratic([3, 3], [3, 3]))
    with pytest.raises(ValueError, match="1 and 2 ratings"):
        quadratic([1], [1, 2])


def test_each_two_annotators_are_compared_on_the_texts_both_have_rated():
    pairs = pairwise({"Ada": {1: 1, 2: 5, 3: 2}, "Bo": {2: 5, 3: 2, 4: 4}, "Cy": {}})
    assert [(pair.first, pair.second, pair.texts) for pair in pairs] == [
        ("Ada", "Bo", 2),
        ("Ada", "Cy", 0),
        ("Bo", "Cy", 0),
    ]
    assert mean_kappa(pairs) == pairs[0].kappa == 1.0


def test_a_mean_is_over_all_ratings_with_an_interval_over_instances():
    rated = [(7, 0, 4), (7, 0, 5), (7, 1, 3), (7, 2, 4), *((8, instance, 1) for instance in range(3))]
    found = means(rated, 3)
    assert (found[7].value, found[7].n) == (4.0, 4)
    low, high = found[7].interval
    assert 1 < low < 4 < high < 5
    # All alike: the Wilson bounds of three trials, on the scale from 1 to 5.
    t = stats.t.ppf(0.975, 2)
    assert found[8].interval == pytest.approx((1.0, 1 + 4 * t**2 / (3 + t**2)))


def test_fewer_than_three_rated_instances_have_no_interval():
    assert means([(7, 0, 4)], 1)[7].interval is None
    found = means([(7, 0, 4), (7, 1, 3), *((8, instance, 2) for instance in range(4))], 4)
    assert found[7].interval is None
    assert found[8].interval is not None
