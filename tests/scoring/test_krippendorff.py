"""Krippendorff's alpha, held to the package krippendorff and to the value of his own example."""

import math
import random

import krippendorff
import numpy as np
import pytest

from scoring.stats.people_and_labels import compute_krippendorff_alpha

#: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, section C: four observers, missing data.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
LEVELS = pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])


def items(observers) -> list[list[int]]:
    return [
        [rating for rating in item if rating is not None]
        for item in zip(*observers, strict=True)
    ]


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_his_example_has_the_published_value(level, value):
    assert round(compute_krippendorff_alpha(items(OBSERVERS), level), 3) == value


@LEVELS
@pytest.mark.parametrize("seed", range(5))
def test_any_ratings_with_gaps_agree_as_in_the_package(level, seed):
    rng = random.Random(seed)
    observers = [
        [rng.choice([1, 2, 3, 4, 5, None]) for _ in range(30)]
        for _ in range(rng.randint(2, 6))
    ]
    matrix = np.array(
        [
            [math.nan if rating is None else rating for rating in own]
            for own in observers
        ]
    )
    expected = krippendorff.alpha(reliability_data=matrix, level_of_measurement=level)
    assert compute_krippendorff_alpha(items(observers), level) == pytest.approx(
        expected, rel=1e-12, abs=1e-12
    )


@LEVELS
@pytest.mark.parametrize("own", [[], [[3]], [[3, 3], [3, 3, 3]]])
def test_without_two_ratings_that_differ_it_is_undefined(level, own):
    assert math.isnan(compute_krippendorff_alpha(own, level))


def test_labels_may_be_words():
    assert compute_krippendorff_alpha(
        [["yes", "yes"], ["no", "no"], ["yes", "no"]], "nominal"
    ) == pytest.approx(1 - 0.2 / 0.36)
