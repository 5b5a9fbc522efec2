"""The collection as retrieval has it: every candidate is a document, and each context a topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.types.citation_recommendation.names import CANDIDATES, CONTEXTS
from tasks.types.files import InputFile
from tasks.types.ranking.records import Rows, the_file
from tasks.types.trec import text_of_document, text_of_topic


def topics(files: Sequence[InputFile]) -> Iterator[tuple[str, str]]:
    for record in Rows(the_file(files, CONTEXTS, "the contexts"), []):
        yield str(record["id"]), text_of_topic(record)


def documents(files: Sequence[InputFile]) -> Iterator[tuple[str, str]]:
    for record in Rows(the_file(files, CANDIDATES, "the candidates"), []):
        yield str(record["ref_id"]), text_of_document(record)


def qrels(files: Sequence[InputFile]) -> Iterator[tuple[str, str, int]]:
    """What is cited has its grade, 1 where none is given, and what else was graded has its own."""
    rows = Rows(the_file(files, CONTEXTS, "the contexts"), [])
    for record in rows:
        grades = rows.grades(record, "grades", rows.names(record, "cited_id") or [])
        for name, grade in grades.items():
            yield str(record["id"]), name, grade
