"""`check --json` prints the problems of every type, also of a run that is refused."""

import json

import pytest

from scoring.__main__ import main
from tasks.types import task_types
from tests.tasks.test_every_type import sample, sample_options

TYPES = task_types()


def check(capsys, *words: str) -> tuple[int, dict, str]:
    status = main(["check", *words, "--json"])
    told = capsys.readouterr()
    return status, json.loads(told.out), told.err


@pytest.mark.parametrize("name", TYPES)
def test_a_refused_run_has_its_problems_with_severity_on_standard_output(
    name, capsys, tmp_path
):
    gold, run, _ = sample(TYPES[name])
    given = [name, "--gold", *map(str, gold), *sample_options(TYPES[name])]
    status, result, _ = check(capsys, *given, "--run", str(run))
    assert status == 0
    assert {"task_type", "run", "warnings", "problems"} <= result.keys()
    assert len(result["problems"]) == len(result["warnings"])
    assert {one["severity"] for one in result["problems"]} <= {"warning"}
    wrong = tmp_path / "run.jsonl"
    wrong.write_text("no JSON\n")
    status, result, told = check(capsys, *given, "--run", str(wrong))
    assert status == 2
    assert (
        result["problems"][0].items()
        >= {"severity": "error", "file": str(wrong)}.items()
    )
    assert result["problems"][0]["message"] in told


def test_a_command_that_is_refused_says_why_as_a_problem(capsys, tmp_path):
    run = str(tmp_path / "none.jsonl")
    gold = ["--gold", str(sample(TYPES["citation-text"])[0][0])]
    for words, message in (
        (["no-type", *gold, "--run", run], "there is no task type “no-type”"),
        (["citation-text", *gold, "--run", run], "no such file"),
        (["citation-text", *gold, "--run", run, "--option", "x=1"], "no option “x”"),
    ):
        status, result, _ = check(capsys, *words)
        assert status == 2
        [problem] = result["problems"]
        assert (problem["severity"], problem["line"]) == ("error", None)
        assert message in problem["message"]
