"""What the built-in types make of larger gold and runs, whole or damaged, does not change unnoticed."""

import json

import pytest

from tests.tasks.types.standing_types import (
    CASES,
    FILE,
    accepted,
    claims,
    declared,
    judged,
    layouts,
    of_damaged,
    of_type,
)

EXPECTED = json.loads(FILE.read_text())


@pytest.mark.parametrize("slug", CASES)
def test_what_a_type_declares_and_its_metrics_say_of_themselves_stands(slug):
    assert declared(slug) == EXPECTED["declared"][slug]


@pytest.mark.parametrize("slug", CASES)
def test_what_a_type_makes_of_gold_and_runs_under_its_options_stands(slug):
    assert of_type(slug) == EXPECTED["types"][slug]


@pytest.mark.parametrize("slug", CASES)
def test_what_is_wrong_with_damaged_gold_and_runs_is_told_in_the_same_words(slug):
    assert of_damaged(slug) == EXPECTED["damaged"][slug]


@pytest.mark.parametrize("slug", CASES)
def test_what_is_said_of_files_by_their_names_and_of_those_beside_them_stands(slug):
    assert layouts(slug) == EXPECTED["layouts"][slug]


def test_how_drawn_sentences_are_split_into_claims_stands():
    assert claims() == EXPECTED["claims"]


def test_which_types_take_a_run_for_theirs_stands():
    assert accepted() == EXPECTED["accepted"]


def test_which_sentences_are_right_alike_missed_or_implied_stands():
    assert judged() == EXPECTED["judged"]
