"""Annotation lines are read as the official program of 2017 reads them, and refused where it stops.

Source: the outcomes that the program's own parser gave for malformed lines, in the data pack.
"""

import io
import json
from pathlib import Path

import pytest

from tasks.types.clsumm.annotation import AnnotationSource, read_annotations
from tasks.types.files import InputFile

pytestmark = pytest.mark.shared


def cases(shared: Path) -> list[dict]:
    return json.loads((shared / "scisumm" / "golden" / "odd_input.json").read_text())[
        "annv3_2017"
    ]


def read(case: dict) -> tuple[list, list]:
    data = case["file"].encode("latin-1")
    problems: list = []
    file = InputFile("A.annv3.txt", "A.annv3.txt", lambda: io.BytesIO(data))
    return list(read_annotations(file, "A", problems, AnnotationSource.RUN)), problems


def test_lines_that_the_official_program_reads_are_read_alike(shared):
    read_well = [case for case in cases(shared) if isinstance(case["result"], list)]
    assert len(read_well) > 15
    for case in read_well:
        annotations, problems = read(case)
        assert not problems, case["case"]
        assert [as_official(annotation) for annotation in annotations] == [
            {**result, "texts": dict(result["texts"])} for result in case["result"]
        ], case["case"]


def as_official(annotation) -> dict:
    return {
        "texts": dict(annotation.texts),
        "citing": annotation.name.citing,
        "key": annotation.name.marker,
        "reference": annotation.name.reference,
        "offsets": list(annotation.sentences),
        "facets": list(annotation.facets),
    }


def test_lines_that_stop_the_official_program_are_refused_with_line_and_reason(shared):
    crashes = [case for case in cases(shared) if isinstance(case["result"], str)]
    assert len(crashes) >= 5
    for case in crashes:
        annotations, problems = read(case)
        assert not annotations, case["case"]
        assert [problem.line for problem in problems] == [1], case["case"]
        assert problems[0].fatal, case["case"]
        assert problems[0].message, case["case"]
        assert problems[0].quote, case["case"]
