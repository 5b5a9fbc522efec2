"""Compute TF-IDF vectors with two weighting schemes, their cosines, and rankings in
which the order of ties is fixed.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Floats, divide_or_zero

_WORD_PATTERN = re.compile(r"[a-z0-9]+")


def split_into_ascii_words(text: str) -> list[str]:
    return _WORD_PATTERN.findall(text.lower())


class TfIdfVectors:
    """Computes TF-IDF vectors with document frequencies from a collection of texts.
    Words that do not occur in the collection have weight 0.

    By default, vectors are weighted and normalised as in scikit-learn. If ``is_plain``
    is True, the weight of a word is its count times ln(N / df) without normalisation,
    as in the systems of the CL-Summ pilot, and texts are split by `words`.
    """

    def __init__(self, texts: Sequence[str], *, is_plain: bool = False) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        form: dict[str, Any] = (
            {"token_pattern": _WORD_PATTERN.pattern, "norm": None} if is_plain else {}
        )
        self._vectorizer = TfidfVectorizer(**form)
        #: A sparse matrix with one row per text, or None if no text contains a word.
        self.fitted: Any = None
        try:
            self.fitted = self._vectorizer.fit_transform(texts)
        except ValueError as fault:
            if "empty vocabulary" not in str(fault):
                raise
            return
        if is_plain:
            documents = np.bincount(self.fitted.indices, minlength=self.fitted.shape[1])
            self._vectorizer.idf_ = np.log(len(texts) / documents)

    @property
    def vocabulary(self) -> list[str]:
        return (
            []
            if self.fitted is None
            else list(self._vectorizer.get_feature_names_out())
        )

    def transform_sparse(self, texts: Sequence[str]) -> Any:
        return self._vectorizer.transform(texts)

    def transform_dense(self, texts: Sequence[str]) -> Floats:
        if self.fitted is None or not texts:
            return np.zeros((len(texts), len(self.vocabulary)))
        return np.asarray(self.transform_sparse(texts).toarray())


def compute_cosines(first: Floats, second: Floats) -> Floats:
    """Return the cosine of each row of the first matrix with each row of the second, or
    0 for rows of zeros.
    """
    return np.asarray(_normalise_rows(first) @ _normalise_rows(second).T)


def _normalise_rows(rows: Floats) -> Floats:
    return divide_or_zero(rows, np.linalg.norm(rows, axis=1, keepdims=True))


def rank_positions(scores: Floats) -> list[int]:
    """Return the positions of candidates, sorted by descending score. Ties stay in
    order.

    Scores are rounded before they are compared, so that the order is the same on all
    machines.
    """
    return [
        int(place)
        for place in np.lexsort((np.arange(len(scores)), -np.round(scores, 12)))
    ]


class TfIdfRetriever:
    """A TF-IDF retriever. If no document contains a word of the query, all documents
    have the score 0.
    """

    def __init__(self, documents: Iterable[str]) -> None:
        texts = list(documents)
        self._size, self._weights = len(texts), TfIdfVectors(texts)
        self._columns: Any = (
            None if self._weights.fitted is None else self._weights.fitted.T.tocsc()
        )

    def scores(self, query: str) -> Floats:
        return np.asarray(self.score_documents_for_queries([query])[0])

    def score_documents_for_queries(self, queries: list[str]) -> Floats:
        if self._columns is None:
            return np.zeros((len(queries), self._size))
        return np.asarray(
            (self._weights.transform_sparse(queries) @ self._columns).toarray()
        )
