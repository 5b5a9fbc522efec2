"""TF-IDF by scikit-learn, weighted in either of two ways; cosines, and ranks that never depend on chance."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Floats, ratio

_WORD = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


class TfIdf:
    """Weights of words from a collection of texts; a word that the collection does not have weighs nothing.
    With scikit-learn's defaults a vector has length 1. ``is_plain`` takes the words of `words` and weighs
    them by their counts times ln(N / df), not normalised, as the systems of the CL-Summ pilot do.
    """

    def __init__(self, texts: Sequence[str], *, is_plain: bool = False) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        form: dict[str, Any] = (
            {"token_pattern": _WORD.pattern, "norm": None} if is_plain else {}
        )
        self._vectorizer = TfidfVectorizer(**form)
        #: One sparse row for each text; None where no text has a word.
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

    def sparse(self, texts: Sequence[str]) -> Any:
        return self._vectorizer.transform(texts)

    def vectors(self, texts: Sequence[str]) -> Floats:
        if self.fitted is None or not texts:
            return np.zeros((len(texts), len(self.vocabulary)))
        return np.asarray(self.sparse(texts).toarray())


def cosines(first: Floats, second: Floats) -> Floats:
    """(a, b) cosines of the rows; 0 where a row is empty."""
    return np.asarray(_normalised(first) @ _normalised(second).T)


def _normalised(rows: Floats) -> Floats:
    return ratio(rows, np.linalg.norm(rows, axis=1, keepdims=True))


def ranked(scores: Floats) -> list[int]:
    """The places from the best score to the worst; of equals the earlier comes first. Scores that differ by
    less than rounding can are equal, so that every machine gives the same order.
    """
    return [
        int(place)
        for place in np.lexsort((np.arange(len(scores)), -np.round(scores, 12)))
    ]


class TfIdfRetriever:
    """Where no document has a word, every score is 0."""

    def __init__(self, documents: Iterable[str]) -> None:
        texts = list(documents)
        self._size, self._weights = len(texts), TfIdf(texts)
        self._columns: Any = (
            None if self._weights.fitted is None else self._weights.fitted.T.tocsc()
        )

    def scores(self, query: str) -> Floats:
        return np.asarray(self.scores_of_all([query])[0])

    def scores_of_all(self, queries: list[str]) -> Floats:
        if self._columns is None:
            return np.zeros((len(queries), self._size))
        return np.asarray((self._weights.sparse(queries) @ self._columns).toarray())
