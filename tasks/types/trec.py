"""A split as retrieval has it: topics, documents, each topic's candidates where they differ, and qrels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.types.files import InputFile
from tasks.types.run_forms import RunForm

#: What a topic shows of its context, and a document of its candidate.
_OF_TOPIC = ("before", "sentence", "after")
_OF_DOCUMENT = ("title", "abstract", "raw")


@dataclass(frozen=True, kw_only=True)
class TrecForm:
    """How a task type's files are read; all but ``qrels`` are read from the public inputs."""

    #: Id and text of each.
    topics: Callable[[Sequence[InputFile]], Iterator[tuple[str, str]]]
    documents: Callable[[Sequence[InputFile]], Iterator[tuple[str, str]]]
    #: Topic, document, grade.
    qrels: Callable[[Sequence[InputFile]], Iterator[tuple[str, str, int]]]
    #: The documents among which each topic's are; all of them where it is not said.
    candidates: Callable[[Sequence[InputFile]], Iterator[tuple[str, Sequence[str]]]] | None = None


def text_of_topic(record: Mapping[str, Any]) -> str:
    return _joined(record, _OF_TOPIC)


def text_of_document(record: Mapping[str, Any]) -> str:
    return _joined(record, _OF_DOCUMENT)


def _joined(record: Mapping[str, Any], parts: Sequence[str]) -> str:
    return " ".join(str(record[part]) for part in parts if record.get(part))


FORMS = "JSON lines or a TREC run file"


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
    described=FORMS,
    keys=(frozenset({"ranked"}), frozenset({"id", "scores"})),
    is_line=_may_be_trec,
)
