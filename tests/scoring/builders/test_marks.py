"""Citation marks: their styles, damage, and citations that a corpus did not mark."""

import pytest

from scoring.tools.builders.contexts import (
    determine_mark_style,
    has_unmarked_citation,
    insert_placeholder,
)


@pytest.mark.parametrize(
    ("style", "marks"),
    [
        ("numeric", ["[12]", "[3", "7]", "12", "(4)"]),
        ("alphabetic", ["[Lee97]", "[ABC+05]", "Kno84a"]),
        (
            "author-year",
            [
                *(
                    "(Lee, 1997)",
                    "Lee et al. (1997a)",
                    "(Lee et al., 1997)",
                    "Lee and Kim (1997)",
                ),
                *(
                    "van Halteren et al., 1998",
                    "(Van der Berg & Müller, 2004)",
                    "(2003)",
                    "1999b",
                ),
                *("Lee, Kim and Park (2001)", "(see Lee, 1997)", "O'Neil 1998"),
            ],
        ),
        ("anonymous", ["{{cite:0a1b}}", "[REF]"]),
        (
            "damaged",
            ["(Lee et al., 1997a(Lee et al., 1997b)", "[12[13]", "(7", "7)", "(7,"],
        ),
        ("", ["as shown", "(Lee, 1997; Kim, 1998)", "[1, 2]", ""]),
    ],
)
def test_every_mark_has_the_style_that_it_is_printed_in(style, marks):
    assert [(mark, determine_mark_style(mark)) for mark in marks] == [
        (mark, style) for mark in marks
    ]


def test_long_lists_of_names_are_judged_at_once():
    assert determine_mark_style("(" + "Lee, " * 2000 + "1997") == ""
    assert not has_unmarked_citation("Lee " * 5000)


@pytest.mark.parametrize(
    "text",
    [
        "As in [3].",
        "So it is (Lee et al., 1997).",
        "Lee et al. (2003) say so.",
        "x [1, 2-4] y",
    ],
)
def test_citations_without_a_mark_are_seen(text):
    assert has_unmarked_citation(text)


@pytest.mark.parametrize(
    "text",
    [
        "In 1997 (a cold year) it rained.",
        "The interval [0, 1) is open.",
        "We use x[i].",
    ],
)
def test_what_only_looks_like_one_is_not(text):
    assert not has_unmarked_citation(text)


@pytest.mark.parametrize(
    ("sentence", "mark", "expected"),
    [
        (
            "Shown in [23, 16] and elsewhere.",
            "16",
            "Shown in [23, <REF> and elsewhere.",
        ),
        (
            "The proof in (Chi and Ge man, 1998) is simple.",
            "Chi and Geman, 1998",
            "The proof in <REF> is simple.",
        ),
        ("They had 160 of them [16].", "16", "They had 160 of them <REF>."),
        ("Nothing of it here.", "Lee, 1997", "Nothing of it here. <REF>"),
        ("Nothing at all.", "", "Nothing at all. <REF>"),
    ],
)
def test_a_mark_is_found_however_the_text_spaces_it(sentence, mark, expected):
    assert insert_placeholder(sentence, mark) == expected
