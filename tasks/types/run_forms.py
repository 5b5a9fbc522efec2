"""What the files of a run look like from afar: of which task type, or none, or no text at all."""

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
    """How runs of a task type are told from other files, whatever is wrong with them. ``keys`` are sets of
    keys that the JSON form of an answer has, ``is_line`` says whether a line may be of the text form,
    ``described`` is what a message expects.
    """

    described: str
    keys: tuple[frozenset[str], ...]
    is_line: Callable[[bytes], bool] | None = None
    #: Of a run as a table; its header names one of them.
    columns: frozenset[str] = frozenset()
    #: How tables of a built-in type are read; a declared task says so itself.
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
            # Keys as they are spelt: that costs the same however many quotation marks and escapes there are.
            spelt = (
                [rb'"%s"\s*+:' % re.escape(key.encode()) for key in keys]
                for keys in self.keys
            )
            return any(all(re.search(key, beginning) for key in keys) for keys in spelt)
        return self.is_line is not None and any(
            map(self.is_line, first_lines(beginning))
        )

    def is_own(self, beginning: bytes) -> bool:
        """Return whether a file is told its faults as a run of this type, also if it fits others better."""
        return self.fits(beginning)


def beginning_of(file: InputFile) -> bytes:
    """The first part of a file; none of one that cannot be read, which its reader says."""
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
    """Whether a line looks like JSON, be it the first or not."""
    lines = first_lines(beginning.removeprefix(BYTE_ORDER_MARK))
    return any(line.lstrip().startswith((b"{", b"[")) for line in lines)


def text_kind(beginning: bytes) -> str | None:
    """What a text is that is of no form of a run; None where its lines are worth a word each."""
    text = beginning.removeprefix(BYTE_ORDER_MARK).lstrip()[:_MAX_LINE]
    if not text or is_json(beginning):
        return None
    return next(
        (kind for start, kind in _MARKUP if text.lower().startswith(start)), PLAIN_TEXT
    )


#: What a topic shows of its context, and a document of its candidate.
_OF_TOPIC = ("before", "sentence", "after")
_OF_DOCUMENT = ("title", "abstract", "raw")


@dataclass(frozen=True, kw_only=True)
class TrecForm:
    """How a task type's files are read; all but ``qrels`` are read from the public inputs."""

    #: Id and text of each.
    topics: Callable[[Files], Iterator[tuple[str, str]]]
    documents: Callable[[Files], Iterator[tuple[str, str]]]
    #: Topic, document, grade.
    qrels: Callable[[Files], Iterator[tuple[str, str, int]]]
    #: The documents among which each topic's are; all of them where it is not said.
    candidates: Callable[[Files], Iterator[tuple[str, Sequence[str]]]] | None = None


def text_of_topic(record: Mapping[str, Any]) -> str:
    return _joined(record, _OF_TOPIC)


def text_of_document(record: Mapping[str, Any]) -> str:
    return _joined(record, _OF_DOCUMENT)


def _joined(record: Mapping[str, Any], parts: Sequence[str]) -> str:
    return " ".join(str(record[part]) for part in parts if record.get(part))


#: Of rankings of built-in types.
RANKED_TABLE = Columns(id="id", answer="ranked", document=DOCUMENT)
FORMS = (
    "JSON lines or a TREC run file, or CSV or TSV with a header row and the columns "
    f"{RANKED_TABLE.described}"
)


def _may_be_trec(line: bytes) -> bool:
    """Whether a number stands where a TREC run has rank or score, be there a field too many or too few."""
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
