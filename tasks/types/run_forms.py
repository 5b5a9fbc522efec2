"""Recognise by the first bytes whether a file is a run of a task type, another text, or
a binary file.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tasks.types.files import CHUNK, Files, InputFile
from tasks.types.problems import InputRefused
from tasks.types.tables import DOCUMENT, Columns

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_LINES = 100
_MAX_LINE = 4_000
PLAIN_TEXT = "plain text"
_MARKUP = (
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<?xml", "XML"),
)


@dataclass(frozen=True)
class RunForm:
    """The features that distinguish runs of a task type, including faulty runs, from
    other files.

    ``keys`` are alternative sets of keys that an answer in JSON has. The function
    ``is_line`` returns True for a possible line of the text format. ``described`` is
    the text that messages show as the expected form.
    """

    described: str
    keys: tuple[frozenset[str], ...]
    is_line: Callable[[bytes], bool] | None = None
    #: `columns` contains columns of a run in table form.
    #: The header of the table contains at least one column in `columns`.
    columns: frozenset[str] = frozenset()
    #: `table` contains the columns of a built-in type.
    #: A declared task defines its own columns of a run.
    table: Columns | None = None

    def has_columns(self, beginning: bytes) -> bool:
        lines = first_lines(beginning.removeprefix(BYTE_ORDER_MARK))
        head = lines[0].decode(errors="replace") if lines else ""
        cells = (cell.strip().strip('"') for cell in re.split("[,;\t]", head))
        return not self.columns.isdisjoint(cells)

    def fits(self, beginning: bytes) -> bool:
        if self.columns and self.has_columns(beginning):
            return True
        if is_json(beginning):
            # A regular expression finds the keys of an answer.
            # The time of the search does not depend on quotation marks and escapes.
            spelt = (
                [rb'"%s"\s*+:' % re.escape(key.encode()) for key in keys]
                for keys in self.keys
            )
            return any(all(re.search(key, beginning) for key in keys) for keys in spelt)
        return self.is_line is not None and any(
            map(self.is_line, first_lines(beginning))
        )

    def is_own(self, beginning: bytes) -> bool:
        return self.fits(beginning)


def beginning_of(file: InputFile) -> bytes:
    """Return the first bytes of a file, or an empty value if the file cannot be read."""
    try:
        return next(replace(file, reading=1).blocks(CHUNK), b"")
    except InputRefused:
        return b""


def first_lines(beginning: bytes) -> list[bytes]:
    return [
        line[:_MAX_LINE]
        for line in beginning.split(b"\n", MAX_LINES)[:MAX_LINES]
        if line.strip()
    ]


def is_json(beginning: bytes) -> bool:
    """Return True if any line of the beginning of a file begins like JSON."""
    lines = first_lines(beginning.removeprefix(BYTE_ORDER_MARK))
    return any(line.lstrip().startswith((b"{", b"[")) for line in lines)


def is_nameless_json(file: InputFile) -> bool:
    """Return True for a file without an extension that begins like JSON."""
    if file.suffix:
        return False
    return (
        beginning_of(file)
        .removeprefix(BYTE_ORDER_MARK)
        .lstrip()
        .startswith((b"{", b"["))
    )


def text_kind(beginning: bytes) -> str | None:
    """Return the kind of a text file that is not a run, or None if the file may be a
    run with faulty lines.
    """
    text = beginning.removeprefix(BYTE_ORDER_MARK).lstrip()[:_MAX_LINE]
    if not text or is_json(beginning):
        return None
    return next(
        (kind for start, kind in _MARKUP if text.lower().startswith(start)), PLAIN_TEXT
    )


#: `_OF_TOPIC` lists the input fields with the text of a topic.
#: `_OF_DOCUMENT` lists the input fields with the text of a document.
_OF_TOPIC = ("before", "sentence", "after")
_OF_DOCUMENT = ("title", "abstract", "raw")


@dataclass(frozen=True, kw_only=True)
class TrecForm:
    """Functions that read data for TREC exports. All functions except ``qrels`` read
    the public inputs.
    """

    #: `topics` and `documents` yield the id and the text of each topic or document.
    topics: Callable[[Files], Iterator[tuple[str, str]]]
    documents: Callable[[Files], Iterator[tuple[str, str]]]
    #: `qrels` yields topic, document and grade of each judgement.
    qrels: Callable[[Files], Iterator[tuple[str, str, int]]]
    #: `candidates` yields the candidates of each topic, or is None for all documents.
    candidates: Callable[[Files], Iterator[tuple[str, Sequence[str]]]] | None = None


def text_of_topic(record: Mapping[str, Any]) -> str:
    return _joined_fields(record, _OF_TOPIC)


def text_of_document(record: Mapping[str, Any]) -> str:
    return _joined_fields(record, _OF_DOCUMENT)


def _joined_fields(record: Mapping[str, Any], parts: Sequence[str]) -> str:
    return " ".join(str(record[part]) for part in parts if record.get(part))


#: `RANKED_TABLE` contains the columns of built-in rankings.
RANKED_TABLE = Columns(id="id", answer="ranked", document=DOCUMENT)
FORMS = (
    "JSON lines or a TREC run file, or CSV or TSV with a header row and the columns "
    f"{RANKED_TABLE.described}"
)


def _may_be_trec(line: bytes) -> bool:
    """Return True if a line has a number in the column of the rank or score of a TREC
    run. One column of the run may be missing or added.
    """
    fields = line[:1000].split()
    return 4 <= len(fields) <= 7 and any(map(_is_number, fields[3:5]))


def _is_number(field: bytes) -> bool:
    try:
        return math.isfinite(float(field))
    except ValueError:
        return False


RUN_FORM = RunForm(
    FORMS,
    (frozenset({"ranked"}), frozenset({"id", "scores"})),
    _may_be_trec,
    columns=frozenset({DOCUMENT}),
    table=RANKED_TABLE,
)
