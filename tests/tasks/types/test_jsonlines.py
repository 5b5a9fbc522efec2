"""One answer for each instance as JSON lines: what every type that reads them has in common."""

import subprocess
import sys
from pathlib import Path

import pytest

from scoring.__main__ import main
from tasks.types.files import open_input_files
from tasks.types.jsonlines import (
    MAX_UNLISTED_ERRORS,
    AnswerForm,
    compute_records_digest,
    read_answers,
)
from tasks.types.problems import MAX_STORED_PROBLEMS, TooManyProblems
from tests.tasks.test_every_type import TYPES, sample, sample_options

FORM = AnswerForm(example='{"id": "a", "text": "…"}', noun="text")
KNOWN = ("a", "b", "c")
#: Their runs are no lines with an id each.
OTHERS = ("cited-reports", "judge-leaderboards")
READERS = [
    own for own in TYPES if not own.slug.startswith("clsumm") and own.slug not in OTHERS
]


def read(path: Path, form: AnswerForm = FORM):
    return read_answers(
        open_input_files(path),
        KNOWN,
        lambda _, line: line.text("text", example=form.example),
        form,
    )


def told(problems) -> list[tuple]:
    return [(problem.line, problem.message, problem.fatal) for problem in problems]


def test_answers_are_kept_by_instance_and_the_missing_ones_are_counted(tmp_path):
    run = tmp_path / "run.jsonl"
    run.write_text('{"id": "b", "text": "x", "mood": 3}\n\n{"id": "a", "text": ""}\n')
    answers, problems = read(run)
    assert answers == {"b": "x", "a": ""}
    assert told(problems) == [
        (None, "1 of 3 instances have no text, the first is “c”", False)
    ]


def test_all_that_is_wrong_with_a_line_is_told_with_the_line(tmp_path):
    run = tmp_path / "run.jsonl"
    lines = [
        '{"id": "z", "text": 3}',
        '{"id": [], "text": "x"}',
        '{"text": "x"}',
        '{"id": ""}',
        '{"id": "a"',
    ]
    run.write_text("\n".join(lines))
    _, problems = read(run)
    assert [(line, message) for line, message, _ in told(problems)] == [
        (1, "instance “z” is not in this split"),
        (1, "“text” is a number"),
        (2, "“id” is a list"),
        (3, "“id” is missing; found “text”"),
        (4, "“id” is empty"),
        (4, "“text” is missing; found “id”"),
        (5, "not JSON: Expecting ',' delimiter at column 11"),
    ]


@pytest.mark.parametrize(("later_counts", "kept"), [(True, "second"), (False, "first")])
def test_an_instance_that_is_answered_again_is_refused_or_the_later_answer_counts(
    tmp_path, later_counts, kept
):
    run = tmp_path / "run.jsonl"
    run.write_text(
        "".join(f'{{"id": "a", "text": "{text}"}}\n' for text in ("first", "second"))
    )
    answers, problems = read(run, AnswerForm(example="…", later_counts=later_counts))
    assert answers == {"a": kept}
    assert problems[0].fatal is not later_counts
    assert problems[0].line == 2


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
@pytest.mark.parametrize("name", ["run.jsonl", "run.json"])
def test_what_is_no_finite_number_is_named(tmp_path, number, name):
    run = tmp_path / name
    run.write_text(
        f'[{{"id": "a", "text": {number}}}]'.strip("[]" if name == "run.jsonl" else "")
    )
    _, problems = read(run)
    assert problems[0].message == f"{number} is not a finite number"


@pytest.mark.parametrize("task_type", READERS, ids=[own.slug for own in READERS])
def test_every_type_names_the_number_the_line_and_the_instance_alike(
    task_type, tmp_path, capsys
):
    gold, _, _ = sample(task_type)
    for line, expected in (
        ('{"id": "nobody", "x": 1e999}', "1e999 is not a finite number"),
        ('{"id": "nobody", "x": 1}', "instance “nobody” is not in this split"),
        ('{"x": 1}', "“id” is missing"),
    ):
        run = tmp_path / "run.jsonl"
        run.write_text(line + "\n")
        gold_paths = list(map(str, gold))
        command = [
            "check",
            task_type.slug,
            "--gold",
            *gold_paths,
            "--run",
            str(run),
            *sample_options(task_type),
        ]
        assert main(command) == 2
        assert expected in capsys.readouterr().err


def test_beyond_those_that_are_listed_problems_are_counted(tmp_path):
    run = tmp_path / "run.jsonl"
    run.write_text("{}\n" * 3000)
    _, problems = read(run)
    assert len(problems) == MAX_STORED_PROBLEMS
    assert [problem.message for problem in problems.rest()] == [
        "5,000 more errors are not listed"
    ]


def test_reading_ends_where_nobody_counts_any_more(tmp_path):
    run = tmp_path / "run.jsonl"
    run.write_text("[]\n" * (MAX_STORED_PROBLEMS + MAX_UNLISTED_ERRORS + 1))
    with pytest.raises(TooManyProblems) as refused:
        read(run)
    last = refused.value.problems[-1]
    assert (last.line, last.message) == (
        100_001,
        "stopped after 100,000 errors",
    )
    assert len(refused.value.problems) == MAX_STORED_PROBLEMS + 2


MEASURED = r"""
import re, sys
from pathlib import Path
from tasks.types.files import open_input_files
from tasks.types.jsonlines import AnswerForm, read_answers
from tasks.types.problems import TooManyProblems
form = AnswerForm(example="x", later_counts=True)
def peak():
    # Of this program alone: what getrusage tells begins with the peak of the process that started it.
    return int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])

before = peak()
try:
    read_answers(
        open_input_files(Path(sys.argv[1])),
        ["a"],
        lambda _, line: line.text("text", example="x"),
        form,
    )
except TooManyProblems:
    pass
print(peak() - before)
"""


@pytest.mark.parametrize(
    "line",
    ["{}", "[]", "x", '{"id": "a", "text": "x"}'],
    ids=["empty", "list", "word", "again"],
)
def test_a_file_of_many_lines_takes_the_memory_of_a_few(root, tmp_path, line):
    """7.8 MB of empty objects once took gigabytes."""
    run = tmp_path / "run.jsonl"
    run.write_text(
        f"{line}\n" * (7_800_000 // (len(line) + 1) if len(line) < 5 else 20_000)
    )
    told = subprocess.run(
        [sys.executable, "-c", MEASURED, str(run)],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(told.stdout) < 20_000, "kB"


def test_the_digest_of_gold_does_not_go_by_the_order_of_its_lines_or_keys():
    one, other = {"id": "a", "x": 1}, {"id": "b", "x": 2}
    assert compute_records_digest([one, other]) == compute_records_digest(
        [{"x": 2, "id": "b"}, one]
    )
    assert compute_records_digest([one, other]) != compute_records_digest([one])
