"""The classes that breakdowns are made of begin and end where their names say."""

# Tables of cases are read across.
# ruff: noqa: E501

import json

import pytest

from tasks.types import task_types
from tasks.types.citation_recommendation import explain_contradictory_recall_and_mrr
from tasks.types.positional_citations.claims import (
    ClaimSplittingRules,
    get_text_to_parse,
)
from tasks.types.positional_citations.sentences import (
    SENTENCE_SPLITTERS_BY_NAME,
    move_leading_marks_to_previous,
)
from tests.scoring.standing_numbers import said
from tests.tasks.types.standing_reading import file, lines

TYPES = task_types()


def pairs(slug, gold, run, rules="corrected", **given):
    kind = TYPES[slug]
    options = kind.validate_options(given)
    split = kind.gold_of(gold, options)
    answers, problems = kind.read_run(run, split.index, options)
    return kind.pairs_of(split, answers, rules, options), said(problems), split


def text_pairs(*records, dataset="lu", **answers):
    gold = file(
        f"{dataset}.jsonl",
        lines([{"id": str(n), **record} for n, record in enumerate(records)]),
    )
    run = file(
        "run.jsonl",
        lines(
            [
                {"id": str(n), "prediction": answers.get(f"_{n}", "x")}
                for n in range(len(records))
            ]
        ),
    )
    return pairs("citation-text", [gold], [run])


@pytest.fixture
def answered(tmp_path):
    """What becomes of one answer, each of its clauses parsed as one word after the other."""

    def pairs_of(output, passages=1, rules="corrected"):
        splitting = ClaimSplittingRules(is_official=rules == "official")
        split = [split(output) for split in SENTENCE_SPLITTERS_BY_NAME.values()]
        moved = [
            move_leading_marks_to_previous(own, is_official=splitting.is_official)
            for own in split
        ]
        rows = []
        for text in {
            get_text_to_parse(one, splitting) for own in (*split, *moved) for one in own
        } - {None}:
            tokens = text.split(" ")
            relations = ["ROOT", *["dep"] * (len(tokens) - 1)]
            rows.append(
                {
                    "text": text,
                    "tokens": tokens,
                    "heads": [0] * len(tokens),
                    "relations": relations,
                }
            )
        (tmp_path / "parses.jsonl").write_text(lines(rows))
        gold = [
            {
                "id": "q",
                "question": "Why?",
                "docs": [{"text": "t"}] * passages,
                "answer": "a",
            }
        ]
        run = file("run.jsonl", lines([{"id": "q", "output": output}]))
        given = {"parser": str(tmp_path / "parses.jsonl"), "entailment": "word-overlap"}
        return pairs(
            "positional-citations",
            [file("gold.json", json.dumps(gold))],
            [run],
            rules,
            **given,
        )

    return pairs_of


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (24, "under 25 words"), (25, "25 to 49 words"), (49, "25 to 49 words"), (50, "50 to 99 words"), (99, "50 to 99 words"),
        (100, "100 to 199 words"), (199, "100 to 199 words"), (200, "200 words or more"),
    ],
)  # fmt: skip
def test_texts_and_answers_are_parted_by_their_words(answered, words, expected):
    found, *_ = text_pairs({"input": ["a"], "target": "w " * words})
    assert found.features["target_length"] == [(expected,)]
    found, *_ = answered("w " * words + "[1]")
    assert set(found.features["length"]) == {(expected,)}


@pytest.mark.parametrize(
    ("cited", "expected"), [(1, "1"), (4, "4"), (5, "5 or more"), (6, "5 or more")]
)
@pytest.mark.parametrize(("empty", "told"), [(0, "none"), (1, "some"), (9, "all")])
def test_citation_texts_are_parted_by_their_cited_papers_and_those_without_abstract(
    cited, expected, empty, told
):
    texts = ["" if n < empty else "a" for n in range(cited)]
    found, _, split = text_pairs(
        {"input": ["<abs> b </abs>", *texts], "target": "c"},
        {"input": ["a"], "target": "c"},
    )
    assert found.features["cited_papers"] == [(expected,), ("1",)]
    assert found.features["empty_abstracts"] == [
        ("all" if empty >= cited else told,),
        ("none",),
    ]
    count = min(empty, cited)
    assert list(split.notes) == [
        f"lu: {count} empty cited abstracts in 1 of 2 instances"
    ] * bool(empty)


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (0, "under a quarter"), (2, "under a quarter"), (3, "a quarter to half"), (5, "a quarter to half"), (6, "half to three quarters"),
        (8, "half to three quarters"), (9, "three quarters or more"), (12, "three quarters or more"),
    ],
)  # fmt: skip
def test_texts_are_parted_by_what_their_inputs_do_not_tell(missing, expected):
    """Twelve words of four letters, and numbers; shorter words, capitals and marks do not count."""
    words = [*(f"wor{letter}" for letter in "abcdefghij"), "2017", "5"]
    shown = f"<abs>{' '.join(words[missing:]).upper()}</abs>"
    target = " ".join((*words, "the [0] [7]"))
    found, *_ = text_pairs(
        {"input": [shown, "it"], "target": target},
        {"input": ["a"], "target": "the [0] it"},
    )
    assert found.features["unseen_words"] == [(expected,), ("under a quarter",)]


def test_targets_with_damaged_marks_are_counted_and_those_without_are_not():
    records = [
        {"input": ["a"], "target": target}
        for target in ("b [0]9 [0]1.", "c [0].", "d [0]2.")
    ]
    _, _, split = text_pairs(*records)
    assert split.notes == ("lu: 3 damaged marks such as `[2]9` in 2 of 3 targets",)
    _, _, split = text_pairs({"input": ["a"], "target": "b [0]"}, dataset="xing")
    assert [note.partition(": the benchmark")[0] for note in split.notes] == ["xing"]


@pytest.mark.parametrize(
    ("marks", "told"),
    [
        (range(5), "[1], [2], [3], [4], [5] stand"), (range(6), "[1], [2], [3], [4], [5] and others stand"),
        ([0, 0], "[1] stand"),
    ],
)  # fmt: skip
def test_five_marks_without_a_paper_are_named_and_more_are_others(
    answered, marks, told
):
    """In a citation text, where counting begins at 0, and in an answer, where it begins at 1."""
    text = "x " + "".join(f"[{mark + 1}]" for mark in marks)
    _, problems, _ = text_pairs({"input": ["a"], "target": "b"}, _0=text)
    assert [
        told in problem.replace(" for no cited paper", "") for problem in problems
    ] == [True]
    assert "marks from [0] to [0]" in problems[0]
    damaged = "x " + "".join(f"[{mark}]7" for mark in marks)
    _, problems, _ = text_pairs({"input": ["a"], "target": "b"}, _0=damaged)
    assert ("and others: digits" in problems[0]) is (len(marks) == 6)
    _, problems, _ = answered(text, passages=0)
    assert told in problems[0]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (20, "up to 20 words"),
        (21, "21 to 50 words"),
        (50, "21 to 50 words"),
        (51, "over 50 words"),
    ],
)
@pytest.mark.parametrize(
    ("marks", "counted"), [(1, "1"), (3, "3"), (4, "4 or more"), (5, "4 or more")]
)
def test_sentences_are_parted_by_their_words_and_marks(
    answered, words, expected, marks, counted
):
    found, *_ = answered("w " * words + "[1]" * marks + ".")
    assert set(found.features["sentence_length"]) == {(expected,)}
    assert set(found.features["marks_per_sentence"]) == {(counted,)}
    assert set(found.features["mark_position"]) == {("last third",)}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("a [1] b c d e.", "first third"),
        ("[1] b.", "second third"),
        ("a b [1] c d e", "second third"),
        ("a b c [1] e f", "last third"),
    ],
)
def test_a_mark_at_the_end_of_a_third_is_in_the_next(answered, output, expected):
    found, *_ = answered(output)
    assert found.features["mark_position"][0] == (expected,)


@pytest.mark.parametrize(("passages", "outside"), [(0, 4), (1, 2), (2, 1), (3, 0)])
def test_in_the_released_programs_mark_0_is_the_last_passage_where_there_is_one(
    answered, passages, outside
):
    text = "Rain [0] falls [1] [2] [3]."
    found, *_ = answered(text, passages, rules="official")
    assert found.notes["out_of_range_marks"] == outside
    found, *_ = answered(text, passages)
    assert found.notes["out_of_range_marks"] == 4 - passages


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (9, "1 to 9"),
        (10, "10 to 19"),
        (19, "10 to 19"),
        (20, "20 to 49"),
        (49, "20 to 49"),
        (50, "50 to 99"),
        (99, "50 to 99"),
        (100, "100 or more"),
    ],
)
@pytest.mark.parametrize(
    ("wanted", "group"), [(1, "1"), (3, "3"), (4, "4 or more"), (5, "4 or more")]
)
def test_contexts_are_parted_by_the_choices_and_by_what_is_cited(
    count, expected, wanted, group
):
    references = [
        {"paper_id": "p", "ref_id": f"r{n}", "raw": "x"} for n in range(count)
    ]
    context = {"context_id": "c", "paper_id": "p", "section": "", "zone": "", "sentence": "<REF>.", "before": "", "after": "", "gold": [f"r{n}" for n in range(wanted)], "n_markers": 1}  # fmt: skip
    gold = [
        file(
            "papers.jsonl",
            lines([{"paper_id": "p", "title": "t", "discipline": "d", "year": 2020}]),
        ),
        file("references.jsonl", lines(references)),
        file("contexts.jsonl", lines([context])),
    ]
    found, *_ = pairs(
        "citation-resolution",
        gold,
        [file("run.jsonl", lines([{"id": "c", "ranked": ["r0"]}]))],
    )
    assert [list(found.features["candidates"]), list(found.features["group_size"])] == [
        [(expected,)],
        [(group,)],
    ]


@pytest.mark.parametrize(("count", "left_out"), [(7, 1), (8, 0), (9, 0)])
def test_under_the_official_rules_papers_with_eight_candidates_count(count, left_out):
    references = [
        {"paper_id": "p", "ref_id": f"r{n}", "raw": "x"} for n in range(count)
    ] + [{"paper_id": "o", "ref_id": f"o{n}", "raw": "x"} for n in range(30)]
    context = {"context_id": "c", "paper_id": "p", "section": "", "zone": "", "sentence": "<REF>.", "before": "", "after": "", "gold": ["r0"], "n_markers": 1}  # fmt: skip
    other = {**context, "context_id": "d", "paper_id": "o", "gold": ["o0"]}
    papers = [
        {"paper_id": paper, "title": "t", "discipline": "d", "year": 2020}
        for paper in "po"
    ]
    gold = [
        file("papers.jsonl", lines(papers)),
        file("references.jsonl", lines(references)),
        file("contexts.jsonl", lines([context, other])),
    ]
    run = [file("run.jsonl", lines([{"id": "c", "ranked": ["r0"]}]))]
    found, *_ = pairs("citation-resolution", gold, run, rules="official")
    assert found.notes["contexts_left_out"] == left_out
    assert list(found.names) == ["c", "d"][left_out:]
    assert found.notes["missing_answers"] == 1


@pytest.mark.parametrize(
    ("recall", "mrr", "is_told"),
    [
        (0.2, 0.2, False),
        (0.2, 0.2009, False),
        (0.2, 0.2011, True),
        (0.2, 0.0195, False),
        (0.2, 0.0193, True),
        (0.2, 0.02, False),
    ],
)
def test_figures_contradict_each_other_beyond_what_both_are_rounded_by(
    recall, mrr, is_told
):
    """Both ends of either may be 0.0005 off; what is a tenth of recall is so a tenth of that."""
    assert (
        bool(explain_contradictory_recall_and_mrr(recall, mrr, rounding=0.0005))
        is is_told
    )


@pytest.mark.parametrize(
    ("mark", "told"), [("999999999", "999999999"), ("000000002", "2"), ("1000000001", "1000000000"), ("9" * 5000, "1000000000")]
)  # fmt: skip
def test_a_mark_of_more_than_nine_digits_is_one_beyond_all_passages(
    answered, mark, told
):
    found, problems, _ = answered(f"Rain falls [{mark}].")
    assert problems[0].startswith(f"run.jsonl:1: [{told}] stand for no passage")
    assert found.notes["out_of_range_marks"] == 1
