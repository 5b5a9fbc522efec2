"""No number of a sample or of drawn answers changes unnoticed: one that is meant to has another version."""

import json

import pytest

from tests.resting import rests_on_scorer
from tests.scoring.standing_numbers import (
    DECLARED,
    FILE,
    of_broken,
    of_declaration,
    of_form,
    of_sample,
    rounded,
    samples,
)

pytestmark = rests_on_scorer

EXPECTED = json.loads(FILE.read_text())


@pytest.mark.parametrize("form", DECLARED)
def test_measures_of_drawn_answers_their_intervals_and_tests_stand(form):
    assert json.loads(json.dumps(rounded(of_form(form)))) == EXPECTED["forms"][form]


@pytest.mark.parametrize("name", samples())
def test_scores_of_samples_their_classes_and_what_is_shown_of_them_stand(name):
    assert json.loads(json.dumps(rounded(of_sample(name)))) == EXPECTED["samples"][name]


@pytest.mark.parametrize("name", samples())
def test_what_is_wrong_with_a_changed_sample_is_told_in_the_same_words(name):
    assert json.loads(json.dumps(rounded(of_broken(name)))) == EXPECTED["changed"][name]


@pytest.mark.parametrize("name", EXPECTED["declarations"])
def test_what_is_wrong_with_a_changed_declaration_is_told_in_the_same_words(name):
    assert (
        json.loads(json.dumps(rounded(of_declaration(name))))
        == EXPECTED["declarations"][name]
    )
