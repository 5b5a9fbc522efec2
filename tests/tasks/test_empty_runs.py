"""A run that answers nothing is refused in one sentence, whatever its task; half an empty one is warned."""

import json

import pytest

from scoring.__main__ import main
from tasks.types import task_types
from tests.declared.folders import EXAMPLES
from tests.tasks.test_every_type import sample, sample_options

SENTENCE = "the run answers no instance of the split"
#: By built-in type: what empties the answer of a line.
EMPTY = {
    "clsumm-1a": {"sentences": []},
    "clsumm-1b": {"facets": ["colour"]},
    "clsumm-2": {"summary": " \n"},
    "citation-text": {"prediction": " "},
    "citation-recommendation": {"ranked": []},
    "citation-resolution": {"ranked": []},
    "positional-citations": {"output": "\t"},
    "judge-leaderboards": None,
}
DECLARED = {
    "citation-intent": None,
    "source-retrieval": {"ranking": []},
    "citation-spans": None,
}
#: What says nothing and is an answer all the same.
ANSWERS = {"claims-and-evidence": {"evidence": {}}, "citation-spans": {"spans": []}}


def told(capsys, task_type, gold, run, *more):
    status = main(
        ["check", task_type, "--gold", *map(str, gold), "--run", str(run), *more]
    )
    words = capsys.readouterr()
    return status, words.out + words.err


def declared(name):
    own = EXAMPLES / name / "sample"
    return (
        str(EXAMPLES / name),
        [own / "gold" if (own / "gold").exists() else own / "gold.jsonl"],
        own / "run.jsonl",
    )


@pytest.mark.parametrize("name", [*EMPTY, *DECLARED])
def test_a_run_without_answers_and_one_of_empty_answers_are_refused_in_one_sentence(
    name, capsys, tmp_path
):
    kind = task_types().get(name)
    task_type, (gold, run), more = (
        (name, sample(kind)[:2], sample_options(kind))
        if kind
        else (declared(name)[0], declared(name)[1:], [])
    )
    lines = [json.loads(line) for line in run.read_text().splitlines()]
    emptied = tmp_path / "run.jsonl"
    for change in filter(None, [{**EMPTY, **DECLARED}[name]]):
        emptied.write_text("".join(json.dumps(line | change) + "\n" for line in lines))
        status, words = told(capsys, task_type, gold, emptied, *more)
        assert status == 2
        assert f"{SENTENCE}: {len(lines)} answers are empty or not allowed" in words
        half = [
            line | change if place % 2 == 0 else line
            for place, line in enumerate(lines)
        ]
        if len(lines) > 1:
            emptied.write_text("".join(json.dumps(line) + "\n" for line in half))
            status, words = told(capsys, task_type, gold, emptied, *more)
            assert status == 0
            assert f"of {len(lines)} answers are empty or not allowed" in words
    emptied.write_text(
        json.dumps({**lines[0], "topic": "X"}) if name.startswith("clsumm") else ""
    )
    status, words = told(capsys, task_type, gold, emptied, *more)
    assert (status, SENTENCE in words) == (2, True)


@pytest.mark.parametrize("name", ANSWERS)
def test_no_evidence_and_no_span_are_answers(name, capsys, tmp_path):
    task_type, gold, run = declared(name)
    lines = [json.loads(line) | ANSWERS[name] for line in run.read_text().splitlines()]
    emptied = tmp_path / "run.jsonl"
    emptied.write_text("".join(json.dumps(line) + "\n" for line in lines))
    status, words = told(capsys, task_type, gold, emptied)
    assert (status, "empty" in words) == (0, False)
