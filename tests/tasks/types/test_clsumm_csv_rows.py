"""CSV rows are read as the official program of 2018 reads them, and refused where it stops.

Source: the outcomes that the program's own parser gave for malformed files, in the data pack.
"""

import io
import json

import pytest

from tasks.types.clsumm.annotation import (
    REQUIRED_GOLD_AND_RUN_FIELDS,
    AnnotationSource,
    parse_csv_row,
    read_csv_rows,
)
from tasks.types.files import InputFile
from tasks.types.problems import select_fatal_problems

COLUMNS = (*REQUIRED_GOLD_AND_RUN_FIELDS, "Discourse Facet")


def cases(shared) -> list[dict]:
    return json.loads((shared / "scisumm" / "golden" / "odd_input.json").read_text())[
        "csv_2018"
    ]


def read(case: dict) -> tuple[list, list]:
    data = case["file"].encode("latin-1")
    problems: list = []
    file = InputFile("A.csv", "A.csv", lambda: io.BytesIO(data))
    return [
        parse_csv_row(row, "A")
        for row in read_csv_rows(file, problems, AnnotationSource.RUN)
    ], problems


def official(annotations) -> dict:
    """What the official program keeps: the last quoted row of each pair of papers."""
    return {
        (annotation.name.reference, annotation.name.citing): (
            dict(annotation.texts),
            list(annotation.sentences),
            list(annotation.facets),
        )
        for annotation in annotations
        if annotation.is_quoted
    }


@pytest.mark.shared
def test_files_that_the_official_program_reads_are_read_alike(shared):
    read_well = [
        case
        for case in cases(shared)
        if isinstance(case["result"], list) and case["case"] != "no facet column"
    ]
    assert len(read_well) > 15
    for case in read_well:
        annotations, problems = read(case)
        assert not select_fatal_problems(problems), case["case"]
        assert official(annotations) == {
            (kept["reference"], kept["citing"]): (
                kept["texts"],
                kept["offsets"],
                kept["facets"],
            )
            for kept in case["result"]
            if kept["offsets"] is not None
        }, case["case"]


@pytest.mark.shared
def test_files_that_stop_the_official_program_are_refused_with_line_and_reason(shared):
    crashes = [case for case in cases(shared) if isinstance(case["result"], str)]
    assert len(crashes) >= 2
    for case in [
        *crashes,
        *(case for case in cases(shared) if case["case"] == "no facet column"),
    ]:
        annotations, problems = read(case)
        assert not annotations, case["case"]
        assert [problem.line for problem in select_fatal_problems(problems)] == [1], (
            case["case"]
        )
        assert "has no column" in problems[0].message


@pytest.mark.shared
def test_a_row_of_another_length_is_passed_over_and_told_by_line(shared):
    case = next(case for case in cases(shared) if case["case"] == "short row")
    _, problems = read(case)
    assert [(problem.line, problem.fatal) for problem in problems] == [(2, False)]
    assert "expected 11" in str(problems[0])


@pytest.mark.parametrize(
    ("content", "quote"),
    [("a,b\n1,2\n", "a,b"), (f"{','.join(COLUMNS)}\n1,2\n", "1,2")],
)
def test_a_header_without_a_column_and_a_row_of_another_length_are_quoted(
    content, quote
):
    _, [problem] = read({"file": content})
    assert problem.quote == quote
