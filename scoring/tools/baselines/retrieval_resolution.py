"""Baselines of Citation Resolution: what stands for a reference, and the ranking that follows from it.

Duma and Klein 2014. *Internal*: the cited paper's own words (full text, title and abstract, passage).
*External*: what other papers say where they cite it. *Mixed*: both together. Vectors are fitted on the
references of one paper, since only these compete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.tools.baselines.retrieval_tfidf import TfIdfRetriever
from scoring.tools.baselines.retrieval_windows import Sentences, Window, query_of, words_around

INTERNAL, EXTERNAL, MIXED = "Internal methods", "External methods", "Mixed methods"
#: The fitted vectors of so many reference lists are kept: papers that share one need not fit again.
FITTED = 64


@dataclass(frozen=True)
class Inlink:
    """A context in which a paper cites a document."""

    citing: str
    record: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Document:
    """What is known of a cited paper; any part may be missing."""

    reference: str = ""
    title: str = ""
    abstract: str = ""
    full_text: str = ""
    inlinks: Sequence[Inlink] = ()


@dataclass(frozen=True, kw_only=True)
class Method:
    """A representation of documents: one or several bags of words each, of which the best counts."""

    name: str
    family: str
    #: From a document and the paper under test, whose own words are never evidence.
    bags: Callable[[Document, str], Sequence[str]] = field(repr=False)
    #: Which parts of a document it needs; a corpus without them has no such row.
    requirements: frozenset[str]


def internal(part: str, name: str) -> Method:
    return Method(
        name=name,
        family=INTERNAL,
        bags=lambda document, citing: [_part(document, part)],
        requirements=frozenset({part}),
    )


def passages(length: int) -> Method:
    """Half-overlapping passages of the full text, so many words each."""
    return Method(
        name=f"passage {length}",
        family=INTERNAL,
        bags=lambda document, citing: split_passages(document.full_text, length),
        requirements=frozenset({"full_text"}),
    )


def inlinks(width: int, right: int | None = None) -> Method:
    """So many words left and right of the marks with which other papers cite the document.

    Without ``right`` as many on each side.
    """
    window = Window(width, width if right is None else right)
    name = f"inlink context {width}" if right is None else f"inlink context {window}"

    def bags(document: Document, citing: str) -> Sequence[str]:
        evidence = (inlink.record for inlink in document.inlinks if inlink.citing != citing)
        return [" ".join(words_around(record, window) for record in evidence)]

    return Method(name=name, family=EXTERNAL, bags=bags, requirements=frozenset({"inlinks"}))


def mixed(external: Method, own: Method) -> Method:
    """Both bags joined; of several passages each is joined with what other papers say."""

    def bags(document: Document, citing: str) -> Sequence[str]:
        said = " ".join(external.bags(document, citing))
        return [f"{said} {bag}" for bag in own.bags(document, citing)] or [said]

    return Method(
        name=f"{external.name} + {own.name}",
        family=MIXED,
        bags=bags,
        requirements=external.requirements | own.requirements,
    )


def split_passages(text: str, length: int) -> list[str]:
    """Passages of so many words, each beginning half a passage after the one before."""
    found = text.split()
    starts = range(0, max(len(found) - length // 2, 1), max(length // 2, 1))
    return [" ".join(found[start : start + length]) for start in starts]


def methods() -> tuple[Method, ...]:
    """The rows of the paper's Table 1; passages of 300 words and unequal sides, which its text names; and the
    printed reference for corpora that have no more.
    """
    full, brief = internal("full_text", "full text"), internal("title_abstract", "title and abstract")
    printed = internal("reference", "reference string")
    ten, twenty, thirty = inlinks(10), inlinks(20), inlinks(30)
    short, middle, long = passages(250), passages(350), passages(400)
    return (
        *(full, brief, short, passages(300), middle, long, printed),
        *(ten, inlinks(10, 5), twenty, thirty),
        *(mixed(twenty, own) for own in (full, brief, short)),
        *(mixed(ten, middle), mixed(twenty, middle), mixed(twenty, printed)),
    )


def _part(document: Document, part: str) -> str:
    if part == "title_abstract":
        return f"{document.title} {document.abstract}".strip()
    return str(getattr(document, part))


class Candidates:
    """The references of one paper, ready to be ranked for its contexts."""

    def __init__(self, documents: Sequence[Document], method: Method, citing: str) -> None:
        bags = [tuple(method.bags(document, citing)) or ("",) for document in documents]
        self._starts = np.cumsum([0, *map(len, bags)])[:-1]
        self._fitted = _fitted(tuple(bag for own in bags for bag in own))

    def scores(self, queries: list[str]) -> NDArray[np.float64]:
        """(queries, candidates): the cosine with each candidate's best bag."""
        cosines = self._fitted.scores_of_all(queries)
        return np.asarray(np.maximum.reduceat(cosines, self._starts, axis=1), dtype=np.float64)


@lru_cache(maxsize=FITTED)
def _fitted(bags: tuple[str, ...]) -> TfIdfRetriever:
    return TfIdfRetriever(bags)


@dataclass(frozen=True)
class Ranking:
    """Candidates by their numbers, best first, equal ones in their own order; and all their scores."""

    order: list[int]
    scores: list[float]


def rankings(
    documents: Sequence[Document],
    records: Sequence[Mapping[str, Any]],
    method: Method,
    window: Window | Sentences,
) -> Iterator[Ranking]:
    """One ranking for each context of a paper, whose references are ``documents``."""
    candidates = Candidates(documents, method, str(records[0]["paper_id"]))
    for scores in candidates.scores([query_of(record, window) for record in records]):
        yield Ranking(np.argsort(-scores, kind="stable").tolist(), scores.tolist())
