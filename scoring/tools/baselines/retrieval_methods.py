"""The methods of Duma and Klein as baselines: each representation of a reference with each query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from scoring.tools.baselines.retrieval import rows_of
from scoring.tools.baselines.retrieval_resolution import Document, Inlink, Method, methods, rankings
from scoring.tools.baselines.retrieval_windows import SENTENCES, WINDOWS, Sentences, Window
from tasks.types.base import Option, Options
from tasks.types.baselines import Answer, Answering, Baseline
from tasks.types.citation_resolution.names import CONTEXTS, INLINKS, REFERENCES
from tasks.types.files import InputFile
from tasks.types.problems import InputRefused, Problem
from tasks.types.ranking.records import named, the_file

METHODS = {method.name: method for method in methods()}
_QUERIES: tuple[Window | Sentences, ...] = (*WINDOWS, *SENTENCES)
QUERIES = {str(window): window for window in _QUERIES}
#: What a method needs, and which command gives it.
_PARTS = {
    "full_text": "full texts (build-resolution --with-texts)",
    "inlinks": f"{INLINKS} (build-resolution --with-inlinks)",
    "title_abstract": "abstracts",
    "reference": "references as printed",
}


def resolve(files: Sequence[InputFile], method: Method, window: Window | Sentences) -> Iterator[Answer]:
    """The scores of all references for each context.

    Raises InputRefused where the inputs cannot be read, or have nothing of what the method needs.
    """
    documents = _documents(files)
    known = {part for own in documents.values() for document in own.values() for part in parts_of(document)}
    if missing := sorted(method.requirements - known):
        expected = ", ".join(_PARTS[part] for part in missing)
        raise InputRefused([Problem(message=f"{method.name} has nothing to go by here", expected=expected)])
    contexts = rows_of(the_file(files, CONTEXTS, "the contexts"))
    for paper, group in groupby(contexts, key=lambda record: str(record["paper_id"])):
        if own := documents.get(paper):
            names, records = list(own), list(group)
            found = rankings(list(own.values()), records, method, window)
            for record, ranking in zip(records, found, strict=True):
                scores = {names[place]: ranking.scores[place] for place in ranking.order}
                yield {"id": str(record["context_id"]), "scores": scores}


def parts_of(document: Document) -> Iterator[str]:
    """The parts that methods may need and this document has."""
    found = {
        "reference": document.reference,
        "title_abstract": document.abstract,
        "full_text": document.full_text,
        "inlinks": document.inlinks,
    }
    return (part for part, content in found.items() if content)


def possible(files: Sequence[InputFile]) -> list[Method]:
    """The methods that have something to go by in these inputs."""
    documents = [document for own in _documents(files).values() for document in own.values()]
    known = {part for document in documents for part in parts_of(document)}
    return [method for method in METHODS.values() if method.requirements <= known]


def _documents(files: Sequence[InputFile]) -> dict[str, dict[str, Document]]:
    """By paper and reference."""
    inlinks: dict[str, list[Inlink]] = defaultdict(list)
    for file in named(files, INLINKS):
        for record in rows_of(file):
            inlinks[str(record.get("ref_id"))].append(Inlink(str(record.get("citing")), record))
    found: dict[str, dict[str, Document]] = defaultdict(dict)
    for record in rows_of(the_file(files, REFERENCES, "each paper's references")):
        name = str(record["ref_id"])
        found[str(record["paper_id"])].setdefault(name, _document(record, inlinks.get(name, ())))
    return found


def _document(record: Mapping[str, Any], inlinks: Sequence[Inlink]) -> Document:
    raw, title, abstract, text = (
        str(record.get(part) or "") for part in ("raw", "title", "abstract", "text")
    )
    return Document(reference=raw, title=title, abstract=abstract, full_text=text, inlinks=inlinks)


def configured(options: Options) -> Answering:
    return partial(resolve, method=METHODS[options["method"]], window=QUERIES[options["window"]])


OPTIONS = (
    Option("method", "reference string", "what stands for a reference", tuple(METHODS)),
    Option("window", "10-10", "what of the text around the citation is the query", tuple(QUERIES)),
)
BASELINES = (
    Baseline(
        name="resolution-tfidf",
        summary="TF-IDF cosine of any representation of a reference (`method`) with any `window`.",
        source="Duma and Klein 2014, Citation Resolution",
        answers=configured({option.name: option.default for option in OPTIONS}),
        options=OPTIONS,
        configured=configured,
    ),
)
