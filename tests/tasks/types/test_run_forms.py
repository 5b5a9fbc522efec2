"""A file that is no run of its task: one sentence says what it is, and where it may belong."""

import random

import pytest

from tasks.types import task_types
from tasks.types.problems import select_fatal_problems
from tasks.types.runs import read_run
from tests.growth.readers import first_record, in_memory, index_and_options
from tests.tasks.test_every_type import folder

TYPES = list(task_types().values())
RUNS = {
    each.slug: (folder(each) / "sample" / "run.jsonl").read_bytes() for each in TYPES
}
#: Whose runs have one form and are told apart by their ids alone.
ALIKE = ({"citation-recommendation", "citation-resolution"}, {"clsumm-1a", "clsumm-1b"})

of_every_type = pytest.mark.parametrize(
    "task_type", TYPES, ids=[each.slug for each in TYPES]
)


def told(task_type, content, name="run.jsonl"):
    index, options = index_and_options(task_type)
    return read_run(task_type, [in_memory(name, content)], index, options, name=name)[1]


@of_every_type
def test_every_type_says_what_its_runs_look_like(task_type):
    assert task_type.run_form is not None
    assert task_type.run_form.fits(RUNS[task_type.slug])
    assert any(
        keys <= first_record(task_type).keys() for keys in task_type.run_form.keys
    )


@of_every_type
def test_a_run_of_another_task_is_one_sentence_that_names_it(task_type):
    for slug, content in RUNS.items():
        if slug == task_type.slug or {slug, task_type.slug} in ALIKE:
            continue
        (problem,) = told(task_type, content)
        assert problem.message.startswith("this looks like a run for "), slug
        assert slug in problem.message
        assert problem.message.endswith("; is this the right task?")


@of_every_type
@pytest.mark.parametrize(
    "name", ["run.jsonl", "run.json", "W01-0101.txt", "run.csv", "W01-0101.system.txt"]
)
def test_noise_is_called_binary_data(task_type, name):
    problems = select_fatal_problems(
        told(task_type, random.Random(1).randbytes(20_000), name)
    )
    assert len(problems) == 1
    assert problems[0].message.startswith(
        ("this is binary data", "a “.", "the input holds no file")
    )


@of_every_type
@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"%PDF-1.7\n1 0 obj\n", "a PDF document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "an Excel workbook"),
        (b"\x1f\x8b\x08\0\0", "archive is damaged"),
        (b"<!DOCTYPE html>\n<html>\n<p>Sign in\n", "an HTML page"),
        (
            b"Dear all,\nplease find our answers\nin the attachment.\nBest wishes\n",
            "plain text",
        ),
    ],
)
def test_another_kind_of_file_is_called_by_its_name(task_type, content, kind):
    problems = select_fatal_problems(told(task_type, content))
    assert len(problems) == 1
    assert kind in problems[0].message


@pytest.mark.parametrize("slug", ["clsumm-1a", "clsumm-1b"])
@pytest.mark.parametrize("content", [b"", b"\n\n", b"\r\n", b",\n", b'"', b"\n\n\na\n"])
def test_a_csv_of_nothing_is_refused(slug, content):
    assert select_fatal_problems(told(task_types()[slug], content, "run.csv"))


def test_a_run_without_any_facet_answers_nothing():
    record = first_record(task_types()["clsumm-1b"])
    del record["facets"]
    content = str(record).replace("'", '"').encode()
    assert any(
        "answers no instance of the split" in problem.message
        for problem in told(task_types()["clsumm-1b"], content)
    )
    assert not any(
        "facet" in problem.message
        for problem in told(task_types()["clsumm-1a"], content)
    )


@of_every_type
def test_problems_stand_in_the_order_of_files_and_lines(task_type):
    broken = b'{"id": "nobody"}\n{"id": 1}\nno JSON\n' * 3
    index, options = index_and_options(task_type)
    files = [in_memory(name, broken) for name in ("b.jsonl", "a.jsonl")]
    problems = read_run(task_type, files, index, options, name="run.zip")[1]
    places = [(problem.file, problem.line or 0) for problem in problems]
    assert places == sorted(places)
    assert all(problem.file for problem in problems)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("&#65;&amp;&lt;", "A&<"),
        ("&#" + "9" * 5000 + ";", "\ufffd"),
        ("&#" + "0" * 5000 + "65;", "A"),
        ("&#x" + "9" * 5000 + ";", "\ufffd"),
    ],
)
def test_entities_of_any_length_are_read(text, read):
    from tasks.types.text import decode_html_entities

    assert decode_html_entities(text) == read
