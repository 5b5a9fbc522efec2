"""Baselines of citation recommendation: rank the whole collection for one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.local_models import weights_digest
from scoring.tools.baselines.retrieval_bm25 import Lucene, Okapi, best
from scoring.tools.baselines.retrieval_dense import MODEL, Dense, SentenceModel, folder_of
from scoring.tools.baselines.retrieval_tfidf import TfIdfRetriever
from scoring.tools.baselines.retrieval_windows import OTHER, PLACEHOLDER
from tasks.types.base import Options
from tasks.types.baselines import Answer, Answering, Baseline
from tasks.types.citation_recommendation.names import CANDIDATES, CONTEXTS
from tasks.types.files import InputFile
from tasks.types.problems import InputRefused, Problem
from tasks.types.ranking.records import Rows, the_file

#: A baseline's name says which variant it is: other variants give other runs.
RANKERS: Mapping[str, Callable[[Sequence[str]], Ranker]] = {
    "bm25-okapi": Okapi,
    "bm25-lucene": Lucene,
    "tfidf": TfIdfRetriever,
}
DEPTH = 10


class Ranker(Protocol):
    """Knows the documents and scores all of them for a query."""

    def scores(self, query: str) -> NDArray[np.float64]: ...


def recommend(
    files: Sequence[InputFile], ranker: str, *, with_neighbours: bool = False, depth: int = DEPTH
) -> Iterator[Answer]:
    """An answer for each context, one after the other. Raises InputRefused where the inputs cannot be read.

    The query is the sentence without the placeholder, with its neighbours where asked for; a document is the
    reference as the collection prints it. Equal scores stand in the order of the candidates' file.
    """
    yield from _recommend(files, RANKERS[ranker], with_neighbours=with_neighbours, depth=depth)


def _recommend(
    files: Sequence[InputFile],
    ranker: Callable[[Sequence[str]], Ranker],
    *,
    with_neighbours: bool = False,
    depth: int = DEPTH,
) -> Iterator[Answer]:
    documents = _documents(the_file(files, CANDIDATES, "the candidates"))
    names = list(documents)
    fitted = ranker(list(documents.values()))
    for record in rows_of(the_file(files, CONTEXTS, "the contexts")):
        scores = fitted.scores(query(record, with_neighbours=with_neighbours))
        places = best(scores, depth).tolist()
        yield {
            "id": str(record["id"]),
            "ranked": [names[place] for place in places],
            "scores": [round(float(scores[place]), 6) for place in places],
        }


def query(record: Mapping[str, Any], *, with_neighbours: bool) -> str:
    parts = ("before", "sentence", "after") if with_neighbours else ("sentence",)
    text = " ".join(str(record.get(part) or "") for part in parts)
    return text.replace(PLACEHOLDER, " ").replace(OTHER, " ")


def document(record: Mapping[str, Any]) -> str:
    """What is known of a candidate: its reference as printed, else its title and abstract."""
    if record.get("raw"):
        return str(record["raw"])
    return " ".join(str(record[part]) for part in ("title", "abstract") if record.get(part))


def _documents(file: InputFile) -> dict[str, str]:
    found: dict[str, str] = {}
    for record in rows_of(file):
        found.setdefault(str(record["ref_id"]), document(record))
    return found


def rows_of(file: InputFile) -> Iterator[Mapping[str, Any]]:
    """The rows of a file. Raises InputRefused at its end where some could not be read."""
    problems: list[Problem] = []
    yield from Rows(file, problems)
    if problems:
        raise InputRefused(problems)


def dense(options: Options) -> Answering:
    """By the vectors of the model that the options name. Raises Unavailable."""

    def answers(files: Sequence[InputFile]) -> Iterator[Answer]:
        model = SentenceModel(folder_of(options))
        return _recommend(files, partial(Dense, model=model))

    return answers


def dense_words(options: Options) -> str:
    """Which weights the run rests on. Raises Unavailable."""
    folder = folder_of(options)
    return f"Its model: {weights_digest(folder)}."


def _baseline(name: str, ranker: str, summary: str, *, with_neighbours: bool = False) -> Baseline:
    return Baseline(
        name=name,
        summary=summary,
        source="Maharjan 2024, Benchmark for Evaluation and Analysis of Citation Recommendation Models",
        answers=partial(recommend, ranker=ranker, with_neighbours=with_neighbours),
    )


BASELINES = (
    _baseline("bm25-okapi", "bm25-okapi", "BM25 as in rank-bm25's BM25Okapi, k1 1.5, b 0.75, epsilon 0.25."),
    _baseline(
        "bm25-okapi-neighbours",
        "bm25-okapi",
        "The same, with the sentences before and after in the query.",
        with_neighbours=True,
    ),
    _baseline("bm25-lucene", "bm25-lucene", "BM25 as in Lucene, by the package bm25s, k1 1.5, b 0.75."),
    Baseline(
        name="dense",
        summary="Cosine of sentence vectors by a model in the form of sentence-transformers, "
        "all-MiniLM-L6-v2 unless another is named.",
        source="Reimers and Gurevych 2019, Sentence-BERT",
        answers=dense({MODEL.name: MODEL.default}),
        options=(MODEL,),
        configured=dense,
        rests_on=dense_words,
    ),
    _baseline("tfidf-cosine", "tfidf", "TF-IDF and cosine with the defaults of scikit-learn."),
)
