"""A task names what files use for its fields and answers: the same in gold and runs, and refused by line."""

import io
import json
from functools import partial

import pytest

from tasks.types import InputRefused
from tasks.types.declared.folder import read_declaration
from tasks.types.files import InputFile
from tasks.types.problems import select_fatal_problems
from tasks.types.runs import read_run

TOML = """[task]
slug = "own"
title = "Own"
form = "{form}"
dimensions = ["{field}"]

[task.gold]
field = "{field}"
{gold}

[task.answer]
{answer}

[[task.rules]]
name = "corrected"
measures = ["{measure}"]
"""
YES_NO = 'labels = ["yes", "no"]\nprobabilities = "optional"\nconfidence = "optional"'


def declared(form, field, answer, measure, gold=""):
    text = TOML.format(
        form=form, field=field, answer=answer, measure=measure, gold=gold
    )
    return read_declaration({"task.toml": text})


def sent(name, content):
    text = content if isinstance(content, str) else lines(content)
    return InputFile(name, name, partial(io.BytesIO, text.encode()))


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def answers_of(kind, gold, content, name="run.jsonl"):
    split = kind.gold_of([sent("gold.jsonl", gold)], {})
    answers, problems = read_run(kind, [sent(name, content)], split.index, {})
    assert not select_fatal_problems(problems), problems
    return split, answers


PAIRS = [{"pair": "a", "gold": 1}, {"pair": "b", "gold": False}]
OF_PAIRS = 'id = "pair"\nvalues = { 1 = "yes", true = "yes", 0 = "no", false = "no" }'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.jsonl", [{"pair": "a", "pred": 1}, {"pair": "b", "pred": "no"}]),
        ("run.jsonl", [{"pair": "a", "pred": True}, {"pair": "b", "pred": False}]),
        ("run.csv", "pred,pair\n1,a\n0,b\n"),
    ],
)
def test_gold_and_runs_have_the_names_and_values_that_their_files_use(name, content):
    kind = declared("labels", "gold", f'field = "pred"\n{YES_NO}', "accuracy", OF_PAIRS)
    split, answers = answers_of(kind, PAIRS, content, name)
    assert answers == {"a": "yes", "b": "no"}
    pairs = kind.pairs_of(split, answers, "corrected", {})
    assert list(map(str, pairs.gold)) == ["yes", "no"]
    assert list(pairs.features["gold"]) == [("yes",), ("no",)]


def test_runs_may_have_an_id_values_and_further_fields_of_their_own():
    answer = (
        'id = "pair"\nfield = "out.label"\nvalues = { Y = "yes", N = "no" }\n'
        f'fields = {{ probabilities = "probs", confidence = "sure" }}\n{YES_NO}'
    )
    kind = declared("labels", "gold", answer, "accuracy")
    run = [{"pair": "a", "out": {"label": "Y"}, "probs": {"Y": 0.75, "N": 0.25}}]
    gold = [{"id": "a", "gold": "yes"}]
    _, answers = answers_of(kind, gold, run)
    assert answers["a"].probabilities == {"yes": 0.75, "no": 0.25}
    table = "pair,out.label,sure\na,N,0.5\n"
    _, answers = answers_of(kind, gold, table, "run.csv")
    assert (answers["a"], answers["a"].confidence) == ("no", 0.5)


def test_tables_of_rankings_have_columns_of_other_names():
    answer = (
        'candidates = "pool"\nid = "claim_id"\n'
        'fields = { document = "abstract_id", rank = "place" }'
    )
    kind = declared("ranking", "answers", answer, "mrr@5", 'shown = ["pool"]')
    gold = [{"id": "q", "pool": ["d1", "d2"], "answers": ["d2"]}]
    table = "claim_id,abstract_id,place\nq,d1,2\nq,d2,1\n"
    _, run = answers_of(kind, gold, table, "run.csv")
    assert [*run.lists] == [(1, 0)]


def test_numbers_spans_and_evidence_are_written_in_words_of_the_file():
    kind = declared("numbers", "score", "", "mae", "values = { low = 1, high = 5 }")
    gold = [{"id": "a", "score": ["low", 3]}]
    split, answers = answers_of(kind, gold, "id,score\na,high\n", "run.csv")
    assert (split.content.instances[0].gold, answers) == (2.0, {"a": 5.0})
    values = 'values = { C = "cited" }'
    kind = declared("spans", "spans", 'labels = ["cited"]', "strict_f1", values)
    rows = [{"id": "a", "text": "Some text", "spans": [[0, 4, "C"]]}]
    split, answers = answers_of(kind, rows, rows)
    assert answers["a"] == split.content.instances[0].gold == ((0, 4, "cited"),)
    answer = 'labels = ["SUPPORT"]\nshape = "sets"\n[task.pool]\nfile = "pool.jsonl"'
    values = 'values = { "+" = "SUPPORT" }'
    kind = declared("evidence", "evidence", answer, "sentence_label_f1", values)
    gold = {"id": "a", "evidence": {"7": [{"sentences": [0], "label": "+"}]}}
    pool = sent("pool.jsonl", [{"doc_id": "7", "abstract": ["One."]}])
    split = kind.gold_of([sent("gold.jsonl", [gold]), pool], {})
    run = [{"id": "a", "evidence": {"7": {"sentences": [0], "label": "+"}}}]
    answers, problems = read_run(kind, [sent("run.jsonl", run)], split.index, {})
    assert answers == {"a": {"7": ("SUPPORT", (0,))}}, problems


@pytest.mark.parametrize(
    ("form", "gold", "answer", "words"),
    [
        ("labels", "feild = 1", YES_NO, "no key “feild” here (did you mean “field”?)"),
        ("labels", 'value = "x"', YES_NO, "did you mean “values”?"),
        ("labels", 'values = { 1 = "yse" }', YES_NO, "no label (did you mean “yes”?)"),
        ("labels", "values = { 1 = 1 }", YES_NO, "“1” means a number"),
        ("labels", 'values = { no = "yes" }', YES_NO, "“no” is a label itself"),
        ("labels", "", f'idd = "x"\n{YES_NO}', "(did you mean “id”?)"),
        (
            "labels",
            "",
            f'fields = {{ confidance = "x" }}\n{YES_NO}',
            "(did you mean “confidence”?)",
        ),
        (
            "text",
            'values = { 1 = "yes" }',
            "",
            "“values” says nothing of the form text",
        ),
        ("text", "", 'fields = { a = "b" }', "“fields” says nothing of the form text"),
        ("numbers", "values = { 1 = 5 }", "", "“1” is a number itself"),
    ],
)
def test_a_mapping_that_cannot_be_meant_is_refused_with_the_nearest_name(
    form, gold, answer, words
):
    measure = {"labels": "accuracy", "text": "exact_match", "numbers": "mae"}[form]
    with pytest.raises(InputRefused) as refused:
        declared(form, "gold", answer, measure, gold)
    said = " ".join(map(str, refused.value.problems))
    assert words in said
    assert "task.toml:" in said


def test_a_task_without_a_mapping_keeps_its_digest():
    kind = declared("labels", "gold", 'labels = ["yes", "no"]', "accuracy")
    digest = "43a4d5d8aefbe999c3f9e21c174125d5e775455f45b5faf2f80771e2af38fafe"
    assert kind.declared.digest == digest
