"""Recognise from the first bytes of a file whether the file is a run of a task type,
another text, or a binary file.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tasks.types.files import CHUNK_BYTES, Files, InputFile
from tasks.types.problems import InputRefused
from tasks.types.tables import DOCUMENT_COLUMN, RunTableColumns

UTF8_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_LINES_INSPECTED = 100
_MAX_LINE_LENGTH = 4_000
PLAIN_TEXT_KIND = "plain text"
_MARKUP_SIGNATURES = (
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<?xml", "XML"),
)


@dataclass(frozen=True)
class RunFormatSignature:
    """Describes how runs of a task type, including faulty runs, can be distinguished
    from other files.

    ``keys`` lists alternative sets of JSON keys, and each answer of a run contains all
    keys of one set. The function ``is_line`` returns True if a line of a text file may
    belong to a run, for example to a TREC run file. ``described`` is the description of
    the run format in error messages.
    """

    described: str
    keys: tuple[frozenset[str], ...]
    is_line: Callable[[bytes], bool] | None = None
    #: `columns` lists column names by which a run in CSV or TSV is recognised.
    #: A table is recognised as a run by at least one column name in `columns`.
    columns: frozenset[str] = frozenset()
    #: `table` describes the columns of runs in CSV or TSV for a built-in task type.
    #: For a task that a `task.toml` defines, the columns come from the task instead.
    table: RunTableColumns | None = None

    def has_expected_column(self, beginning: bytes) -> bool:
        lines = split_nonempty_first_lines(beginning.removeprefix(UTF8_BYTE_ORDER_MARK))
        head = lines[0].decode(errors="replace") if lines else ""
        cells = (cell.strip().strip('"') for cell in re.split("[,;\t]", head))
        return not self.columns.isdisjoint(cells)

    def fits(self, beginning: bytes) -> bool:
        if self.columns and self.has_expected_column(beginning):
            return True
        if begins_like_json(beginning):
            # A regular expression finds the keys of an answer without JSON parsing.
            # The expression takes linear time, even with many quotation marks.
            spelt = (
                [rb'"%s"\s*+:' % re.escape(key.encode()) for key in keys]
                for keys in self.keys
            )
            return any(all(re.search(key, beginning) for key in keys) for keys in spelt)
        return self.is_line is not None and any(
            map(self.is_line, split_nonempty_first_lines(beginning))
        )

    def is_own(self, beginning: bytes) -> bool:
        return self.fits(beginning)


def read_first_bytes(file: InputFile) -> bytes:
    """Return the first bytes of a file, or an empty value if the file cannot be read."""
    try:
        return next(replace(file, reading=1).iterate_blocks_of_lines(CHUNK_BYTES), b"")
    except InputRefused:
        return b""


def split_nonempty_first_lines(beginning: bytes) -> list[bytes]:
    return [
        line[:_MAX_LINE_LENGTH]
        for line in beginning.split(b"\n", MAX_LINES_INSPECTED)[:MAX_LINES_INSPECTED]
        if line.strip()
    ]


def begins_like_json(beginning: bytes) -> bool:
    """Return True if one of the first lines of a file begins with a brace or bracket,
    as JSON does.
    """
    lines = split_nonempty_first_lines(beginning.removeprefix(UTF8_BYTE_ORDER_MARK))
    return any(line.lstrip().startswith((b"{", b"[")) for line in lines)


def is_json_without_suffix(file: InputFile) -> bool:
    """Return True if the file name has no extension, and the content begins with a
    brace or bracket as JSON does.
    """
    if file.suffix:
        return False
    return (
        read_first_bytes(file)
        .removeprefix(UTF8_BYTE_ORDER_MARK)
        .lstrip()
        .startswith((b"{", b"["))
    )


def detect_kind_of_text(beginning: bytes) -> str | None:
    """Return the kind of a text file, such as an HTML page, or None if the file is
    empty or begins like JSON.
    """
    text = beginning.removeprefix(UTF8_BYTE_ORDER_MARK).lstrip()[:_MAX_LINE_LENGTH]
    if not text or begins_like_json(beginning):
        return None
    return next(
        (kind for start, kind in _MARKUP_SIGNATURES if text.lower().startswith(start)),
        PLAIN_TEXT_KIND,
    )


#: `_TOPIC_TEXT_FIELDS` lists the fields of an input record that contain a topic's text.
#: `_DOCUMENT_TEXT_FIELDS` lists the fields of an input record that contain a document's text.
_TOPIC_TEXT_FIELDS = ("before", "sentence", "after")
_DOCUMENT_TEXT_FIELDS = ("title", "abstract", "raw")


@dataclass(frozen=True, kw_only=True)
class TrecExportFunctions:
    """Functions that read a ranking task's files for an export in the formats of TREC.
    All functions except ``qrels`` read the public input files, while ``qrels`` reads
    the gold files.
    """

    #: `topics` and `documents` yield the id and text of each topic or document.
    topics: Callable[[Files], Iterator[tuple[str, str]]]
    documents: Callable[[Files], Iterator[tuple[str, str]]]
    #: `qrels` yields the topic, document and relevance grade of each judgement.
    qrels: Callable[[Files], Iterator[tuple[str, str, int]]]
    #: `candidates` yields each topic's candidates, or is None for all documents.
    candidates: Callable[[Files], Iterator[tuple[str, Sequence[str]]]] | None = None


def get_topic_text(record: Mapping[str, Any]) -> str:
    return _join_fields(record, _TOPIC_TEXT_FIELDS)


def get_document_text(record: Mapping[str, Any]) -> str:
    return _join_fields(record, _DOCUMENT_TEXT_FIELDS)


def _join_fields(record: Mapping[str, Any], parts: Sequence[str]) -> str:
    return " ".join(str(record[part]) for part in parts if record.get(part))


#: `RANKED_RUN_COLUMNS` describes CSV and TSV columns of runs for built-in ranking tasks.
RANKED_RUN_COLUMNS = RunTableColumns(id="id", answer="ranked", document=DOCUMENT_COLUMN)
RANKED_RUN_FORMS_DESCRIPTION = (
    "JSON lines or a TREC run file, or CSV or TSV with a header row and the columns "
    f"{RANKED_RUN_COLUMNS.description}"
)


def _looks_like_trec_line(line: bytes) -> bool:
    """Return True if the fourth or fifth field of the line is a number, as the rank and
    the score in a TREC run file are. The line may have four to seven fields, so a line
    with one missing or additional field is also recognised.
    """
    fields = line[:1000].split()
    return 4 <= len(fields) <= 7 and any(map(_is_number, fields[3:5]))


def _is_number(field: bytes) -> bool:
    try:
        return math.isfinite(float(field))
    except ValueError:
        return False


RUN_FORM = RunFormatSignature(
    RANKED_RUN_FORMS_DESCRIPTION,
    (frozenset({"ranked"}), frozenset({"id", "scores"})),
    _looks_like_trec_line,
    columns=frozenset({DOCUMENT_COLUMN}),
    table=RANKED_RUN_COLUMNS,
)
