"""Figures 2 and 3 of the pilot: wrong sentences like the citance, missed ones that it implies."""

import pytest

from tasks.types.base import (
    ALIKE_OUTCOME,
    IMPLIED_OUTCOME,
    MISSED_OUTCOME,
    RIGHT_OUTCOME,
    WRONG_OUTCOME,
)
from tasks.types.clsumm.pairs import CitedSpan, iterate_sentence_outcomes

CITANCE = "They build a graph of nouns that occur together."
SENTENCES = {
    "1": "We build a graph.",
    "2": "Nouns that occur in lists form a graph.",
    "3": "Trees are tall.",
    "4": "It holds in both cases.",
    "5": "We build lists of nouns.",
}


def span(*sids):
    return CitedSpan(sids, (), 0)


def outcomes(*sides):
    return {
        text[1]: outcome
        for outcome, text in iterate_sentence_outcomes(CITANCE, sides, SENTENCES)
    }


def test_wrong_and_missed_sentences_are_told_apart_by_words_of_the_citance():
    found = outcomes((span("1", "4", "5"), span("1", "2", "3")))
    assert found == {
        "1": RIGHT_OUTCOME,
        "2": ALIKE_OUTCOME,
        "3": WRONG_OUTCOME,
        "4": IMPLIED_OUTCOME,
        "5": MISSED_OUTCOME,
    }


def test_what_one_annotator_has_is_right_and_what_any_has_is_missed():
    found = outcomes((span("1"), span("1", "3")), (span("3", "4"), span("1", "3")))
    assert found == {"1": RIGHT_OUTCOME, "3": RIGHT_OUTCOME, "4": IMPLIED_OUTCOME}


@pytest.mark.parametrize(
    ("gold", "answer", "found"),
    [
        (None, span("3"), {"3": WRONG_OUTCOME}),
        (span("4"), None, {"4": IMPLIED_OUTCOME}),
        (None, None, {}),
    ],
)
def test_a_side_may_be_missing(gold, answer, found):
    assert outcomes((gold, answer)) == found


def test_a_sentence_that_the_paper_does_not_have_is_shown_by_its_id():
    assert list(
        iterate_sentence_outcomes(CITANCE, [(None, span("99"))], SENTENCES)
    ) == [(WRONG_OUTCOME, "[99]")]
