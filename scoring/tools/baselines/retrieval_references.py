"""Baselines of Citation Resolution that need nothing but the printed references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from scoring.tools.baselines.retrieval import document, rows_of
from scoring.tools.baselines.retrieval_resolution import Document, internal, rankings
from scoring.tools.baselines.retrieval_windows import Window
from tasks.types.baselines import Answer, Baseline
from tasks.types.citation_resolution.names import CONTEXTS, REFERENCES
from tasks.types.files import InputFile
from tasks.types.ranking.records import the_file

METHOD = internal("reference", "reference string")


def resolve_by_reference(files: Sequence[InputFile], window: Window) -> Iterator[Answer]:
    """The scores of all references for each context. Raises InputRefused where the inputs cannot be read."""
    references: dict[str, dict[str, str]] = {}
    for record in rows_of(the_file(files, REFERENCES, "each paper's references")):
        own = references.setdefault(str(record["paper_id"]), {})
        own.setdefault(str(record["ref_id"]), document(record))
    contexts = rows_of(the_file(files, CONTEXTS, "the contexts"))
    for paper, group in groupby(contexts, key=lambda record: str(record["paper_id"])):
        own = references.get(paper, {})
        if own:
            yield from _answers(own, list(group), window)


def _answers(
    references: Mapping[str, str], records: Sequence[Mapping[str, Any]], window: Window
) -> Iterator[Answer]:
    names = list(references)
    documents = [Document(reference=text) for text in references.values()]
    for record, ranking in zip(records, rankings(documents, records, METHOD, window), strict=True):
        scores = [(names[place], ranking.scores[place]) for place in ranking.order]
        yield {"id": str(record["context_id"]), "scores": dict(scores)}


BASELINES = tuple(
    Baseline(
        name=f"references-tfidf-{window}",
        summary=f"TF-IDF cosine of printed references; {window.left} words left, {window.right} right.",
        source="Duma and Klein 2014, Citation Resolution",
        answers=partial(resolve_by_reference, window=window),
    )
    for window in (Window(10, 10), Window(30, 30))
)
