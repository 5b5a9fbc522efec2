"""Which sentences are tagged, against the sentence lists that CiteBench's own steps gave."""

import json

import pytest

from scoring.metrics.discourse import (
    LabellingScheme,
    count_tokens,
    join_after_abbreviations,
    split_by_punkt,
    split_by_rules,
    split_by_sentencizer,
    split_into_counted_sentences,
)


@pytest.fixture(scope="module")
def golden(shared) -> dict:
    return json.loads(
        (shared / "citebench_lu" / "golden" / "sentences.json").read_text()
    )


@pytest.fixture(scope="module")
def targets(shared) -> dict[str, str]:
    lines = (shared / "citebench_lu" / "instances.jsonl").read_text().splitlines()
    return {load["id"]: load["target"] for load in map(json.loads, lines)}


def test_the_sentencizer_gives_the_lists_of_the_step_for_intents(golden, targets):
    pytest.importorskip("spacy", reason="spaCy is part of requirements.txt")
    lists = [each for each in golden["intent"] if each["text_of"] == "target"]
    assert len(lists) == 25
    for entries in lists:
        text = targets[entries["id"]]
        assert split_by_sentencizer(text) == entries["all"]
        assert split_into_counted_sentences(text, "sentencizer") == entries["kept"]
        assert (
            split_into_counted_sentences(text, "sentencizer", marked_only=True)
            == entries["kept_with_citation"]
        )


def test_every_golden_sentence_is_dropped_or_kept_by_its_tokens_as_in_the_original(
    golden,
):
    for each in golden["intent"]:
        assert [
            sentence for sentence in each["all"] if count_tokens(sentence) > 5
        ] == each["kept"]


def test_our_rules_agree_with_punkt_on_nearly_every_sentence_of_the_step_for_corwa(
    golden, targets
):
    """Punkt breaks at `etc. to` and `(cf. [1]`, within a sentence; our rules do not."""
    differing = {
        each["id"]
        for each in golden["corwa"]
        if _ascii(split_by_rules(targets[each["id"]])) != each["sentences"]
    }
    assert differing == {"lu-08", "lu-38"}
    wanted = [sentence for each in golden["corwa"] for sentence in each["sentences"]]
    found = {
        sentence
        for each in golden["corwa"]
        for sentence in _ascii(split_by_rules(targets[each["id"]]))
    }
    assert (len(wanted), sum(sentence in found for sentence in wanted)) == (114, 109)


def test_punkt_gives_every_list_of_the_step_for_corwa(golden, targets):
    assert [split_by_punkt(targets[own["id"]]) for own in golden["corwa"]] == [
        own["sentences"] for own in golden["corwa"]
    ]
    assert len(golden["corwa"]) == 25


@pytest.mark.parametrize(
    ("is_official", "scheme", "splitter"),
    [(True, "corwa", "punkt"), (True, "intent", "rules"), (False, "corwa", "blocks")],
)
def test_corwa_is_split_by_punkt_under_the_official_rules_alone(
    is_official, scheme, splitter
):
    assert LabellingScheme(scheme, {}, is_official).splitter_option == splitter
    chosen = {"discourse_sentences": "sentencizer"}
    assert LabellingScheme(scheme, chosen, is_official).splitter_option == "sentencizer"


def _ascii(sentences: list[str]) -> list[str]:
    return [sentence.encode("ascii", "ignore").decode() for sentence in sentences]


def test_pieces_that_end_in_an_abbreviation_are_glued_to_the_next():
    assert join_after_abbreviations(
        ["As in Lee et al.", "[0] it works.", "Tools, e.g.", "parsers, help."]
    ) == [
        "As in Lee et al. [0] it works.",
        "Tools, e.g. parsers, help.",
    ]


def test_sentences_of_five_tokens_or_fewer_are_dropped():
    assert split_into_counted_sentences(
        "We use it here. We use all of it here.", "rules"
    ) == ["We use all of it here."]


def test_only_a_mark_of_one_digit_is_one_to_the_original():
    text = "The parser of [10] is used for all. The parser of [1] is used for all."
    assert split_into_counted_sentences(text, "rules", marked_only=True) == [
        "The parser of [1] is used for all."
    ]


def test_an_abbreviation_that_seldom_ends_a_sentence_does_so_before_a_capital_alone():
    assert split_by_rules("We use trees, etc. The rest is left.") == [
        "We use trees, etc.",
        "The rest is left.",
    ]
    for text in (
        "We use trees, etc. (2 more are left).",
        "We use trees, etc. “2 more” are left.",
    ):
        assert split_by_rules(text) == [text]


def test_an_empty_text_has_no_sentences():
    assert split_into_counted_sentences(" \n", "rules") == []


@pytest.mark.parametrize(
    "run", ["-" * 40, ">" * 40, ")" * 17 + ".", "'" * 33 + "b", "。" * 20, "!" * 20]
)
def test_long_runs_of_a_sign_end_sentences_where_spacy_alone_ends_them(run):
    """They are one token here, and one a sign in spaCy, at a cost of the square."""
    import spacy

    plain = spacy.blank("en")
    plain.add_pipe("sentencizer")
    text = f"One is here. {run} Two follows {run} and goes on! Three."
    pieces = [found.text for found in plain(text).sents]
    assert "".join(split_by_sentencizer(text)) == "".join(pieces)
    assert len(split_by_sentencizer(text)) == 1 + sum(
        piece.endswith(".") for piece in pieces[:-1]
    )
