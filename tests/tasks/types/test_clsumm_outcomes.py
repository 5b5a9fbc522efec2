"""Figures 2 and 3 of the pilot: wrong sentences like the citance, missed ones that it implies."""

import pytest

from tasks.types.base import ALIKE, IMPLIED, MISSED, RIGHT, WRONG
from tasks.types.clsumm.pairs import CitedSpan, judged_sentences

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
        for outcome, text in judged_sentences(CITANCE, sides, SENTENCES)
    }


def test_wrong_and_missed_sentences_are_told_apart_by_words_of_the_citance():
    found = outcomes((span("1", "4", "5"), span("1", "2", "3")))
    assert found == {"1": RIGHT, "2": ALIKE, "3": WRONG, "4": IMPLIED, "5": MISSED}


def test_what_one_annotator_has_is_right_and_what_any_has_is_missed():
    found = outcomes((span("1"), span("1", "3")), (span("3", "4"), span("1", "3")))
    assert found == {"1": RIGHT, "3": RIGHT, "4": IMPLIED}


@pytest.mark.parametrize(
    ("gold", "answer", "found"),
    [
        (None, span("3"), {"3": WRONG}),
        (span("4"), None, {"4": IMPLIED}),
        (None, None, {}),
    ],
)
def test_a_side_may_be_missing(gold, answer, found):
    assert outcomes((gold, answer)) == found


def test_a_sentence_that_the_paper_does_not_have_is_shown_by_its_id():
    assert list(judged_sentences(CITANCE, [(None, span("99"))], SENTENCES)) == [
        (WRONG, "[99]")
    ]
