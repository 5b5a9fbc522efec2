"""Annotation in the CSV form: one citance a row, read as the official program of 2018 to 2020 reads it."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tasks.types.clsumm.annotation import NEEDED, NEEDED_OF_INPUTS, Source
from tasks.types.clsumm.citances import NO_REFERENCE, Annotation, CitanceName
from tasks.types.clsumm.fields import (
    article,
    compared_facet,
    csv_elements,
    csv_facets,
    marker_offset,
    sentence_ids,
    texts_by_id,
)
from tasks.types.files import InputFile
from tasks.types.problems import Problem, quoted
from tasks.types.text import decoded

#: What participants get is in these columns; whatever else stands in a row stays on the server.
PUBLIC_COLUMNS = (
    "Citance Number",
    "Reference Article",
    "Citing Article",
    "Citation Marker Offset",
    "Citation Marker",
    "Citation Offset",
    "Citation Text",
    "Citation Text Clean",
)
ANSWER_COLUMNS = ("Reference Offset", "Reference Text", "Discourse Facet")


@dataclass(frozen=True)
class Row:
    """One row by column; ``line`` is the file's line that it begins on."""

    line: int
    values: Mapping[str, str]


def read_rows(file: InputFile, problems: list[Problem], source: Source) -> Iterator[Row]:
    """The rows that the official program reads; those of another length than the header are passed over.

    What stops the official program becomes a problem: columns that are missing, or a file that is no CSV.
    """
    try:
        yield from _rows(file, problems, source)
    except csv.Error as fault:
        problems.append(Problem(file=file.shown, message=f"not readable as CSV: {fault}"))


def _rows(file: InputFile, problems: list[Problem], source: Source) -> Iterator[Row]:
    reader = csv.reader(decoded(line) for line in file.lines())
    header = [name.strip() for name in next(filter(None, reader), [])]
    if not header:
        return
    needed = NEEDED_OF_INPUTS if source is Source.INPUTS else (*NEEDED, "Discourse Facet")
    missing = [name for name in needed if name not in header]
    if missing:
        problems.append(_no_column(file, reader.line_num, missing, header))
        return
    line = reader.line_num + 1
    for values in reader:
        if len(values) == len(header):
            yield Row(line, dict(zip(header, values, strict=True)))
        elif values and source is Source.RUN:
            problems.append(
                Problem(
                    file=file.shown,
                    line=line,
                    message=f"passed over: a row of {len(values)} fields",
                    expected=f"{len(header)}, as the header has",
                    quote=quoted(",".join(values)),
                    fatal=False,
                )
            )
        line = reader.line_num + 1


def _no_column(file: InputFile, line: int, missing: list[str], header: list[str]) -> Problem:
    names = ", ".join(f"“{name}”" for name in missing)
    return Problem(
        file=file.shown,
        line=line,
        message=f"the header has no column {names}",
        expected="comma separated values under the header of the annotation files",
        quote=quoted(",".join(header)),
    )


def read_csv_annotations(
    file: InputFile, topic: str | None, problems: list[Problem], source: Source
) -> Iterator[Annotation]:
    """The annotated citances of one file. ``topic`` None takes each row's Reference Article for its topic."""
    for row in read_rows(file, problems, source):
        yield annotation(row, topic)


def annotation(row: Row, topic: str | None) -> Annotation:
    """A row as the official program takes it, whether it counts there or not."""
    reference = article(row.values["Reference Article"])
    offset, text, facet = (row.values.get(name, "") for name in ANSWER_COLUMNS)
    sentences, facets = sentence_ids(offset), csv_facets(facet)
    elements = list(csv_elements(text))
    is_quoted = text != NO_REFERENCE and bool(elements) and all(own for _, own in elements)
    return Annotation(
        topic=topic or reference,
        name=citance_name(row),
        sentences=sentences,
        facets=tuple(map(compared_facet, facets)),
        facets_as_written=facets,
        texts=texts_by_id(elements, sentences) if is_quoted else {},
        line=row.line,
        is_quoted=is_quoted,
        has_key=text != NO_REFERENCE,
    )


def citance_name(row: Row) -> CitanceName:
    return CitanceName(
        reference=article(row.values["Reference Article"]),
        citing=article(row.values["Citing Article"]),
        marker=marker_offset(row.values["Citation Marker Offset"]),
        number=row.values.get("Citance Number", "").strip(),
    )
