"""Parse annotation files, which contain one citance (citing sentence) per line, in the
same way as the official program of 2017.

A line is a sequence of names and values separated by bars, such as `Citance Number`
with the value 1, and `Discourse Facet` with the value `Method_Citation`.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tasks.types.clsumm.citances import (
    NO_REFERENCE_VALUE,
    CitanceAnnotation,
    CitanceName,
)
from tasks.types.files import InputFile
from tasks.types.problems import InputRefused, Problem, shorten_quoted_line
from tasks.types.text import decode_utf8_or_windows_1252

#: The official program requires the fields `REQUIRED_INPUT_FIELDS` in public inputs.
#: Public inputs have no reference and no facet.
#: The official program requires the fields `REQUIRED_GOLD_AND_RUN_FIELDS` in gold and runs.
REQUIRED_INPUT_FIELDS = (
    "Reference Article",
    "Citing Article",
    "Citation Marker Offset",
    "Citation Offset",
)
REQUIRED_GOLD_AND_RUN_FIELDS = (
    *REQUIRED_INPUT_FIELDS,
    "Reference Offset",
    "Reference Text",
)

#: `QUOTED_PASSAGES_SEPARATOR` separates two quoted passages in annotations without `<S>` elements.
QUOTED_PASSAGES_SEPARATOR = " ... "
_CHARACTER_RANGE_PATTERN = re.compile(r"\d+-\d+")


class AnnotationUnreadable(Exception):
    """An error for a line or a whole file that cannot be parsed. The error states the
    expected form of the line or file.
    """

    def __init__(
        self, message: str, expected: str = "", *, is_whole_file: bool = False
    ) -> None:
        super().__init__(message)
        self.message, self.expected, self.is_whole_file = (
            message,
            expected,
            is_whole_file,
        )


class AnnotationSource(Enum):
    """The kind of file that an annotation line belongs to."""

    GOLD = "gold"
    INPUTS = "inputs"
    RUN = "run"


def read_annotations(
    file: InputFile,
    topic: str | None,
    problems: list[Problem],
    source: AnnotationSource,
) -> Iterator[CitanceAnnotation]:
    """Yield the annotated citances (citing sentences) of one file. Unreadable lines
    become problems.

    If ``topic`` is None, the topic of each line is the field Reference Article.
    """
    for number, raw in enumerate(file.with_windows_1252_fallback().lines(), start=1):
        line = decode_utf8_or_windows_1252(raw).strip()
        if not line:
            continue
        try:
            if source is AnnotationSource.RUN:
                _refuse_windows_1252_quotes(raw)
            yield _parse_annotation(line, topic, number, source)
        except AnnotationUnreadable as fault:
            problems.append(
                file.make_problem(fault.message, fault.expected, line=number, raw=line)
            )
            if fault.is_whole_file:
                return


def _refuse_windows_1252_quotes(raw: bytes) -> None:
    """Refuse Windows-1252 quotation marks in the Reference Text, because the official
    program stops at such marks.

    Windows-1252 characters that are no quotation marks do not stop the official
    program.
    """
    field = raw.partition(b"Reference Text:")[2].partition(b" | ")[0]
    try:
        field.decode()
    except UnicodeDecodeError:
        odd = next((byte for byte in field if 0x80 <= byte <= 0x9F), None)
        if odd is not None:
            message = (
                f"the Reference Text holds the byte 0x{odd:02X}, which is not UTF-8"
            )
            raise AnnotationUnreadable(message, "the file in UTF-8") from None


def _parse_annotation(
    line: str, topic: str | None, number: int, source: AnnotationSource
) -> CitanceAnnotation:
    fields = _read_needed_fields(
        line,
        REQUIRED_INPUT_FIELDS
        if source is AnnotationSource.INPUTS
        else REQUIRED_GOLD_AND_RUN_FIELDS,
    )
    facets = parse_line_facets(fields.get("Discourse Facet"))
    sentences = parse_sentence_ids(fields.get("Reference Offset", ""))
    if ranges := [sid for sid in sentences if _CHARACTER_RANGE_PATTERN.fullmatch(sid)]:
        # Ranges of characters are in the first annotation form of the pilot task.
        message = f"the Reference Offset {ranges[0]} is a range of characters, which fits no released text"
        expected = "ids of sentences, as the annotation of version annv3 has them"
        raise AnnotationUnreadable(message, expected, is_whole_file=True)
    texts: Mapping[str, str] = {}
    if source is not AnnotationSource.INPUTS:
        field = fields["Reference Text"]
        elements = [
            (_read_sid_attribute(attributes), text)
            for _, attributes, text in _iterate_tagged_texts(
                _SENTENCE_ELEMENT_START, _SENTENCE_TAG_START, field
            )
        ]
        for position, (sid, text) in enumerate(elements, start=1):
            if not text.strip():
                message = f"the <S> element of sentence {sid or position} is empty"
                raise AnnotationUnreadable(message, "the sentence inside")
        if elements:
            texts = map_ids_to_quoted_sentences(elements, sentences)
        elif field and source is AnnotationSource.GOLD:
            # The older gold quotes passages without `<S>` elements.
            # A quoted passage of the older gold need not be a whole sentence.
            texts = {
                f"piece {index}": piece
                for index, piece in enumerate(field.split(QUOTED_PASSAGES_SEPARATOR))
            }
        else:
            raise AnnotationUnreadable(
                "the Reference Text holds no <S> element", '`<S sid="…">sentence</S>`'
            )
    name = make_citance_name(fields, "Citation Number")
    return CitanceAnnotation(
        topic=topic or name.reference,
        name=name,
        sentences=sentences,
        facets=tuple(map(normalise_facet_as_official_program, facets)),
        facets_as_written=facets,
        texts=texts,
        line=number,
    )


def make_citance_name(
    fields: Mapping[str, str], older: str = "Citance Number"
) -> CitanceName:
    """Return the fields of a row or line that identify a citance (citing sentence).
    ``older`` is an alternative name of the field with the citance number.
    """
    return CitanceName(
        reference=remove_xml_extension(fields["Reference Article"]),
        citing=remove_xml_extension(fields["Citing Article"]),
        marker=strip_marker_offset(fields["Citation Marker Offset"]),
        number=fields.get("Citance Number", fields.get(older, "")).strip(),
    )


def parse_line_fields(line: str) -> dict[str, str]:
    """Parse the fields of an annotation line.

    Bars in an annotation line are not escaped. A bar within a text splits the text, and
    the part after the bar has no field name. Raises Unreadable.
    """
    line = line.removesuffix("|")
    fields = {}
    for part in line.split(" | "):
        name, colon, value = part.partition(":")
        if not colon:
            expected = "`Name: value` joined by ` | `, and no ` | ` inside a text"
            raise AnnotationUnreadable(
                f"“{shorten_quoted_line(part)[:40]}” has no name before it", expected
            )
        fields[name.strip()] = value.strip()
    return fields


def _read_needed_fields(line: str, needed: Sequence[str]) -> dict[str, str]:
    fields = parse_line_fields(line)
    if missing := next((name for name in needed if name not in fields), ""):
        raise AnnotationUnreadable(
            f"the line has no field “{missing}”", f"`{missing}: …` between bars"
        )
    return fields


_PUBLIC_CITANCE_FIELDS = (
    *REQUIRED_INPUT_FIELDS[:3],
    "Citation Marker",
    "Citation Offset",
    "Citation Text",
)
#: All fields of a line except the listed public fields and columns are secret.
PUBLIC_LINE_FIELDS = ("Citance Number", "Citation Number", *_PUBLIC_CITANCE_FIELDS)
PUBLIC_CSV_COLUMNS = ("Citance Number", *_PUBLIC_CITANCE_FIELDS, "Citation Text Clean")
ANSWER_CSV_COLUMNS = ("Reference Offset", "Reference Text", "Discourse Facet")


def iterate_public_fields(file: InputFile) -> Iterator[dict[str, str]]:
    """Yield the public fields of each annotation line. Reference and facet may be
    absent from a line. Raises InputRefused.
    """
    for number, raw in enumerate(file.with_windows_1252_fallback().lines(), start=1):
        if line := decode_utf8_or_windows_1252(raw).strip():
            try:
                yield _read_needed_fields(line, REQUIRED_INPUT_FIELDS[:3])
            except AnnotationUnreadable as fault:
                problem = file.make_problem(
                    fault.message, fault.expected, line=number, raw=line
                )
                raise InputRefused([problem]) from fault


def iterate_public_lines(file: InputFile) -> Iterator[str]:
    """Yield the annotation lines without reference, facet and annotator."""
    for fields in iterate_public_fields(file):
        yield (
            " | ".join(
                f"{name}: {fields[name]}"
                for name in PUBLIC_LINE_FIELDS
                if name in fields
            )
            + " |"
        )


@dataclass(frozen=True)
class CsvAnnotationRow:
    """The values of one CSV row by column. ``line`` is the number of the file's line on
    which the row begins.
    """

    line: int
    values: Mapping[str, str]

    @property
    def name(self) -> CitanceName:
        return make_citance_name(self.values)


def read_csv_rows(
    file: InputFile, problems: list[Problem], source: AnnotationSource
) -> Iterator[CsvAnnotationRow]:
    """Yield the rows of a CSV file that the official program reads. Rows with more or
    fewer cells than the header are skipped.

    Missing columns and files that are not CSV become problems, since the official
    program stops at such files.
    """
    reader = csv.reader(
        decode_utf8_or_windows_1252(line)
        for line in file.with_windows_1252_fallback().lines()
    )
    try:
        header = [name.strip() for name in next(filter(None, reader), [])]
        if not header:
            return
        needed = (
            REQUIRED_INPUT_FIELDS
            if source is AnnotationSource.INPUTS
            else (*REQUIRED_GOLD_AND_RUN_FIELDS, "Discourse Facet")
        )
        if missing := ", ".join(f"“{name}”" for name in needed if name not in header):
            message = f"the header has no column {missing}"
            expected = "comma separated values under the header of the annotation files"
            problems.append(
                file.make_problem(
                    message, expected, line=reader.line_num, raw=",".join(header)
                )
            )
            return
        line = reader.line_num + 1
        for values in reader:
            if len(values) == len(header):
                yield CsvAnnotationRow(line, dict(zip(header, values, strict=True)))
            elif values and source is AnnotationSource.RUN:
                words = (
                    f"ignored: a row of {len(values)} fields",
                    f"{len(header)}, as the header has",
                )
                problems.append(
                    file.make_problem(
                        *words, line=line, raw=",".join(values), fatal=False
                    )
                )
            line = reader.line_num + 1
    except csv.Error as fault:
        problems.append(file.make_problem(f"not readable as CSV: {fault}"))


def parse_csv_row(row: CsvAnnotationRow, topic: str | None) -> CitanceAnnotation:
    """Parse a row in the same way as the official program, including rows that the
    program skips.

    If ``topic`` is None, the Reference Article of the row is the topic.
    """
    offset, text, facet = (row.values.get(name, "") for name in ANSWER_CSV_COLUMNS)
    sentences, facets = parse_sentence_ids(offset), parse_csv_facets(facet)
    elements = list(iterate_csv_elements(text))
    is_quoted = (
        text != NO_REFERENCE_VALUE
        and bool(elements)
        and all(text for _, text in elements)
    )
    return CitanceAnnotation(
        topic=topic or row.name.reference,
        name=row.name,
        sentences=sentences,
        facets=tuple(map(normalise_facet_as_official_program, facets)),
        facets_as_written=facets,
        texts=map_ids_to_quoted_sentences(elements, sentences) if is_quoted else {},
        line=row.line,
        is_quoted=is_quoted,
        has_key=text != NO_REFERENCE_VALUE,
    )


_SENTENCE_ELEMENT_START = re.compile(r"<s\b", re.IGNORECASE)
_SENTENCE_TAG_START = re.compile(r"</?s\b", re.IGNORECASE)
#: The official program recognises only elements in capitals in a CSV file.
#: The text of an element in a CSV file ends at the next `<`.
_CSV_SENTENCE_TAG_START = re.compile(r"<(/?)S\b")
_CSV_NEXT_TAG = re.compile("<")
_SENTENCE_TAG_PATTERN = re.compile(r"</?s\b[^>]*>", re.IGNORECASE)
_SID_ATTRIBUTE_PATTERN = re.compile(r"\bsid\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)


def remove_xml_extension(name: str) -> str:
    """Return the name of the article without `.xml` at any position. The extensions
    `.txt` and `.pdf` are not removed.
    """
    return name.replace(".xml", "").strip()


def strip_marker_offset(text: str) -> str:
    """Remove one bracket, then one quotation mark, from each end of a marker offset."""
    text = text.strip().removeprefix("[").removesuffix("]")
    return text.removeprefix("'").removesuffix("'")


def parse_sentence_ids(text: str) -> tuple[str, ...]:
    """Return the sentence ids that a CSV cell lists. Ids are texts, so `007` and `7`
    differ. In the official program, `[]` contains one id, the empty text.
    """
    inside = text.strip().removeprefix("[").removesuffix("]")
    return tuple(_strip_quotation_marks(part.strip()) for part in inside.split(","))


def parse_line_facets(text: str | None) -> tuple[str, ...]:
    """Return the facets (kinds of content) of an annotation line in their original
    spelling.
    """
    if text is None:
        return ("none",)
    return parse_csv_facets(text) if not text or text.startswith("[") else (text,)


def parse_csv_facets(text: str) -> tuple[str, ...]:
    """Return the facets of a CSV cell in their original spelling. An empty cell has no
    facets. Several facets in a cell are separated by commas. Brackets around the facets
    are optional.
    """
    text = text.strip()
    return tuple(text.removeprefix("[").removesuffix("]").split(",")) if text else ()


def normalise_facet_as_official_program(text: str) -> str:
    """Return the spelling of a facet that the official programs use when they compare
    facets.
    """
    return _strip_quotation_marks(text.strip().lower().replace(" ", "_"))


def _strip_quotation_marks(text: str) -> str:
    """Remove one single or double quotation mark from each end of a text."""
    if text[:1] in ("'", '"'):
        text = text[1:]
    return text[:-1] if text[-1:] in ("'", '"') else text


def iterate_csv_elements(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield the id and the text of each element in a CSV field. Elements within an
    unclosed element are skipped, as an XML parser does.
    """
    depth = 0
    for tag, attributes, content in _iterate_tagged_texts(
        _CSV_SENTENCE_TAG_START, _CSV_NEXT_TAG, text
    ):
        if tag[1]:
            depth = max(depth - 1, 0)
            continue
        is_empty = attributes.endswith("/")
        if not depth:
            yield (
                _read_sid_attribute(attributes.removesuffix("/")),
                "" if is_empty else content,
            )
        depth += not is_empty


def _iterate_tagged_texts(
    tag: re.Pattern[str], next_tag: re.Pattern[str], text: str
) -> Iterator[tuple[re.Match[str], str, str]]:
    end = 0
    while (opening := tag.search(text, end)) and (
        begin := text.find(">", opening.end()) + 1
    ):
        following = next_tag.search(text, begin)
        end = following.start() if following else len(text)
        yield opening, text[opening.end() : begin - 1], text[begin:end]


def _read_sid_attribute(attributes: str) -> str | None:
    sid = _SID_ATTRIBUTE_PATTERN.search(attributes)
    return sid[1] if sid else None


def remove_sentence_tags(text: str) -> str:
    return " ".join(replace_tags_by_spaces(_SENTENCE_TAG_PATTERN, text).split())


def replace_tags_by_spaces(tag: re.Pattern[str], text: str) -> str:
    """Replace each match of ``tag`` in a text by a space. An incomplete tag at the end
    of the text is not searched.
    """
    end = text.rfind(">") + 1
    return tag.sub(" ", text[:end]) + text[end:]


def map_ids_to_quoted_sentences(
    elements: Sequence[tuple[str | None, str]], sentences: Sequence[str]
) -> Mapping[str, str]:
    """Return the quoted sentences of an annotation by id. If an id occurs twice, the
    last sentence with the id is kept. A quoted sentence without an id gets the listed
    id at the same position.
    """
    texts: dict[str, str] = {}
    for index, (sid, text) in enumerate(elements):
        if sid or index < len(sentences):
            texts[sid or sentences[index]] = text
    return texts
