"""Rank the references of a paper for a citation of the paper, as baselines of Citation
Resolution.

Duma and Klein (2014) describe the methods. *Internal* methods use the cited paper's own
words (full text, title and abstract, passage). *External* methods use sentences of
other papers that cite the cited paper. *Mixed* methods use the words of internal and of
external methods. TF-IDF weights are computed for each citing paper from the paper's
references, because only these references are ranked.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import groupby
from typing import Any

import numpy as np

from scoring.metrics.discourse import iterate_sentence_spans
from scoring.tools.baselines.retrieval import (
    CITATION_PLACEHOLDER,
    OTHER_CITATION_PLACEHOLDER,
    iterate_input_rows,
)
from scoring.tools.baselines.tfidf import TfIdfRetriever
from tasks.types.base import Option
from tasks.types.baselines import Answer, Baseline
from tasks.types.citation_resolution import (
    CONTEXTS_FILE_NAME,
    INLINKS_FILE_NAME,
    REFERENCES_FILE_NAME,
)
from tasks.types.files import InputFile
from tasks.types.problems import InputRefused, Problem
from tasks.types.ranking.records import get_single_file_named, select_files_named

_PLACEHOLDER_PATTERN = re.compile(
    f"{CITATION_PLACEHOLDER}|{OTHER_CITATION_PLACEHOLDER}"
)


@dataclass(frozen=True, order=True)
class WordWindow:
    left: int
    right: int

    @classmethod
    def of(cls, text: str) -> "WordWindow":
        left, _, right = text.partition("-")
        window = cls(int(left), int(right))
        if window.left < 0 or window.right < 0 or not window.left + window.right:
            raise ValueError(f"a window of {text} words is empty")
        return window

    def __str__(self) -> str:
        return f"{self.left}-{self.right}"


@dataclass(frozen=True, order=True)
class SentenceWindow:
    around: int

    def __str__(self) -> str:
        return "sentence" if not self.around else f"{2 * self.around + 1} sentences"


#: The windows of words around a citation in Table 1 of the paper.
WORD_WINDOWS = tuple(
    WordWindow(*sides) for sides in ((5, 5), (10, 10), (10, 5), (20, 20), (30, 30))
)

#: Queries that consist of whole sentences, which the paper suggests to try.
SENTENCE_WINDOWS = (SentenceWindow(0), SentenceWindow(1))


def make_query_text(
    record: Mapping[str, Any], window: WordWindow | SentenceWindow
) -> str:
    return (
        join_words_around_placeholder(record, window)
        if isinstance(window, WordWindow)
        else join_neighbouring_sentences(record, window)
    )


def join_neighbouring_sentences(
    record: Mapping[str, Any], window: SentenceWindow
) -> str:
    """Return the sentence without its citation marks, with the neighbouring sentences
    if the record contains them.
    """
    before, sentence, after = (
        str(record.get(part) or "") for part in ("before", "sentence", "after")
    )
    texts = (before, after) if window.around else ("", "")
    first, last = (
        [text[start:end] for start, end in iterate_sentence_spans(text)]
        for text in texts
    )
    text = " ".join([*first[-window.around :], sentence, *last[: window.around]])
    return " ".join(_PLACEHOLDER_PATTERN.sub(" ", text).split())


def join_words_around_placeholder(record: Mapping[str, Any], window: WordWindow) -> str:
    """Return the words to the left and right of the first placeholder of a citation,
    from the sentence and its neighbours.

    Citation marks of other citations are not counted as words. If the sentence has no
    placeholder, the window is at the end of the sentence.
    """
    before, sentence, after = (
        str(record.get(part) or "") for part in ("before", "sentence", "after")
    )
    left, _, right = sentence.partition(CITATION_PLACEHOLDER)
    left_words = _PLACEHOLDER_PATTERN.sub(" ", f"{before} {left}").split()
    right_words = _PLACEHOLDER_PATTERN.sub(" ", f"{right} {after}").split()
    nearest = (
        left_words[len(left_words) - window.left :]
        if window.left < len(left_words)
        else left_words
    )
    return " ".join([*nearest, *right_words[: window.right]])


INTERNAL_METHODS, EXTERNAL_METHODS, MIXED_METHODS = (
    "Internal methods",
    "External methods",
    "Mixed methods",
)
#: The maximum number of papers whose TF-IDF vectors of references are cached.
MAX_CACHED_PAPERS = 64


@dataclass(frozen=True)
class CandidateDocument:
    reference: str
    title: str
    abstract: str
    full_text: str
    #: The contexts in which other papers cite the document.
    #: The field `citing` of each context has the id of the citing paper.
    inlinks: Sequence[Mapping[str, Any]]

    @classmethod
    def of(
        cls, record: Mapping[str, Any], inlinks: Sequence[Mapping[str, Any]]
    ) -> "CandidateDocument":
        names = ("raw", "title", "abstract", "text")
        raw, title, abstract, text = (str(record.get(name) or "") for name in names)
        return cls(raw, title, abstract, text, inlinks)

    @property
    def title_abstract(self) -> str:
        return f"{self.title} {self.abstract}".strip()


@dataclass(frozen=True)
class RepresentationMethod:
    """A method that represents each document by one or more bags of words.

    The score of a document for a citation is the highest score among the document's
    bags of words.
    """

    name: str
    family: str
    #: Returns the bags of words of a document.
    #: The second argument is the id of the citing paper that is tested.
    #: The bags contain no words from the citing paper that is tested.
    bags: Callable[[CandidateDocument, str], Sequence[str]] = field(repr=False)
    #: Parts of documents without which the method does not work.
    requirements: frozenset[str]


def make_internal_method(part: str, name: str) -> RepresentationMethod:
    return RepresentationMethod(
        name,
        INTERNAL_METHODS,
        lambda document, citing: [getattr(document, part)],
        frozenset({part}),
    )


def make_passage_method(length: int) -> RepresentationMethod:
    def list_bags_of_words(document: CandidateDocument, citing: str) -> Sequence[str]:
        return split_passages(document.full_text, length)

    return RepresentationMethod(
        f"passage {length}",
        INTERNAL_METHODS,
        list_bags_of_words,
        frozenset({"full_text"}),
    )


def make_inlink_method(width: int, right: int | None = None) -> RepresentationMethod:
    """Return a method that represents a document by the words around its citations in
    other papers.

    The window around a citation has ``width`` words on the left and ``right`` words on
    the right, or ``width`` words on both sides.
    """
    window = WordWindow(width, width if right is None else right)
    name = f"inlink context {width}" if right is None else f"inlink context {window}"

    def list_bags_of_words(document: CandidateDocument, citing: str) -> Sequence[str]:
        evidence = (
            record for record in document.inlinks if str(record.get("citing")) != citing
        )
        return [
            " ".join(
                join_words_around_placeholder(record, window) for record in evidence
            )
        ]

    return RepresentationMethod(
        name, EXTERNAL_METHODS, list_bags_of_words, frozenset({"inlinks"})
    )


def make_mixed_method(
    external: RepresentationMethod, inner: RepresentationMethod
) -> RepresentationMethod:
    """Return a method that joins the bags of words of an external and an internal
    method.

    The words of citing papers are added to the bag of each passage of the document.
    """

    def list_bags_of_words(document: CandidateDocument, citing: str) -> Sequence[str]:
        cited = " ".join(external.bags(document, citing))
        return [f"{cited} {bag}" for bag in inner.bags(document, citing)] or [cited]

    return RepresentationMethod(
        f"{external.name} + {inner.name}",
        MIXED_METHODS,
        list_bags_of_words,
        external.requirements | inner.requirements,
    )


def split_passages(text: str, length: int) -> list[str]:
    words = text.split()
    starts = range(0, max(len(words) - length // 2, 1), max(length // 2, 1))
    return [" ".join(words[start : start + length]) for start in starts]


def make_all_methods() -> tuple[RepresentationMethod, ...]:
    """Return all methods.

    The result has the methods of Table 1 in the paper, and methods with passages of 300
    words and with asymmetric windows, which the text of the paper mentions. For corpora
    that have only printed references, a further method uses the printed reference.
    """
    full, brief = (
        make_internal_method("full_text", "full text"),
        make_internal_method("title_abstract", "title and abstract"),
    )
    printed = make_internal_method("reference", "reference string")
    ten, twenty, thirty = (
        make_inlink_method(10),
        make_inlink_method(20),
        make_inlink_method(30),
    )
    short, middle, long = (
        make_passage_method(250),
        make_passage_method(350),
        make_passage_method(400),
    )
    return (
        full,
        brief,
        short,
        make_passage_method(300),
        middle,
        long,
        printed,
        ten,
        make_inlink_method(10, 5),
        twenty,
        thirty,
        *(make_mixed_method(twenty, text) for text in (full, brief, short)),
        make_mixed_method(ten, middle),
        make_mixed_method(twenty, middle),
        make_mixed_method(twenty, printed),
    )


_fit_cached_retriever = lru_cache(maxsize=MAX_CACHED_PAPERS)(TfIdfRetriever)


def iterate_rankings(
    documents: Sequence[CandidateDocument],
    records: Sequence[Mapping[str, Any]],
    method: RepresentationMethod,
    window: WordWindow | SentenceWindow,
) -> Iterator[tuple[list[int], list[float]]]:
    """For each record, yield the ranking of the documents and the scores of the
    documents.

    The ranking is a list of indices of documents, with the best document first. Ties
    stay in order. The score of a document is the highest cosine between the query and a
    bag of words of the document.
    """
    citing = str(records[0]["paper_id"])
    bags = [tuple(method.bags(document, citing)) or ("",) for document in documents]
    starts = np.cumsum([0, *map(len, bags)])[:-1]
    fitted = _fit_cached_retriever(tuple(bag for group in bags for bag in group))
    cosines = fitted.score_documents_for_queries(
        [make_query_text(record, window) for record in records]
    )
    for scores in np.maximum.reduceat(cosines, starts, axis=1):
        yield np.argsort(-scores, kind="stable").tolist(), scores.tolist()


METHOD_BY_NAME = {method.name: method for method in make_all_methods()}
#: The method uses the printed reference, or else the title and the abstract.
#: All corpora have the data for this method.
PRINTED_REFERENCE = RepresentationMethod(
    "reference string",
    INTERNAL_METHODS,
    lambda document, citing: [document.reference or document.title_abstract],
    frozenset(),
)
_ALL_QUERY_WINDOWS: tuple[WordWindow | SentenceWindow, ...] = (
    *WORD_WINDOWS,
    *SENTENCE_WINDOWS,
)
QUERY_WINDOW_BY_NAME = {str(window): window for window in _ALL_QUERY_WINDOWS}
#: For each part of documents, a description with the command that adds the part.
_SOURCE_OF_DOCUMENT_PART = {
    "full_text": "full texts (build-resolution --with-texts)",
    "inlinks": f"{INLINKS_FILE_NAME} (build-resolution --with-inlinks)",
    "title_abstract": "abstracts",
    "reference": "references as printed",
}


def iterate_resolved_contexts(
    files: Sequence[InputFile],
    method: RepresentationMethod,
    window: WordWindow | SentenceWindow,
) -> Iterator[Answer]:
    """For each citation context, yield the scores of all references of the citing
    paper.

    Raises InputRefused if the inputs cannot be read or lack data that ``method`` needs.
    """
    documents = _read_documents(files)
    there = list_available_parts(
        document for one in documents.values() for document in one.values()
    )
    if missing := sorted(method.requirements - there):
        expected = ", ".join(_SOURCE_OF_DOCUMENT_PART[part] for part in missing)
        raise InputRefused(
            [
                Problem(
                    message=f"{method.name} has nothing to go by here",
                    expected=expected,
                )
            ]
        )
    contexts = iterate_input_rows(
        get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts")
    )
    for paper, group in groupby(contexts, key=lambda record: str(record["paper_id"])):
        if one := documents.get(paper):
            names, records = list(one), list(group)
            ranked = iterate_rankings(list(one.values()), records, method, window)
            for record, (order, scores) in zip(records, ranked, strict=True):
                by_name = {names[place]: scores[place] for place in order}
                yield {"id": str(record["context_id"]), "scores": by_name}


def list_available_parts(documents: Iterable[CandidateDocument]) -> set[str]:
    """Return the names of the parts that at least one document has, such as a full text
    or an abstract.

    `title_abstract` requires an abstract.
    """
    fields = {
        part: "abstract" if part == "title_abstract" else part
        for part in _SOURCE_OF_DOCUMENT_PART
    }
    return {
        part
        for document in documents
        for part, name in fields.items()
        if getattr(document, name)
    }


def list_possible_methods(files: Sequence[InputFile]) -> list[RepresentationMethod]:
    there = list_available_parts(
        document
        for texts in _read_documents(files).values()
        for document in texts.values()
    )
    return [
        method for method in METHOD_BY_NAME.values() if method.requirements <= there
    ]


def _read_documents(
    files: Sequence[InputFile],
) -> dict[str, dict[str, CandidateDocument]]:
    inlinks: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for file in select_files_named(files, INLINKS_FILE_NAME):
        for record in iterate_input_rows(file):
            inlinks[str(record.get("ref_id"))].append(record)
    documents: dict[str, dict[str, CandidateDocument]] = defaultdict(dict)
    for record in iterate_input_rows(
        get_single_file_named(files, REFERENCES_FILE_NAME, "each paper's references")
    ):
        name = str(record["ref_id"])
        documents[str(record["paper_id"])].setdefault(
            name, CandidateDocument.of(record, inlinks.get(name, ()))
        )
    return documents


RESOLUTION_OPTIONS = (
    Option(
        "method",
        "reference string",
        "what stands for a reference",
        tuple(METHOD_BY_NAME),
    ),
    Option(
        "window",
        "10-10",
        "what of the text around the citation is the query",
        tuple(QUERY_WINDOW_BY_NAME),
    ),
)
METHOD_BASELINE = Baseline.of(
    lambda files, options: iterate_resolved_contexts(
        files,
        METHOD_BY_NAME[options["method"]],
        QUERY_WINDOW_BY_NAME[options["window"]],
    ),
    name="resolution-tfidf",
    summary="TF-IDF cosine of any representation of a reference (`method`) with any `window`.",
    source="Duma and Klein 2014, Citation Resolution",
    options=RESOLUTION_OPTIONS,
)
BASELINES = (
    METHOD_BASELINE,
    *(
        Baseline(
            name=f"references-tfidf-{window}",
            summary=f"TF-IDF cosine of printed references; {window.left} words left, {window.right} right.",
            source="Duma and Klein 2014, Citation Resolution",
            answers=partial(
                iterate_resolved_contexts, method=PRINTED_REFERENCE, window=window
            ),
        )
        for window in (WordWindow(10, 10), WordWindow(30, 30))
    ),
)
