"""Where sentences end, which of two a mark belongs to, and where in a sentence marks stand."""

import json

import pytest

from tasks.types.positional_citations.sentences import (
    compute_mark_positions,
    make_splitter_name,
    move_leading_marks_to_previous,
    name_third_of_sentence,
    split_sentences_by_rules,
)
from tasks.types.text import make_punkt_name, split_sentences_with_punkt


def test_signatures_tell_the_two_splitters_apart():
    names = [make_splitter_name(name, is_official=True) for name in ("rules", "punkt")]
    assert names == ["rules-1", make_punkt_name()]
    names = [make_splitter_name(name) for name in ("rules", "punkt")]
    assert names == ["rules-2", f"{make_punkt_name()}-markdown-1"]


@pytest.mark.shared
@pytest.mark.parametrize(
    "split", [split_sentences_by_rules, split_sentences_with_punkt]
)
def test_the_golden_answers_are_split_as_the_released_programs_did(shared, split):
    golden = json.loads(
        (shared / "aliice" / "golden" / "citation_eval.json").read_text()
    )
    for system in golden["systems"].values():
        outputs = {
            response["id"]: response["output"] for response in system["responses"]
        }
        for expected in system["expected"]["sentences"]:
            sentences = split(outputs[expected["id"]])
            assert sentences == expected["nltk"]
            assert (
                move_leading_marks_to_previous(sentences, is_official=True)
                == expected["aliice_splitter"]
            )


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It rains. It pours.", ["It rains.", "It pours."]),
        ("We count 3. iPhones are 4.", ["We count 3. iPhones are 4."]),
        (
            "As Smith et al. (2020) show in Fig. 3. We agree.",
            ["As Smith et al. (2020) show in Fig. 3.", "We agree."],
        ),
        (
            "J. K. Rowling met Dr. Who, i.e. him.",
            ["J. K. Rowling met Dr. Who, i.e. him."],
        ),
        (
            "See p. 5 and No. 7. He said no. Then he left.",
            ["See p. 5 and No. 7.", "He said no.", "Then he left."],
        ),
        ("In the U.S. The law holds; in the U.S. Congress it does.", None),
        (
            "Pi is 3.14 in all. Why? Because!",
            ["Pi is 3.14 in all.", "Why?", "Because!"],
        ),
        (
            'He said "Yes." Then (so it seems.) He left.',
            ['He said "Yes."', "Then (so it seems.)", "He left."],
        ),
        (
            "It rains.[1] It pours. [2] Or so [3].",
            ["It rains.", "[1] It pours.", "[2] Or so [3]."],
        ),
        (
            "Well ... it rains. Well... It pours.",
            ["Well ... it rains.", "Well...", "It pours."],
        ),
        ("in 1990. it was so", ["in 1990. it was so"]),
        ("no end", ["no end"]),
        ("  \n ", []),
        ("", []),
    ],
)
def test_sentences_end_where_readers_see_them_end(text, sentences):
    if sentences is None:
        sentences = ["In the U.S.", "The law holds; in the U.S. Congress it does."]
    assert split_sentences_by_rules(text) == sentences


def test_a_long_text_is_split_in_time_that_grows_with_it():
    text = "A sentence of dots... and e.g. more. " * 20_000
    assert len(split_sentences_by_rules(text)) == 20_000


def test_marks_at_the_beginning_belong_to_the_sentence_before():
    sentences = ["It rains.", "[1] [2] It pours.", "[3]."]
    assert move_leading_marks_to_previous(sentences) == [
        "It rains.[1][2]",
        " It pours.[3]",
        ".",
    ]
    assert move_leading_marks_to_previous(["[1] First."]) == ["[1] First."]


def test_is_official_one_mark_moves_wherever_it_stands_behind_a_bracket():
    sentences = ["It rains.", "[1][2] It pours.", "[sic] It snows [3]."]
    assert move_leading_marks_to_previous(sentences, is_official=True) == [
        "It rains.[1]",
        "[2] It pours.[3]",
        "[sic] It snows .",
    ]
    assert move_leading_marks_to_previous(sentences) == [
        "It rains.[1][2]",
        " It pours.",
        "[sic] It snows [3].",
    ]


def test_punkt_splits_as_it_was_trained_and_needs_no_data_of_nltk():
    text = "By Smith et al. in Fig. 3. It pours, says Dr. Who. He left at 5 p.m. today."
    assert split_sentences_with_punkt(text) == [
        "By Smith et al.",
        "in Fig.",
        "3.",
        "It pours, says Dr. Who.",
        "He left at 5 p.m. today.",
    ]


@pytest.mark.shared
def test_position_variation_is_the_golden_one_sentence_by_sentence(shared):
    cases = json.loads(
        (shared / "aliice" / "golden" / "position_variation.json").read_text()
    )["cases"]
    for case in cases:
        found = [
            compute_mark_positions(each).units
            for each in move_leading_marks_to_previous(
                split_sentences_by_rules(case["response"])
            )
        ]
        variations = [variation(own) for own in found if own]
        assert variations == pytest.approx(
            case["formula_of_the_paper_per_cited_sentence"], abs=1e-8
        )


def variation(values) -> float:
    mean = sum(values) / len(values)
    return (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5 / mean


def test_units_are_words_single_punctuation_and_runs_of_marks():
    found = compute_mark_positions("State-of-the-art, isn't it [1] [2]? Yes_so [3].")
    # State-of-the-art | , | isn't | it | [1] [2] | ? | Yes | _ | so | [3] | .
    assert found.units == (5 / 11, 5 / 11, 10 / 11)
    assert found.offsets[0] == "State-of-the-art, isn't it [1]".index("[") / 47


@pytest.mark.parametrize(
    ("sentence", "is_positional"),
    [
        ("It rains [1], and pours.", True),
        ("It rains and pours [1][2].", False),
        ("[1] It rains.", True),
        ("It rains [1], [2].", False),
        ("It rains.", False),
    ],
)
def test_positional_is_a_sentence_in_which_a_word_follows_a_mark(
    sentence, is_positional
):
    assert compute_mark_positions(sentence).is_positional == is_positional


def test_thirds_end_where_they_should():
    assert [
        name_third_of_sentence(position)
        for position in (0.1, 0.33, 0.34, 0.66, 0.67, 1.0)
    ] == [
        "first third",
        "first third",
        "second third",
        "second third",
        "last third",
        "last third",
    ]
