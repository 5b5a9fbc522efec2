"""Documents by their cosine with a query, weighted as scikit-learn does by default."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.tools.baselines.tfidf import TfIdf


class TfIdfRetriever:
    """Where no document has a word, every score is 0."""

    def __init__(self, documents: Iterable[str]) -> None:
        texts = list(documents)
        self._size = len(texts)
        self._weights = TfIdf(texts)
        self._columns: Any = None if self._weights.fitted is None else self._weights.fitted.T.tocsc()

    def scores(self, query: str) -> NDArray[np.float64]:
        """The cosine of the query with every document."""
        scores: NDArray[np.float64] = self.scores_of_all([query])[0]
        return scores

    def scores_of_all(self, queries: list[str]) -> NDArray[np.float64]:
        """(queries, documents) cosines."""
        if self._columns is None:
            return np.zeros((len(queries), self._size))
        found: NDArray[np.float64] = (self._weights.sparse(queries) @ self._columns).toarray()
        return found
