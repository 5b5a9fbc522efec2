"""Annotation lines in the text form: one citance a line, read as the official program of 2017 reads them.

`Citance Number: 1 | Reference Article: C90-2039.xml | … | Discourse Facet: Method_Citation | Annotator: … |`
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tasks.types.clsumm.citances import NO_REFERENCE, Annotation, CitanceName
from tasks.types.files import InputFile
from tasks.types.problems import InputRefused, Problem, quoted
from tasks.types.text import decoded

#: A line of gold or of a run without one of these makes the official program stop.
#: What participants get has no reference and no facet.
NEEDED_OF_INPUTS = (
    "Reference Article",
    "Citing Article",
    "Citation Marker Offset",
    "Citation Offset",
)
NEEDED = (*NEEDED_OF_INPUTS, "Reference Offset", "Reference Text")

#: Between two quoted pieces in the annotation versions that have no elements.
PIECES_JOIN = " ... "
_CHARACTER_RANGE = re.compile(r"\d+-\d+")


class Unreadable(Exception):
    """Why a line cannot be read, and what was expected instead; or why no line of its file can."""

    def __init__(
        self, message: str, expected: str = "", *, is_whole_file: bool = False
    ) -> None:
        super().__init__(message)
        self.message, self.expected, self.is_whole_file = (
            message,
            expected,
            is_whole_file,
        )


class Source(Enum):
    """Whose lines these are."""

    GOLD = "gold"
    INPUTS = "inputs"
    RUN = "run"


def read_annotations(
    file: InputFile, topic: str | None, problems: list[Problem], source: Source
) -> Iterator[Annotation]:
    """The annotated citances of one file; what cannot be read becomes a problem with its line. ``topic`` None
    takes each line's Reference Article for its topic.
    """
    for number, raw in enumerate(file.with_fallback().lines(), start=1):
        line = decoded(raw).strip()
        if not line:
            continue
        try:
            if source is Source.RUN:
                _refuse_odd_quotes(raw)
            yield _annotation(line, topic, number, source)
        except Unreadable as fault:
            problems.append(
                file.problem(fault.message, fault.expected, line=number, raw=line)
            )
            if fault.is_whole_file:
                return


def _refuse_odd_quotes(raw: bytes) -> None:
    """Windows-1252 quotes in the Reference Text stop the official program; other Windows-1252 does not."""
    field = raw.partition(b"Reference Text:")[2].partition(b" | ")[0]
    try:
        field.decode()
    except UnicodeDecodeError:
        odd = next((byte for byte in field if 0x80 <= byte <= 0x9F), None)
        if odd is not None:
            message = (
                f"the Reference Text holds the byte 0x{odd:02X}, which is not UTF-8"
            )
            raise Unreadable(message, "the file in UTF-8") from None


def _annotation(
    line: str, topic: str | None, number: int, source: Source
) -> Annotation:
    fields = _needed_fields(
        line, NEEDED_OF_INPUTS if source is Source.INPUTS else NEEDED
    )
    facets = line_facets(fields.get("Discourse Facet"))
    sentences = sentence_ids(fields.get("Reference Offset", ""))
    if ranges := [sid for sid in sentences if _CHARACTER_RANGE.fullmatch(sid)]:
        # The file is of the pilot's first form.
        message = f"the Reference Offset {ranges[0]} is a range of characters, which fits no released text"
        expected = "ids of sentences, as the annotation of version annv3 has them"
        raise Unreadable(message, expected, is_whole_file=True)
    texts: Mapping[str, str] = {}
    if source is not Source.INPUTS:
        field = fields["Reference Text"]
        elements = [
            (_sid(attributes), text)
            for _, attributes, text in _tags(_ELEMENT, _NEXT_TAG, field)
        ]
        for place, (sid, text) in enumerate(elements, start=1):
            if not text.strip():
                message = f"the <S> element of sentence {sid or place} is empty"
                raise Unreadable(message, "the sentence inside")
        if elements:
            texts = texts_by_id(elements, sentences)
        elif field and source is Source.GOLD:
            # The older gold quotes without elements, and its pieces need not be whole sentences.
            texts = {
                f"piece {place}": piece
                for place, piece in enumerate(field.split(PIECES_JOIN))
            }
        else:
            raise Unreadable(
                "the Reference Text holds no <S> element", '`<S sid="…">sentence</S>`'
            )
    name = citance_name(fields, "Citation Number")
    return Annotation(
        topic=topic or name.reference,
        name=name,
        sentences=sentences,
        facets=tuple(map(compared_facet, facets)),
        facets_as_written=facets,
        texts=texts,
        line=number,
    )


def citance_name(
    fields: Mapping[str, str], older: str = "Citance Number"
) -> CitanceName:
    """Of a row, or of a line, whose number has an ``older`` name too."""
    return CitanceName(
        reference=article(fields["Reference Article"]),
        citing=article(fields["Citing Article"]),
        marker=marker_offset(fields["Citation Marker Offset"]),
        number=fields.get("Citance Number", fields.get(older, "")).strip(),
    )


def line_fields(line: str) -> dict[str, str]:
    """The line's fields. Bars are not escaped, so one inside a text splits it and is seen by its missing
    name.
    """
    line = line.removesuffix("|")
    fields = {}
    for part in line.split(" | "):
        name, colon, value = part.partition(":")
        if not colon:
            expected = "`Name: value` joined by ` | `, and no ` | ` inside a text"
            raise Unreadable(f"“{quoted(part)[:40]}” has no name before it", expected)
        fields[name.strip()] = value.strip()
    return fields


def _needed_fields(line: str, needed: Sequence[str]) -> dict[str, str]:
    fields = line_fields(line)
    if missing := next((name for name in needed if name not in fields), ""):
        raise Unreadable(
            f"the line has no field “{missing}”", f"`{missing}: …` between bars"
        )
    return fields


_SHOWN = (*NEEDED_OF_INPUTS[:3], "Citation Marker", "Citation Offset", "Citation Text")
#: The fields and columns that participants get; whatever else stands on a line stays on the server.
PUBLIC_FIELDS = ("Citance Number", "Citation Number", *_SHOWN)
PUBLIC_COLUMNS = ("Citance Number", *_SHOWN, "Citation Text Clean")
ANSWER_COLUMNS = ("Reference Offset", "Reference Text", "Discourse Facet")


def shown_fields(file: InputFile) -> Iterator[dict[str, str]]:
    """Of each line, whose reference and facet nobody asks for. Raises InputRefused."""
    for number, raw in enumerate(file.with_fallback().lines(), start=1):
        if line := decoded(raw).strip():
            try:
                yield _needed_fields(line, NEEDED_OF_INPUTS[:3])
            except Unreadable as fault:
                problem = file.problem(
                    fault.message, fault.expected, line=number, raw=line
                )
                raise InputRefused([problem]) from fault


def public_lines(file: InputFile) -> Iterator[str]:
    """The annotation lines without reference, facet and annotator, for a team to fill in."""
    for fields in shown_fields(file):
        yield (
            " | ".join(
                f"{name}: {fields[name]}" for name in PUBLIC_FIELDS if name in fields
            )
            + " |"
        )


@dataclass(frozen=True)
class Row:
    """One row by column; ``line`` is the file's line that it begins on."""

    line: int
    values: Mapping[str, str]

    @property
    def name(self) -> CitanceName:
        return citance_name(self.values)


def read_rows(
    file: InputFile, problems: list[Problem], source: Source
) -> Iterator[Row]:
    """The rows that the official program reads; those of another length than the header are passed over. What
    stops the official program becomes a problem: columns that are missing, or a file that is no CSV.
    """
    reader = csv.reader(decoded(line) for line in file.with_fallback().lines())
    try:
        header = [name.strip() for name in next(filter(None, reader), [])]
        if not header:
            return
        needed = (
            NEEDED_OF_INPUTS
            if source is Source.INPUTS
            else (*NEEDED, "Discourse Facet")
        )
        if missing := ", ".join(f"“{name}”" for name in needed if name not in header):
            message = f"the header has no column {missing}"
            expected = "comma separated values under the header of the annotation files"
            problems.append(
                file.problem(
                    message, expected, line=reader.line_num, raw=",".join(header)
                )
            )
            return
        line = reader.line_num + 1
        for values in reader:
            if len(values) == len(header):
                yield Row(line, dict(zip(header, values, strict=True)))
            elif values and source is Source.RUN:
                words = (
                    f"passed over: a row of {len(values)} fields",
                    f"{len(header)}, as the header has",
                )
                problems.append(
                    file.problem(*words, line=line, raw=",".join(values), fatal=False)
                )
            line = reader.line_num + 1
    except csv.Error as fault:
        problems.append(file.problem(f"not readable as CSV: {fault}"))


def annotation(row: Row, topic: str | None) -> Annotation:
    """A row as the official program takes it, whether it counts there or not; the topic is the row's own
    Reference Article where none is given.
    """
    offset, text, facet = (row.values.get(name, "") for name in ANSWER_COLUMNS)
    sentences, facets = sentence_ids(offset), csv_facets(facet)
    elements = list(csv_elements(text))
    is_quoted = (
        text != NO_REFERENCE and bool(elements) and all(text for _, text in elements)
    )
    return Annotation(
        topic=topic or row.name.reference,
        name=row.name,
        sentences=sentences,
        facets=tuple(map(compared_facet, facets)),
        facets_as_written=facets,
        texts=texts_by_id(elements, sentences) if is_quoted else {},
        line=row.line,
        is_quoted=is_quoted,
        has_key=text != NO_REFERENCE,
    )


_ELEMENT = re.compile(r"<s\b", re.IGNORECASE)
_NEXT_TAG = re.compile(r"</?s\b", re.IGNORECASE)
#: In a CSV file an element is in capitals, and its text ends at the next angle bracket of any kind.
_CSV_TAG = re.compile(r"<(/?)S\b")
_CSV_NEXT_TAG = re.compile("<")
_TAG = re.compile(r"</?s\b[^>]*>", re.IGNORECASE)
_SID = re.compile(r"\bsid\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)


def article(name: str) -> str:
    """The article's name; `.xml` goes wherever it stands, `.txt` and `.pdf` stay."""
    return name.replace(".xml", "").strip()


def marker_offset(text: str) -> str:
    """One bracket off each end, then one quote; the rest is compared as it stands."""
    text = text.strip().removeprefix("[").removesuffix("]")
    return text.removeprefix("'").removesuffix("'")


def sentence_ids(text: str) -> tuple[str, ...]:
    """Ids are texts (`007` is not `7`); `[]` gives one id, the empty text, as in the official program."""
    inside = text.strip().removeprefix("[").removesuffix("]")
    return tuple(_unquoted(part.strip()) for part in inside.split(","))


def line_facets(text: str | None) -> tuple[str, ...]:
    """The facets as written. No field: `none`. Empty: no facet. In brackets: several. Otherwise one, commas
    and all.
    """
    if text is None:
        return ("none",)
    return csv_facets(text) if not text or text.startswith("[") else (text,)


def csv_facets(text: str) -> tuple[str, ...]:
    """The facets as written. Empty: no facet. Otherwise split at commas, with brackets or without."""
    text = text.strip()
    return tuple(text.removeprefix("[").removesuffix("]").split(",")) if text else ()


def compared_facet(text: str) -> str:
    """A facet in the spelling that the official programs compare."""
    return _unquoted(text.strip().lower().replace(" ", "_"))


def _unquoted(text: str) -> str:
    """One quote of either kind off each end."""
    if text[:1] in ("'", '"'):
        text = text[1:]
    return text[:-1] if text[-1:] in ("'", '"') else text


def csv_elements(text: str) -> Iterator[tuple[str | None, str]]:
    """The same in a CSV file, without elements inside one that was left open, as an XML parser sees it."""
    depth = 0
    for tag, attributes, content in _tags(_CSV_TAG, _CSV_NEXT_TAG, text):
        if tag[1]:
            depth = max(depth - 1, 0)
            continue
        is_empty = attributes.endswith("/")
        if not depth:
            yield _sid(attributes.removesuffix("/")), "" if is_empty else content
        depth += not is_empty


def _tags(
    tag: re.Pattern[str], next_tag: re.Pattern[str], text: str
) -> Iterator[tuple[re.Match[str], str, str]]:
    """Each tag that ends, its attributes, and the text up to the next. One pattern for all of it would look
    for the end of each open tag again, to the end of the text.
    """
    end = 0
    while (opening := tag.search(text, end)) and (
        begin := text.find(">", opening.end()) + 1
    ):
        following = next_tag.search(text, begin)
        end = following.start() if following else len(text)
        yield opening, text[opening.end() : begin - 1], text[begin:end]


def _sid(attributes: str) -> str | None:
    sid = _SID.search(attributes)
    return sid[1] if sid else None


def without_tags(text: str) -> str:
    return " ".join(tags_removed(_TAG, text).split())


def tags_removed(tag: re.Pattern[str], text: str) -> str:
    """A space for each tag. Behind the last bracket none can end, so that none is looked for there."""
    end = text.rfind(">") + 1
    return tag.sub(" ", text[:end]) + text[end:]


def texts_by_id(
    elements: Sequence[tuple[str | None, str]], sentences: Sequence[str]
) -> Mapping[str, str]:
    """The quoted sentences by id; of one id the last counts, one without an id takes its place's id."""
    texts: dict[str, str] = {}
    for place, (sid, text) in enumerate(elements):
        if sid or place < len(sentences):
            texts[sid or sentences[place]] = text
    return texts
