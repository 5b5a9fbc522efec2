"""Baselines of Citation Resolution: what stands for a reference, and the ranking that follows from it.

Duma and Klein 2014. *Internal*: the cited paper's own words (full text, title and abstract, passage).
*External*: what other papers say where they cite it. *Mixed*: both together. Vectors are fitted on the
references of one paper, since only these compete.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.discourse import sentence_spans
from scoring.tools.baselines.retrieval import OTHER, PLACEHOLDER, rows_of
from scoring.tools.baselines.tfidf import TfIdfRetriever
from tasks.types.base import Option, Options
from tasks.types.baselines import Answer, Baseline
from tasks.types.citation_resolution import CONTEXTS, INLINKS, REFERENCES
from tasks.types.files import InputFile
from tasks.types.problems import InputRefused, Problem
from tasks.types.ranking.records import named, the_file

_MARKS = re.compile(f"{PLACEHOLDER}|{OTHER}")


@dataclass(frozen=True, order=True)
class Window:
    left: int
    right: int

    @classmethod
    def of(cls, text: str) -> "Window":
        left, _, right = text.partition("-")
        window = cls(int(left), int(right))
        if window.left < 0 or window.right < 0 or not window.left + window.right:
            raise ValueError(f"a window of {text} words is empty")
        return window

    def __str__(self) -> str:
        return f"{self.left}-{self.right}"


@dataclass(frozen=True, order=True)
class Sentences:
    around: int

    def __str__(self) -> str:
        return "sentence" if not self.around else f"{2 * self.around + 1} sentences"


#: The windows of the paper's Table 1.
WINDOWS = tuple(Window(*sides) for sides in ((5, 5), (10, 10), (10, 5), (20, 20), (30, 30)))

#: Extracted sentences, which the paper names as further work.
SENTENCES = (Sentences(0), Sentences(1))


def query_of(record: Mapping[str, Any], window: Window | Sentences) -> str:
    return words_around(record, window) if isinstance(window, Window) else sentences_around(record, window)


def sentences_around(record: Mapping[str, Any], window: Sentences) -> str:
    """The sentence without its marks, with its neighbours as far as the record has them."""
    before, sentence, after = (str(record.get(part) or "") for part in ("before", "sentence", "after"))
    first, last = (
        [text[start:end] for start, end in sentence_spans(text)] if window.around else []
        for text in (before, after)
    )
    text = " ".join([*first[-window.around :], sentence, *last[: window.around]])
    return " ".join(_MARKS.sub(" ", text).split())


def words_around(record: Mapping[str, Any], window: Window) -> str:
    """Words left and right of the first placeholder, from the sentence and those before and after it.

    Other marks are no words. Without a placeholder the sentence's end stands for it.
    """
    before, sentence, after = (str(record.get(part) or "") for part in ("before", "sentence", "after"))
    left, _, right = sentence.partition(PLACEHOLDER)
    left_words = _MARKS.sub(" ", f"{before} {left}").split()
    right_words = _MARKS.sub(" ", f"{right} {after}").split()
    nearest = left_words[len(left_words) - window.left :] if window.left < len(left_words) else left_words
    return " ".join([*nearest, *right_words[: window.right]])


INTERNAL, EXTERNAL, MIXED = "Internal methods", "External methods", "Mixed methods"
#: The fitted vectors of so many reference lists are kept: papers that share one need not fit again.
FITTED = 64


@dataclass(frozen=True)
class Inlink:
    citing: str
    record: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Document:
    reference: str = ""
    title: str = ""
    abstract: str = ""
    full_text: str = ""
    inlinks: Sequence[Inlink] = ()

    @classmethod
    def of(cls, record: Mapping[str, Any], inlinks: Sequence[Inlink]) -> "Document":
        names = {"reference": "raw", "title": "title", "abstract": "abstract", "full_text": "text"}
        texts = {part: str(record.get(name) or "") for part, name in names.items()}
        return cls(**texts, inlinks=inlinks)


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


def mixed(external: Method, inner: Method) -> Method:
    """Both bags joined; of several passages each is joined with what other papers say."""

    def bags(document: Document, citing: str) -> Sequence[str]:
        cited = " ".join(external.bags(document, citing))
        return [f"{cited} {bag}" for bag in inner.bags(document, citing)] or [cited]

    return Method(
        name=f"{external.name} + {inner.name}",
        family=MIXED,
        bags=bags,
        requirements=external.requirements | inner.requirements,
    )


def split_passages(text: str, length: int) -> list[str]:
    words = text.split()
    starts = range(0, max(len(words) - length // 2, 1), max(length // 2, 1))
    return [" ".join(words[start : start + length]) for start in starts]


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
        *(mixed(twenty, text) for text in (full, brief, short)),
        *(mixed(ten, middle), mixed(twenty, middle), mixed(twenty, printed)),
    )


def _part(document: Document, part: str) -> str:
    if part == "title_abstract":
        return f"{document.title} {document.abstract}".strip()
    return str(getattr(document, part))


class Candidates:
    def __init__(self, documents: Sequence[Document], method: Method, citing: str) -> None:
        bags = [tuple(method.bags(document, citing)) or ("",) for document in documents]
        self._starts = np.cumsum([0, *map(len, bags)])[:-1]
        self._fitted = _fitted(tuple(bag for group in bags for bag in group))

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
    candidates = Candidates(documents, method, str(records[0]["paper_id"]))
    for scores in candidates.scores([query_of(record, window) for record in records]):
        yield Ranking(np.argsort(-scores, kind="stable").tolist(), scores.tolist())


METHODS = {method.name: method for method in methods()}
#: The reference as printed, else title and abstract: it needs nothing.
PRINTED_REFERENCE = Method(
    name="reference string",
    family=INTERNAL,
    bags=lambda document, citing: [document.reference or _part(document, "title_abstract")],
    requirements=frozenset(),
)
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
    there = {part for one in documents.values() for document in one.values() for part in parts_of(document)}
    if missing := sorted(method.requirements - there):
        expected = ", ".join(_PARTS[part] for part in missing)
        raise InputRefused([Problem(message=f"{method.name} has nothing to go by here", expected=expected)])
    contexts = rows_of(the_file(files, CONTEXTS, "the contexts"))
    for paper, group in groupby(contexts, key=lambda record: str(record["paper_id"])):
        if one := documents.get(paper):
            names, records = list(one), list(group)
            ranked = rankings(list(one.values()), records, method, window)
            for record, ranking in zip(records, ranked, strict=True):
                scores = {names[place]: ranking.scores[place] for place in ranking.order}
                yield {"id": str(record["context_id"]), "scores": scores}


def parts_of(document: Document) -> Iterator[str]:
    parts = {
        "reference": document.reference,
        "title_abstract": document.abstract,
        "full_text": document.full_text,
        "inlinks": document.inlinks,
    }
    return (part for part, content in parts.items() if content)


def possible(files: Sequence[InputFile]) -> list[Method]:
    documents = [document for texts in _documents(files).values() for document in texts.values()]
    there = {part for document in documents for part in parts_of(document)}
    return [method for method in METHODS.values() if method.requirements <= there]


def _documents(files: Sequence[InputFile]) -> dict[str, dict[str, Document]]:
    inlinks: dict[str, list[Inlink]] = defaultdict(list)
    for file in named(files, INLINKS):
        for record in rows_of(file):
            inlinks[str(record.get("ref_id"))].append(Inlink(str(record.get("citing")), record))
    documents: dict[str, dict[str, Document]] = defaultdict(dict)
    for record in rows_of(the_file(files, REFERENCES, "each paper's references")):
        name = str(record["ref_id"])
        document = Document.of(record, inlinks.get(name, ()))
        documents[str(record["paper_id"])].setdefault(name, document)
    return documents


def by_method(files: Sequence[InputFile], options: Options) -> Iterator[Answer]:
    return resolve(files, METHODS[options["method"]], QUERIES[options["window"]])


OPTIONS = (
    Option("method", "reference string", "what stands for a reference", tuple(METHODS)),
    Option("window", "10-10", "what of the text around the citation is the query", tuple(QUERIES)),
)
BY_METHOD = Baseline.of(
    by_method,
    name="resolution-tfidf",
    summary="TF-IDF cosine of any representation of a reference (`method`) with any `window`.",
    source="Duma and Klein 2014, Citation Resolution",
    options=OPTIONS,
)
BASELINES = (
    BY_METHOD,
    *(
        Baseline(
            name=f"references-tfidf-{window}",
            summary=f"TF-IDF cosine of printed references; {window.left} words left, {window.right} right.",
            source="Duma and Klein 2014, Citation Resolution",
            answers=partial(resolve, method=PRINTED_REFERENCE, window=window),
        )
        for window in (Window(10, 10), Window(30, 30))
    ),
)
