"""Annotation lines in the text form: one citance a line, read as the official program of 2017 reads them.

`Citance Number: 1 | Reference Article: C90-2039.xml | … | Discourse Facet: Method_Citation | Annotator: … |`
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum

from tasks.types.clsumm.citances import Annotation, CitanceName
from tasks.types.clsumm.fields import (
    article,
    compared_facet,
    line_facets,
    marker_offset,
    quoted_elements,
    sentence_ids,
    texts_by_id,
)
from tasks.types.files import InputFile
from tasks.types.problems import Problem, quoted
from tasks.types.text import decoded

#: A line without one of these makes the official program stop.
NEEDED = (
    "Reference Article",
    "Citing Article",
    "Citation Marker Offset",
    "Citation Offset",
    "Reference Offset",
    "Reference Text",
)
#: What participants get has no reference and no facet.
NEEDED_OF_INPUTS = NEEDED[:4]

#: Between two quoted pieces in the annotation versions that have no elements.
PIECES_JOIN = " ... "
_CHARACTER_RANGE = re.compile(r"\d+-\d+")


class Unreadable(Exception):
    """Why a line cannot be read, and what was expected instead."""

    def __init__(self, message: str, expected: str = "") -> None:
        super().__init__(message)
        self.message, self.expected = message, expected

    def at(self, file: InputFile, number: int, line: str) -> Problem:
        return Problem(
            file=file.shown, line=number, message=self.message, expected=self.expected, quote=quoted(line)
        )


class CharacterRanges(Unreadable):
    """The file is of the pilot's first form, whose references are ranges of characters."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"the Reference Offset {found} is a range of characters, which fits no released text",
            "ids of sentences, as the annotation of version annv3 has them",
        )


class Source(Enum):
    """Whose lines these are."""

    GOLD = "gold"
    INPUTS = "inputs"
    RUN = "run"


def read_annotations(
    file: InputFile, topic: str | None, problems: list[Problem], source: Source
) -> Iterator[Annotation]:
    """The annotated citances of one file; what cannot be read becomes a problem with its line.

    ``topic`` None takes each line's Reference Article for its topic.
    """
    for number, raw in enumerate(file.lines(), start=1):
        line = decoded(raw).strip()
        if not line:
            continue
        try:
            if source is Source.RUN:
                _refuse_odd_quotes(raw)
            yield _annotation(line, topic, number, source)
        except Unreadable as fault:
            problems.append(fault.at(file, number, line))
            if isinstance(fault, CharacterRanges):
                return


def _refuse_odd_quotes(raw: bytes) -> None:
    """Windows-1252 quotes in the Reference Text stop the official program; other Windows-1252 does not."""
    field = raw.partition(b"Reference Text:")[2].partition(b" | ")[0]
    try:
        field.decode()
    except UnicodeDecodeError:
        odd = next((byte for byte in field if 0x80 <= byte <= 0x9F), None)
        if odd is not None:
            message = f"the Reference Text holds the byte 0x{odd:02X}, which is not UTF-8"
            raise Unreadable(message, "the file in UTF-8") from None


def _annotation(line: str, topic: str | None, number: int, source: Source) -> Annotation:
    fields = line_fields(line)
    for name in NEEDED_OF_INPUTS if source is Source.INPUTS else NEEDED:
        if name not in fields:
            raise Unreadable(f"the line has no field “{name}”", f"`{name}: …` between bars")
    reference = article(fields["Reference Article"])
    facets = line_facets(fields.get("Discourse Facet"))
    sentences = sentence_ids(fields.get("Reference Offset", ""))
    if ranges := [sid for sid in sentences if _CHARACTER_RANGE.fullmatch(sid)]:
        raise CharacterRanges(ranges[0])
    return Annotation(
        topic=topic or reference,
        name=CitanceName(
            reference=reference,
            citing=article(fields["Citing Article"]),
            marker=marker_offset(fields["Citation Marker Offset"]),
            number=fields.get("Citance Number", fields.get("Citation Number", "")),
        ),
        sentences=sentences,
        facets=tuple(map(compared_facet, facets)),
        facets_as_written=facets,
        texts={} if source is Source.INPUTS else _texts(fields["Reference Text"], sentences, source),
        line=number,
    )


def line_fields(line: str) -> dict[str, str]:
    """The line's fields.

    Bars are not escaped, so one inside a text splits it and is seen by its missing name.
    """
    line = line.removesuffix("|")
    fields = {}
    for part in line.split(" | "):
        name, colon, value = part.partition(":")
        if not colon:
            raise Unreadable(
                f"a part without a name between two bars: “{quoted(part)[:40]}”",
                "`Name: value` joined by ` | `, and no ` | ` inside a text",
            )
        fields[name.strip()] = value.strip()
    return fields


def _texts(field: str, sentences: tuple[str, ...], source: Source) -> Mapping[str, str]:
    elements = list(quoted_elements(field))
    if not elements and field and source is Source.GOLD:
        return _pieces(field)
    if not elements:
        raise Unreadable("the Reference Text holds no <S> element", '`<S sid="…">sentence</S>`')
    for place, (sid, text) in enumerate(elements, start=1):
        if not text.strip():
            raise Unreadable(f"the <S> element of sentence {sid or place} is empty", "the sentence inside")
    return texts_by_id(elements, sentences)


def _pieces(field: str) -> Mapping[str, str]:
    """The older gold quotes without elements, and its pieces need not be whole sentences."""
    return {f"piece {place}": piece for place, piece in enumerate(field.split(PIECES_JOIN))}


#: The fields that participants get; whatever else stands on a line stays on the server.
PUBLIC_FIELDS = (
    "Citance Number",
    "Citation Number",
    "Reference Article",
    "Citing Article",
    "Citation Marker Offset",
    "Citation Marker",
    "Citation Offset",
    "Citation Text",
)


def public_lines(file: InputFile) -> Iterator[str]:
    """The annotation lines without reference, facet and annotator, for a team to fill in."""
    for raw in file.lines():
        line = decoded(raw).strip()
        if line:
            fields = line_fields(line)
            yield " | ".join(f"{name}: {fields[name]}" for name in PUBLIC_FIELDS if name in fields) + " |"
