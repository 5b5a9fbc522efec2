"""What the built-in types make of larger gold and runs, whole or damaged, does not change unnoticed."""

import json

import numpy as np
import pytest

from scoring.metrics import build_metrics, needs_models
from scoring.metrics.entailed import COLUMN_INDEX_BY_NAME
from tasks.types import task_type, task_types
from tasks.types.clsumm.runs import join_first_names
from tests.resting import rests_on_scorer
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

pytestmark = rests_on_scorer

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


def test_what_a_board_shows_first_and_what_people_rate_are_declared():
    assert {kind.slug: len(kind.main_metrics) for kind in task_types().values()} == {
        "citation-recommendation": 0,
        "citation-resolution": 0,
        "citation-text": 6,
        "cited-reports": 8,
        "clsumm-1a": 6,
        "clsumm-1b": 5,
        "clsumm-2": 7,
        "judge-leaderboards": 9,
        "positional-citations": 8,
    }
    rated = {
        kind.slug: kind.human_evaluation
        for kind in task_types().values()
        if kind.human_evaluation
    }
    assert {
        slug: (list(own.scales), list(own.reference_scales))
        for slug, own in rated.items()
    } == {
        "citation-text": (["readability"], ["consistency"]),
        "cited-reports": ([], []),
        "clsumm-2": ([], []),
    }


def test_of_more_than_five_names_the_rest_are_counted():
    assert (join_first_names("abcde"), join_first_names("abcdefg")) == (
        "a, b, c, d, e",
        "a, b, c, d, e and 2 more",
    )


def test_options_that_are_refused_need_no_model():
    models = [
        needs_models("citation-text", ("corrected",), options)
        for options in ({}, {"bertscore_model": "x"}, {"nonsense": "x"})
    ]
    assert models == [False, True, False]


def test_one_label_that_is_open_leaves_precision_undefined():
    kind = task_type("positional-citations")
    [precision] = [
        metric
        for metric in build_metrics(kind, "corrected", kind.validate_options({}))
        if metric.name == "alce_precision"
    ]
    sums = np.array(
        [
            float(name in ("precision", "precision_weight"))
            for name in COLUMN_INDEX_BY_NAME
        ]
    )
    assert precision.aggregate(sums) == precision.scale
    sums[COLUMN_INDEX_BY_NAME["pending_pairs"]] = 1
    assert np.isnan(precision.aggregate(sums))
