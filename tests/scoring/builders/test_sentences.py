"""Sentences of scholarly text end where a reader would end them."""

import pytest

from scoring.metrics.discourse import iterate_sentence_spans

MARK = "\ue000"


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in iterate_sentence_spans(text)]


@pytest.mark.parametrize(
    "whole",
    [
        f"This follows Lee et al. {MARK} and others.",
        "As Fig. 3 shows, it grows.",
        "See Sec. IV of J. R. Smith for more.",
        "We found 3.5 % (cf. Table 2).",
        "Approaches, e.g. BERT, are common.",
        "The U.S. Senate agreed.",
        "Is it so (we doubt it)?",
    ],
)
def test_these_are_one_sentence(whole):
    assert split(whole) == [whole]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "We count. They do not! Why? Nobody knows.",
            ["We count.", "They do not!", "Why?", "Nobody knows."],
        ),
        (
            "It was shown. (This is known.) We go on.",
            ["It was shown.", "(This is known.)", "We go on."],
        ),
        (
            "They use words, phrases, etc. The rest is noise.",
            ["They use words, phrases, etc.", "The rest is noise."],
        ),
        (f"It holds.{MARK} We use it.", [f"It holds.{MARK}", "We use it."]),
        (f"It holds. {MARK} show more.", ["It holds.", f"{MARK} show more."]),
        ("  Blanks around. \n And between.  ", ["Blanks around.", "And between."]),
        ("No end", ["No end"]),
        ("", []),
    ],
)
def test_these_are_several(text, parts):
    assert split(text) == parts
