"""Answers as chat models write them: Markdown, lists, other notations of citations, other scripts."""

import json

import pytest

from scoring.metrics import build_metric
from tasks.types import task_type
from tasks.types.positional_citations.markdown import (
    remove_emphasis_signs,
    split_markdown_into_blocks,
)
from tasks.types.positional_citations.sentences import (
    convert_to_text_without_marks,
    expand_citations_to_single_marks,
    find_unsupported_citations,
    split_into_claim_sentences,
    split_into_sentences_and_headings,
)
from tests.scoring.offline import score

TYPE = "positional-citations"
OPTIONS = ("--intervals", "0", "--option", "entailment=word-overlap")
OPTIONS += ("--option", "parser=rules")
DOCS = [
    {"title": "Rain", "text": "Rain falls."},
    {"title": "Wind", "text": "Wind blows."},
]
RIGHT = ["Rain falls [1].", "Wind blows [2]."]


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("1. Rain falls [1].\n2. Wind blows [2].", RIGHT),
        ("1) Rain falls [1].\n   2) Wind blows [2].", RIGHT),
        ("a. Rain falls [1].\nb. Wind blows [2].", RIGHT),
        ("(i) Rain falls [1].\n(ii) Wind blows [2].", RIGHT),
        ("iv. Rain falls [1].\nv. Wind blows [2].", RIGHT),
        ("ii. Rain falls [1].\niii. Wind blows [2].", RIGHT),
        ("* Rain falls [1].\n+ Wind blows [2].", RIGHT),
        ("- [x] Rain falls [1].\n- [ ] Wind blows [2].", RIGHT),
        ("• Rain falls [1]\n• Wind blows [2]", ["Rain falls [1]", "Wind blows [2]"]),
        ("1. Rain falls [1]. 2. Wind blows [2].", RIGHT),
        ("(1) Rain falls [1]. (2) Wind blows [2].", RIGHT),
        ("i) Rain falls [1].  \nWind blows [2].", RIGHT),
        ("Rain falls [1].\\\nWind blows [2].", RIGHT),
        ("- \n- Rain falls [1].\n-\n- <b>Wind</b><br>blows [2].", RIGHT),
        ("| Rain falls [1]. |\n| Wind blows [2]. |", RIGHT),
        ("> [!NOTE]\n> Rain falls [1].\n\nWind blows [2].", RIGHT),
        ("> Rain falls [1].\n>\n> > Wind blows [2].", RIGHT),
        ("> - Rain\n>   falls [1].\n> - Wind blows [2].", RIGHT),
        ("## Weather\n\nRain falls [1].\n\n**Wind**\n\nWind blows [2].", RIGHT),
        ("# A\nRain falls [1].\n### B ###\nWind blows [2].", RIGHT),
        ("Weather\n=======\nRain falls [1].\n---\nWind blows [2].", RIGHT),
        ("Rain falls [1].\n\n* * *\n\nWind blows [2].\n___", RIGHT),
        ("1. **Rain**\n   - Rain falls [1].\n2. Wind blows [2].", RIGHT),
        ("- **Rain falls**\n- Wind blows [2].", ["Rain falls", RIGHT[1]]),
        ("**Rain falls** [1]. *Wind* __blows__ [2].", RIGHT),
        ("```markdown\nRain falls [1].\n\nWind blows [2].\n```", RIGHT),
        ("Rain falls [1].\n\nWind blows [2].\n\n[^1]: Of rain.\n[2]: Of wind.", RIGHT),
        (
            "| What | How |\n|:---|---:|\n| Rain | falls [1] |\n| Wind | blows [2] |",
            ["Rain falls [1]", "Wind blows [2]"],
        ),
        ("Rain falls [1]. [2]. Wind blows [2].", ["Rain falls [1].[2]", RIGHT[1]]),
        ("Rain falls.\n\n[1]\n\nWind blows [2].", ["Rain falls.[1]", RIGHT[1]]),
        ("Rain falls. [1] [2] —", ["Rain falls.[1][2]"]),
        ("[1]\n\nRain falls.", ["[1]Rain falls."]),
        ("[1]. —", []),
        ("很重要[1]。引用！真的？[2]", ["很重要[1]。", "引用！", "真的？[2]"]),
        ("1、雨。\n（2）风[2]。\n③ 雪。", ["雨。", "风[2]。", "雪。"]),
        ("“很重要。”他说。", ["“很重要。”", "他说。"]),
        # No structure: the initial of a name, a number, a product, a name in a program.
        ("A. Smith found 1.5 of 3 * 4 * 5.", ["A. Smith found 1.5 of 3 * 4 * 5."]),
        ("How many? 42. Of a_b_c.", ["How many?", "42.", "Of a_b_c."]),
        ("How many? 1. Of a_b_c.", ["How many?", "1.", "Of a_b_c."]),
        ("Rain falls [1]\nin Wales.", ["Rain falls [1] in Wales."]),
        ("Rain | snow\nfalls [1].", ["Rain | snow falls [1]."]),
        ("v. Rain [1].\nvii. Wind [2].", ["v. Rain [1].", "vii.", "Wind [2]."]),
    ],
)
def test_structure_is_no_text_and_each_item_is_a_sentence(answer, sentences):
    assert split_into_claim_sentences(answer) == sentences


def test_a_mark_moves_to_the_sentence_before_it_in_its_own_paragraph_alone():
    answer = "Rain falls. [1] Wind blows. [2]\n\n[1] says more."
    assert split_into_claim_sentences(answer, moves_marks=True) == [
        "Rain falls.[1]",
        " Wind blows.[2]",
        "[1] says more.",
    ]


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        ("falls [1, 2].", "falls [1][2]."),
        ("falls [1; 3-5].", "falls [1][3][4][5]."),
        ("falls [1–3] [4].", "falls [1][2][3] [4]."),
        ("falls 【1】【2†source】。", "falls [1][2]。"),
        ("落下［1，2］。", "落下[1][2]。"),
        ("falls [^1][^2].", "falls [1][2]."),
        ("falls [[1]](https://example.org/a).", "falls [1]."),
        ("falls [2](https://example.org/a) [^3](#c).", "falls [2] [3]."),
        # Intervals, years and what runs backwards are no citations.
        ("in [0, 1], [1990-2020], [5-2] and [1-99].", None),
        ("an array x[i] and a [link](other.md) [sic]", None),
    ],
)
def test_every_notation_is_read_as_marks_of_one_passage_each(answer, plain):
    assert expand_citations_to_single_marks(answer) == (
        answer if plain is None else plain
    )


def test_what_looks_like_a_citation_and_is_none_is_named():
    assert find_unsupported_citations("a [5-2], [1, 2] and [5-2] or [1].") == ["[5-2]"]


@pytest.mark.parametrize(
    "citation",
    [
        *(
            "[Source 1]",
            "[source: 1, 2]",
            "[doc1]",
            "[Document 3, p. 4]",
            "【Passage 2】",
        ),
        *("[cite:1]", "[#1]", "[Ref. 2]", "[1 and 2]", "[1 2]", "[1,]", "[2-1]"),
        *(r"\[1\]", r"\[1, 2\]", "¹", "²³", "(1)", "(12)"),
    ],
)
def test_a_notation_that_no_rule_set_reads_is_named(citation):
    assert find_unsupported_citations(f"Rain falls{citation}.") == [citation]
    assert (
        expand_citations_to_single_marks(f"Rain falls{citation}.")
        == f"Rain falls{citation}."
    )


@pytest.mark.parametrize(
    "answer",
    [
        "Rain falls [1]. See [1, 2], [1-2], 【1†source】, [^1] and [2](https://a.b/c).",
        "(1) Rain falls [1]. (2) Wind blows [2].",
        "An area of 5 km² or 10³ m [1].",
        "An area of 5 km² (see Section 3) is in [Smith 2020], [Section 3] and [sic].",
    ],
)
def test_other_brackets_and_numbers_are_no_citations(answer):
    assert find_unsupported_citations(answer) == []


def test_headings_are_text_but_no_sentences():
    answer = "# Rain\n\n- It **falls** [1]. It stops.\n\n|A|\n|-|\n|b|"
    assert split_into_sentences_and_headings(answer) == [
        "Rain",
        "It falls [1].",
        "It stops.",
        "A",
        "b",
    ]
    assert convert_to_text_without_marks(answer) == "Rain\nIt falls. It stops.\nA\nb"


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("**a** *b* ***c*** __d__ _e_", "a b c d e"),
        ("2*3*4 and x * y * z", "2*3*4 and x * y * z"),
        ("这**很重要**。", "这很重要。"),
        ("an **open one", "an **open one"),
    ],
)
def test_emphasis_with_a_partner_is_taken_away(text, bare):
    assert remove_emphasis_signs(text) == bare


def test_long_lines_of_signs_are_read_once():
    for signs in ("> ", "- ", "*a ", "**", "| ", "[1", "1. ", "_", "【1 ", "#"):
        text = signs * 20_000
        assert len(split_markdown_into_blocks(text)) < 2
        assert (
            split_into_claim_sentences(expand_citations_to_single_marks(text))
            is not None
        )


def scored(capsys, folder, output: str, *more: str) -> dict:
    gold = folder / "gold.json"
    question = {"id": "q1", "dataset": "d", "question": "What?", "docs": DOCS}
    short = {"qa_pairs": [{"short_answers": ["Café"]}]}
    gold.write_text(json.dumps([question | short]))
    run = folder / "run.jsonl"
    run.write_text(json.dumps({"id": "q1", "output": output}) + "\n")
    return score(capsys, TYPE, [gold], run, *OPTIONS, *more)


@pytest.mark.parametrize(
    ("answer", "corrected", "official"),
    [
        ("1. Rain falls [1].\n2. Wind blows [2].", 100, 50),
        ("- Rain falls [1]\n- Wind blows [1]", 50, 100),
        ("## Weather\n\nRain falls [1].", 100, 0),
        ("Rain falls and wind blows [1-2].", 100, 0),
        ("Rain falls [^1].", 100, 0),
        ("Rain falls [7].", 0, 0),
        # The program looks for a bracket and digits alone.
        ("Rain falls [1", 0, 100),
    ],
)
def test_the_rules_of_the_program_stay_as_they_are(
    capsys, tmp_path, answer, corrected, official
):
    for rules, recall in (("corrected", corrected), ("official", official)):
        scores = scored(capsys, tmp_path, answer, "--rules", rules)
        assert scores["metrics"]["alce_recall"]["value"] == recall


def test_a_citation_of_no_passage_is_warned_of_by_line(capsys, tmp_path):
    for answer, named in (
        ("Rain falls [1, 7].", "[7] stand for no passage"),
        ("Rain falls 【7】.", "[7] stand for no passage"),
        ("Rain falls [2-1].", "“[2-1]” is read as no citation"),
    ):
        [warning] = scored(capsys, tmp_path, answer)["warnings"]
        assert (warning["line"], warning["message"].startswith(named)) == (1, True)


def test_texts_are_compared_in_nfc_and_the_column_says_so(capsys, tmp_path):
    decomposed = "Cafe\u0301"
    scores = scored(capsys, tmp_path, decomposed)
    recall = scores["metrics"]["em_recall"]
    assert recall["value"] == 100
    assert "|unicode:nfc|" in recall["column"]
    assert recall["column"].endswith("|v:2")
    recall = scored(capsys, tmp_path, decomposed, "--rules", "official")
    recall = recall["metrics"]["em_recall"]
    assert recall["value"] == 0
    assert "unicode" not in recall["column"]
    assert recall["column"].endswith("|v:1")


@pytest.mark.parametrize(
    ("slug", "name"), [(TYPE, "alce_recall"), ("citation-text", "kl_intent")]
)
def test_both_types_that_split_texts_name_one_splitter(slug, name):
    kind = task_type(slug)
    options = kind.validate_options({})
    by_rules = {
        rules: build_metric(kind, name, rules, options).parameters
        for rules in ("corrected", "official")
    }
    key = "splitter" if slug == TYPE else "sentences"
    assert by_rules["corrected"][key] == "rules-2"
    assert by_rules["official"][key] != "rules-2"
