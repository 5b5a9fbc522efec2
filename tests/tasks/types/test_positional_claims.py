"""Atomic claims as a pure function of sentence and parse, held to the released program's own parses and
claims.
"""

import json
from pathlib import Path

import pytest

from tasks.types.positional_citations.claims import (
    AtomicClaim,
    ClaimSplittingRules,
    Parse,
    UnsplitReason,
    get_text_to_parse,
    split_into_claims,
)

GOLDEN = {
    "claims.json": ClaimSplittingRules(is_official=True),
    "claims_commas_kept.json": ClaimSplittingRules(),
}
#: A sentence whose claims share nothing but the verb: a parse by hand.
RAIN = Parse(
    tokens=("Oslo", "is", "wet", ",", "but", "Rome", "is", "dry"),
    heads=(1, 1, 1, 1, 1, 6, 1, 6),
    relations=("nsubj", "ROOT", "acomp", "punct", "cc", "nsubj", "conj", "acomp"),
)


@pytest.fixture(params=GOLDEN, ids=lambda name: name.removesuffix(".json"))
def golden(request, shared: Path) -> tuple[list[dict], ClaimSplittingRules]:
    cases = json.loads((shared / "aliice" / "golden" / request.param).read_text())[
        "cases"
    ]
    return cases, GOLDEN[request.param]


def parse_of(case: dict) -> Parse | None:
    tokens = case.get("parse")
    if not tokens:
        return None
    return Parse(
        *(tuple(token[key] for token in tokens) for key in ("text", "head", "dep"))
    )


def texts_and_marks(claims) -> list[tuple[str, list[int]]]:
    return [(claim.text, list(claim.marks)) for claim in claims]


@pytest.mark.shared
def test_the_golden_parses_give_the_golden_claims(golden):
    cases, rules = golden
    assert len(cases) > 40
    for case in cases:
        split = split_into_claims(case["sentence"], parse_of(case), rules)
        expected = [
            (claim["text"], claim["citations"]) for claim in case["result"]["claims"]
        ]
        # The program hands out a sentence that it could not split without marks, and then scores nothing.
        assert texts_and_marks(split.claims) == [
            each for each in expected if each[1]
        ], case["id"]
        assert (split.fallback is not None) == (case["result"]["kind"] == "fallback"), (
            case["id"]
        )


@pytest.mark.shared
def test_words_and_groups_are_those_of_the_golden_files(golden):
    cases, rules = golden
    for case in cases:
        words = split_into_claims(case["sentence"], parse_of(case), rules).words
        if words is not None:
            assert list(words.words) == case["words"], case["id"]
            assert {
                str(place): list(group) for place, group in words.groups.items()
            } == case["word_citations"]
            if case.get("parse"):
                assert get_text_to_parse(case["sentence"], rules) == case["parsed_text"]


@pytest.mark.shared
def test_the_claims_that_the_paper_prints_come_out(shared):
    cases = json.loads(
        (shared / "aliice" / "golden" / "claims_commas_kept.json").read_text()
    )["cases"]
    printed = [case for case in cases if "published_claims" in case]
    assert printed
    for case in printed:
        split = split_into_claims(
            case["sentence"], parse_of(case), ClaimSplittingRules()
        )
        assert [claim.text for claim in split.claims] == case["published_claims"]


def test_commas_stay_words_by_default_and_go_in_the_official_form():
    sentence = "Oslo is wet [1], but Rome is dry [2]."
    assert (
        get_text_to_parse(sentence, ClaimSplittingRules())
        == "Oslo is wet , but Rome is dry"
    )
    assert (
        get_text_to_parse(sentence, ClaimSplittingRules(is_official=True))
        == "Oslo is wet  but Rome is dry"
    )
    split = split_into_claims(sentence, RAIN, ClaimSplittingRules())
    assert texts_and_marks(split.claims) == [("Oslo is wet", [1]), ("Rome is dry", [2])]


def test_a_sentence_without_marks_claims_nothing_and_is_not_parsed():
    assert get_text_to_parse("It rains [a].", ClaimSplittingRules()) is None
    assert split_into_claims("It rains [a].", None, ClaimSplittingRules()).claims == ()


@pytest.mark.parametrize(("words", "is_split"), [(50, True), (51, False)])
def test_a_sentence_of_more_than_fifty_words_is_one_claim(words, is_split):
    sentence = " ".join(["word"] * (words - 1)) + " [3]."
    assert (get_text_to_parse(sentence, ClaimSplittingRules()) is not None) == is_split
    if not is_split:
        split = split_into_claims(sentence, None, ClaimSplittingRules())
        assert split.fallback is UnsplitReason.TOO_LONG
        assert texts_and_marks(split.claims) == [(" ".join(["word"] * 50) + ".", [3])]


def test_a_sentence_that_nobody_wrote_to_be_read_is_not_parsed_either():
    assert get_text_to_parse("a," * 1100 + "[1]", ClaimSplittingRules()) is None


def test_a_cited_root_makes_the_whole_sentence_one_claim_with_all_marks():
    sentence = "Oslo is [1] wet [2], but Rome is dry."
    split = split_into_claims(sentence, RAIN, ClaimSplittingRules())
    assert split.fallback is UnsplitReason.ROOT_CITED
    assert texts_and_marks(split.claims) == [("Oslo is wet , but Rome is dry", [1, 2])]


def test_of_two_groups_at_one_word_the_later_stays_and_the_other_is_counted():
    sentence = "Oslo is wet, but Rome is dry [1] [!] [2]."
    parse = RAIN
    later = split_into_claims(sentence, parse, ClaimSplittingRules())
    assert texts_and_marks(later.claims) == [("Oslo is wet , but Rome is dry", [2])]
    assert later.lost == 1
    merged = split_into_claims(sentence, parse, ClaimSplittingRules(merge_groups=True))
    assert texts_and_marks(merged.claims) == [("Oslo is wet , but Rome is dry", [1, 2])]
    assert merged.lost == 0


def test_a_group_under_another_root_than_the_last_is_lost_and_counted():
    two_roots = Parse(
        RAIN.tokens,
        (1, 1, 1, 1, 6, 6, 6, 6),
        ("nsubj", "ROOT", "acomp", "punct", "cc", "nsubj", "ROOT", "acomp"),
    )
    split = split_into_claims(
        "Oslo is wet [1], but Rome is dry [2].", two_roots, ClaimSplittingRules()
    )
    assert texts_and_marks(split.claims) == [("but Rome is dry", [2])]
    assert split.lost == 1


def test_a_group_at_a_word_that_the_parse_lacks_is_counted_once():
    sentence = "Oslo is wet, but Rome is xyz [1] dry [2]."
    split = split_into_claims(sentence, RAIN, ClaimSplittingRules())
    assert texts_and_marks(split.claims) == [("Oslo is wet , but Rome is dry", [2])]
    assert split.lost == 1


def test_marks_without_a_word_make_no_claim_and_are_counted():
    split = split_into_claims("[1] [2].", None, ClaimSplittingRules())
    assert (split.claims, split.fallback, split.lost) == (
        (),
        UnsplitReason.UNMATCHED,
        1,
    )


def test_claims_of_one_text_are_two_unless_official():
    """The second mark stands below the first, which takes its place; both are left with the same word."""
    parse = Parse(("so", "Oslo", "Oslo"), (0, 0, 1), ("ROOT", "dep", "dep"))
    sentence = "so Oslo [1] Oslo [2]"
    assert len(split_into_claims(sentence, parse, ClaimSplittingRules()).claims) == 2
    same = Parse(("x", "a", ",", "a"), (0, 0, 0, 0), ("ROOT", "dep", "punct", "conj"))
    own = split_into_claims("x a [1], a [2]", same, ClaimSplittingRules())
    assert texts_and_marks(own.claims) == [("x a", [1]), ("a", [2])]
    flat = Parse(("x", "a", "a"), (0, 0, 0), ("ROOT", "dep", "dep"))
    kept = split_into_claims("x a [1] a [2]", flat, ClaimSplittingRules())
    published = split_into_claims(
        "x a [1] a [2]", flat, ClaimSplittingRules(is_official=True)
    )
    assert texts_and_marks(kept.claims) == [("a", [1]), ("a", [2])]
    assert texts_and_marks(published.claims) == [("a", [2])]


def test_a_mark_below_another_takes_its_place():
    """`river` and `town` hang under each other; neither claim has the other's words."""
    nested = Parse(
        ("Bridges", "over", "rivers", "near", "towns", "fell"),
        (5, 0, 1, 2, 3, 5),
        ("nsubj", "prep", "pobj", "prep", "pobj", "ROOT"),
    )
    split = split_into_claims(
        "Bridges over rivers [1] near towns [2] fell.", nested, ClaimSplittingRules()
    )
    assert texts_and_marks(split.claims) == [
        ("Bridges over rivers fell", [1]),
        ("Bridges over near towns fell", [2]),
    ]


def test_an_opening_phrase_stands_for_itself():
    opening = Parse(
        ("In", "1969", ",", "Armstrong", "walked", "there"),
        (4, 0, 4, 4, 4, 4),
        ("prep", "pobj", "punct", "nsubj", "ROOT", "advmod"),
    )
    split = split_into_claims(
        "In 1969 [1], Armstrong walked there [2].", opening, ClaimSplittingRules()
    )
    assert texts_and_marks(split.claims) == [
        ("In 1969", [1]),
        ("Armstrong walked there", [2]),
    ]


def test_a_mark_of_many_digits_is_read_as_a_large_number():
    split = split_into_claims(
        f"Oslo is wet, but Rome is dry [{'9' * 5000}].", RAIN, ClaimSplittingRules()
    )
    # The sentence is too long to be one that somebody wrote.
    assert split.claims[0].marks == (10**9,)


def test_the_position_of_a_claim_is_that_of_its_marks():
    split = split_into_claims(
        "Oslo is wet [1], but Rome is dry [2].", RAIN, ClaimSplittingRules()
    )
    assert split.claims == (
        AtomicClaim("Oslo is wet", (1,), 3 / 8),
        AtomicClaim("Rome is dry", (2,), 1.0),
    )


def test_a_sentence_is_too_long_above_two_thousand_characters():
    kept, longer = ("a" * length + "[1]" for length in (1997, 1998))
    assert get_text_to_parse(kept, ClaimSplittingRules()) is not None
    assert get_text_to_parse(longer, ClaimSplittingRules()) is None
