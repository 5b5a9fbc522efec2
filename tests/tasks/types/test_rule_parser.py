"""The parser by rules: held to the golden claims of a pipeline, and to being a tree whatever it is given."""

import json
import random

import pytest

from tasks.types.positional_citations.claims import (
    ROOT_RELATION,
    ClaimSplittingRules,
    get_text_to_parse,
    split_into_claims,
)
from tasks.types.positional_citations.rule_parser import (
    RULE_PARSER_VERSION,
    parse_sentence_by_rules,
)
from tests.scoring.standing_numbers import digest
from tests.tasks.types.standing_parses import BLOCKS, FILE, block, sentence

GOLDEN = {
    "claims.json": ClaimSplittingRules(is_official=True),
    "claims_commas_kept.json": ClaimSplittingRules(),
}
#: The parser's version, and of so many beginnings of sentences what it makes of them.
BEGINNINGS = ("rules-1", 989, "1e8aa79d1c")
WORDS = [
    "the",
    "a",
    "of",
    "in",
    "and",
    ",",
    "but",
    "which",
    "that",
    "to",
    "was",
    "is",
    "running",
    "tested",
    "cat",
    "2001",
    "May",
    "by",
    "nt",
    "",
    "although",
    "who",
    ",",
    "not",
]


def claims_of(sentence: str, rules: ClaimSplittingRules) -> list[tuple[str, list[int]]]:
    text = get_text_to_parse(sentence, rules)
    split = split_into_claims(
        sentence, parse_sentence_by_rules(text) if text else None, rules
    )
    return [(claim.text, list(claim.marks)) for claim in split.claims]


@pytest.mark.shared
def test_four_of_five_golden_claims_come_out_word_for_word(shared):
    golden = found = 0
    for name, rules in GOLDEN.items():
        for case in json.loads((shared / "aliice" / "golden" / name).read_text())[
            "cases"
        ]:
            own = claims_of(case["sentence"], rules)
            expected = [
                (each["text"], each["citations"])
                for each in case["result"]["claims"]
                if each["citations"]
            ]
            golden += len(expected)
            found += sum(claim in own for claim in expected)
    assert golden == 130
    assert found / golden >= 0.8


@pytest.mark.parametrize(
    ("sentence", "claims"),
    [
        ("Oslo is wet [1], but Rome is dry [2].", ["Oslo is wet", "Rome is dry"]),
        (
            "Cups are made of glass [1] or clay [2].",
            ["Cups are made of glass or", "Cups are made of clay"],
        ),
        (
            "The war ended in 1648 [1], leaving towns poor [2].",
            ["The war ended in 1648", "leaving towns poor"],
        ),
        (
            "In 1969 [1], Armstrong walked on the Moon [2].",
            ["In 1969", "Armstrong walked on the Moon"],
        ),
        ("Although sales fell [1], profits rose [2].", None),
    ],
)
def test_clauses_lists_and_phrases_are_told_apart(sentence, claims):
    found = [text for text, _marks in claims_of(sentence, ClaimSplittingRules())]
    assert found == claims if claims else len(found) == 1


@pytest.mark.parametrize("number", range(0, BLOCKS, 10))
def test_what_it_makes_of_a_sentence_stands_until_its_version_is_raised(number):
    expected = json.loads(FILE.read_text())
    assert expected["version"] == RULE_PARSER_VERSION
    numbers = range(number, number + 10)
    assert [block(one) for one in numbers] == [
        expected["blocks"][one] for one in numbers
    ]


def test_what_it_makes_of_every_beginning_of_a_sentence_stands_until_its_version_is_raised():
    """Where a sentence ends early, nothing follows that could tell of what stands last."""
    assert BEGINNINGS[0] == RULE_PARSER_VERSION
    words = [
        sentence(random.Random(f"beginnings {number}")).split(" ")
        for number in range(40)
    ]
    found = [
        parse_sentence_by_rules(" ".join(own[:most]))
        for own in words
        for most in range(1, len(own) + 1)
    ]
    assert (len(found), digest(found)) == BEGINNINGS[1:]


def test_whatever_it_is_given_is_a_tree_with_one_root():
    draw = random.Random(30)
    for _ in range(2000):
        text = " ".join(draw.choices(WORDS, k=draw.randrange(1, 14)))
        found = parse_sentence_by_rules(text)
        assert found.relations.count(ROOT_RELATION) == 1 or not found.tokens
        for token in range(len(found.tokens)):
            way = [token]
            while found.relations[way[-1]] != ROOT_RELATION:
                way.append(found.heads[way[-1]])
                assert len(way) <= len(found.tokens), text


def test_no_text_has_no_tokens():
    assert parse_sentence_by_rules("").tokens == ()


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("Rain covers sand in June with wind", "sand"),
        ("Rain covers sand with wind in June", "covers"),
        ("Rain covers sand with June wind", "covers"),
        ("Rain covers sand with old June wind", "covers"),
        ("Rain covers sand with old old June", "sand"),
    ],
)
def test_a_date_is_said_of_the_verb_and_no_other_phrase_behind_an_object(text, head):
    parsed = parse_sentence_by_rules(text)
    place = parsed.tokens.index("in" if text.endswith("in June") else "with")
    assert parsed.tokens[parsed.heads[place]] == head


@pytest.mark.parametrize(
    "text", ["Prices rise while falling in May", "Sand moves although falling"]
)
def test_a_participle_behind_a_conjunction_is_the_verb_of_its_clause(text):
    parsed = parse_sentence_by_rules(text)
    place = parsed.tokens.index("falling")
    assert (parsed.tokens[parsed.heads[place]], parsed.relations[place]) == (
        parsed.tokens[1],
        "advcl",
    )
    assert (parsed.heads[place - 1], parsed.relations[place - 1]) == (place, "mark")


@pytest.mark.parametrize("verb", ["is", "was", "can"])
def test_a_word_that_a_last_verb_is_said_of_is_no_participle(verb):
    parsed = parse_sentence_by_rules(f"Sand moves, falling {verb}")
    assert (parsed.tokens[3], parsed.tokens[parsed.heads[3]]) == ("falling", verb)
