"""Gold and answers of the two forms of evidence that are wrong are named; those that are right are read."""

import json

import pytest

from tasks.types import InputRefused
from tasks.types.files import open_input_files
from tasks.types.forms.evidence import (
    EvidenceSetsTask,
    SingleVerdictTask,
    VerdictWithEvidence,
)

LABELS = {
    "labels": ("YES", "NO"),
    "abstain": "OPEN",
    "field": "evidence",
    "pool_file": "corpus.jsonl",
}
ONE, SETS = SingleVerdictTask(**LABELS), EvidenceSetsTask(**LABELS)
POOL = [
    {"doc_id": "d1", "abstract": ["a", "b", "c"]},
    {"doc_id": "d2", "abstract": ["d"]},
]


def read(tmp_path, form, claim, answer=None, pool=POOL):
    """The claim's gold, or the answer to it, or what is wrong with either."""
    folder = tmp_path / "gold"
    folder.mkdir()
    for name, rows in (
        ("claims.jsonl", [{"id": "1", **claim}]),
        ("corpus.jsonl", pool),
    ):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    try:
        split = form.read_gold(open_input_files(folder), {})
    except InputRefused as refused:
        return [problem.message for problem in refused.problems]
    if answer is None:
        return split.content.instances[0].gold
    run = tmp_path / "run.jsonl"
    run.write_text(json.dumps({"id": "1", **answer}) + "\n")
    answers, problems = form.read_run(open_input_files(run), split.index, {})
    return [problem.message for problem in problems] or answers["1"]


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        (
            {"label": "YES", "evidence": [["d1:0", "d1:2"], ["d2:0"]]},
            VerdictWithEvidence(
                "YES", (frozenset({"d1:0", "d1:2"}), frozenset({"d2:0"}))
            ),
        ),
        ({"label": "OPEN", "evidence": []}, VerdictWithEvidence("OPEN", ())),
        ({"label": "OPEN"}, VerdictWithEvidence("OPEN", ())),
        ({"label": "YES", "evidence": []}, ["“evidence” is empty"]),
        (
            {"label": "YES", "evidence": [["d1:0"], []]},
            ["“evidence” is no list of evidence sets"],
        ),
        (
            {"label": "YES", "evidence": [["d1:0", 2]]},
            ["“evidence” is no list of evidence sets"],
        ),
        (
            {"label": "YES", "evidence": ["d1:0"]},
            ["“evidence” is no list of evidence sets"],
        ),
        (
            {"label": "YES", "evidence": {"d1": 0}},
            ["“evidence” is no list of evidence sets"],
        ),
        ({"label": "MAYBE", "evidence": [["d1:0"]]}, ["“MAYBE” is no label"]),
        ({"label": 3, "evidence": [["d1:0"]]}, ["“label” is a number"]),
        ({"evidence": [["d1:0"]]}, ["“label” is missing"]),
    ],
)
def test_gold_of_one_label(tmp_path, claim, found):
    assert read(tmp_path, ONE, claim) == found


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (
            {"label": "YES", "evidence": ["d1:2", "d2:0"]},
            VerdictWithEvidence("YES", ("d1:2", "d2:0")),
        ),
        ({"label": "OPEN"}, VerdictWithEvidence("OPEN", ())),
        ({"label": "YES", "evidence": ["d1:3"]}, ["document “d1” has no sentence 3"]),
        ({"label": "YES", "evidence": ["d3:0"]}, ["document “d3” is not in the pool"]),
        ({"label": "YES", "evidence": ["d1"]}, ["document “” is not in the pool"]),
        (
            {"label": "YES", "evidence": ["d1:x"]},
            ["“sentences” of “d1” is no list of whole numbers"],
        ),
        ({"label": "YES", "evidence": ["d1:0", 1]}, ["“evidence” is no list of texts"]),
        ({"label": "YES", "evidence": "d1:0"}, ["“evidence” is no list of texts"]),
        ({"label": "MAYBE", "evidence": []}, ["“MAYBE” is no label"]),
    ],
)
def test_answers_of_one_label(tmp_path, answer, found):
    claim = {"label": "YES", "evidence": [["d1:0"]]}
    told = read(tmp_path, ONE, claim, answer)
    assert told[: len(found)] == found if isinstance(found, list) else told == found


@pytest.mark.parametrize(
    ("evidence", "found"),
    [
        (
            {
                "d1": {"label": "YES", "sentences": [2, 0]},
                "d2": {"label": "NO", "sentences": [0]},
            },
            {"d1": ("YES", (2, 0)), "d2": ("NO", (0,))},
        ),
        ({}, {}),
        ({"d1": {"label": "OPEN", "sentences": [0]}}, {}),
        (
            {"d1": {"label": "YES", "sentences": [-1]}},
            ["document “d1” has no sentence -1"],
        ),
        (
            {"d1": {"label": "YES", "sentences": [True]}},
            ["“sentences” of “d1” is no list of whole numbers"],
        ),
        (
            {"d9": {"label": "YES", "sentences": [0]}},
            ["document “d9” is not in the pool"],
        ),
        ({"d1": [0]}, ["document “d1” is a list"]),
        ([0], ["“evidence” is a list"]),
    ],
)
def test_answers_by_document(tmp_path, evidence, found):
    claim = {"evidence": {"d1": [{"sentences": [1], "label": "YES"}]}}
    told = read(tmp_path, SETS, claim, {"evidence": evidence})
    assert told[: len(found)] == found if isinstance(found, list) else told == found


@pytest.mark.parametrize(
    ("pool", "found"),
    [
        ([{"abstract": []}], "“doc_id” is missing"),
        ([POOL[0], POOL[0]], "document “d1” is there twice"),
        ([{"doc_id": "d1", "abstract": "a"}], "“abstract” is no list of texts"),
        ([{"doc_id": "d1", "abstract": ["a", 1]}], "“abstract” is no list of texts"),
        ([], "there is no corpus.jsonl, or nothing in it"),
    ],
)
def test_a_pool_that_is_wrong(tmp_path, pool, found):
    assert found in read(tmp_path, ONE, {"label": "OPEN"}, pool=pool)


@pytest.mark.parametrize(
    ("sets", "sentences", "found"),
    [
        ({}, None, " has no list of evidence sets"),
        ([{"sentences": [0], "label": "YES"}], [9], " has no sentence 9"),
    ],
)
def test_of_long_names_of_documents_a_hundred_characters_are_told(
    tmp_path, sets, sentences, found
):
    name = "d" * 120
    answer = (
        {"evidence": {name: {"label": "YES", "sentences": sentences}}}
        if sentences
        else None
    )
    pool = [{"doc_id": name, "abstract": ["a"]}]
    [told] = read(tmp_path, SETS, {"evidence": {name: sets}}, answer, pool)
    assert told.startswith(f"document “{name[:100]}”{found}")


def test_numbers_of_sentences_may_have_more_digits(tmp_path):
    pool = [{"doc_id": "d1", "abstract": [str(place) for place in range(12)]}]
    claim = {"label": "YES", "evidence": [["d1:10"]]}
    answer = {"label": "YES", "evidence": ["d1:10", "d1:9"]}
    found = read(tmp_path, ONE, claim, answer, pool)
    assert found == VerdictWithEvidence("YES", ("d1:10", "d1:9"))
