"""The collection as retrieval has it: a document is a reference of a paper, `PAPER/REFERENCE`, and a topic's
candidates are those of its own paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.types.citation_resolution.collection import read_candidates
from tasks.types.citation_resolution.names import CONTEXTS, REFERENCES
from tasks.types.files import InputFile
from tasks.types.ranking.records import Rows, the_file
from tasks.types.trec import text_of_document, text_of_topic


def topics(files: Sequence[InputFile]) -> Iterator[tuple[str, str]]:
    for record in Rows(the_file(files, CONTEXTS, "the contexts"), []):
        yield str(record["context_id"]), text_of_topic(record)


def documents(files: Sequence[InputFile]) -> Iterator[tuple[str, str]]:
    """Each once, as it stands first."""
    seen = set()
    for record in Rows(the_file(files, REFERENCES, "each paper's references"), []):
        name = _document(record["paper_id"], record["ref_id"])
        if name not in seen:
            seen.add(name)
            yield name, text_of_document(record)


def candidates(files: Sequence[InputFile]) -> Iterator[tuple[str, Sequence[str]]]:
    of_papers = read_candidates(files, [])
    for record in Rows(the_file(files, CONTEXTS, "the contexts"), []):
        paper = str(record["paper_id"])
        yield str(record["context_id"]), [_document(paper, name) for name in of_papers.get(paper, ())]


def qrels(files: Sequence[InputFile]) -> Iterator[tuple[str, str, int]]:
    """What is cited and is a reference of the paper, as it is scored."""
    of_papers = read_candidates(files, [])
    rows = Rows(the_file(files, CONTEXTS, "the contexts"), [])
    for record in rows:
        paper = str(record["paper_id"])
        own = set(of_papers.get(paper, ()))
        for name in rows.names(record, "gold") or []:
            if name in own:
                yield str(record["context_id"]), _document(paper, name), 1


def _document(paper: object, reference: object) -> str:
    return f"{paper}/{reference}"
