"""`task official` compares a run with its official number under each rule set of a folder."""

import json

import pytest

from scoring.__main__ import main

TOML = """[task]
slug = "own"
title = "Own"
form = "labels"
[task.gold]
field = "label"
shown = ["text"]
[task.answer]
labels = ["a", "b", "c"]
[[task.rules]]
name = "corrected"
measures = ["macro_f1", "accuracy"]
[[task.rules]]
name = "official-2020"
measures = ["macro_f1"]
zero = "left-out"
"""


@pytest.fixture
def official(tmp_path, capsys):
    """Return exit code, output and errors of the command for a valid run."""
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "task.toml").write_text(TOML, encoding="utf-8")
    gold = [{"id": f"x{n}", "text": "T.", "label": "ab"[n % 2]} for n in range(4)]
    paths = {"gold": tmp_path / "gold.jsonl", "run": tmp_path / "run.jsonl"}
    for path in paths.values():
        path.write_text("".join(json.dumps(row) + "\n" for row in gold))

    def run(number: str, *more: str, answers: str = ""):
        if answers:
            paths["run"].write_text(answers)
        words = ["task", "official", str(folder), "--gold", str(paths["gold"])]
        code = main([*words, "--run", str(paths["run"]), "--number", number, *more])
        return code, *capsys.readouterr()

    return run


def test_each_rule_set_is_compared_and_one_with_the_number_is_enough(official):
    code, said, _ = official("macro_f1=100.0")
    assert code == 0
    assert said.splitlines() == [
        "corrected: macro_f1 official 100.0, here 66.7, difference -33.3",
        "official-2020: macro_f1 official 100.0, here 100.0, difference 0.0",
    ]


def test_a_number_that_no_rule_set_has_is_told_by_the_exit_code(official):
    code, said, _ = official("macro_f1=0.71", "--json")
    assert code == 1
    found = json.loads(said)
    assert found["measure"] == "macro_f1"
    assert [own["here"] for own in found["rules"].values()] == ["0.67", "1.00"]


def test_a_measure_of_one_rule_set_is_compared_there_alone(official):
    code, said, _ = official("accuracy=1")
    assert (code, said) == (0, "corrected: accuracy official 1, here 1, difference 0\n")


@pytest.mark.parametrize(
    ("number", "told"),
    [
        ("91.7", "expected MEASURE=NUMBER"),
        ("macro_f1=often", "expected MEASURE=NUMBER"),
        ("macro_f1=inf", "expected MEASURE=NUMBER"),
        ("mcc=1", "the measures are macro_f1, accuracy"),
    ],
)
def test_a_number_that_is_none_is_refused(official, number, told):
    code, _, errors = official(number)
    assert code == 2
    assert told in errors


def test_a_run_that_cannot_be_read_is_refused_by_line(official):
    code, _, errors = official("accuracy=1", answers='{"id": "x0", "label": "z"}\n')
    assert code == 2
    assert "run.jsonl:1: “z” is no label" in errors
