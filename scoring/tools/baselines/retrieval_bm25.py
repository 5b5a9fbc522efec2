"""BM25 in two variants; the variant is part of a baseline's name, since other variants give other runs.

Robertson and Zaragoza 2009, The Probabilistic Relevance Framework: BM25 and Beyond. Kamphuis et al. 2020,
Which BM25 Do You Mean? (ECIR), on how far variants differ.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tasks.types.unavailable import Unavailable

K1, B = 1.5, 0.75
#: A term of more than half of the documents would count against them; it counts this share of the mean.
EPSILON = 0.25
_WORD = re.compile(r"\w+")

Floats = NDArray[np.float64]


def words(text: str) -> list[str]:
    """Lower-cased runs of letters, digits and underscores."""
    return _WORD.findall(text.lower())


class Okapi:
    """BM25 as the package rank-bm25 computes it in its class BM25Okapi, to the last digit.

    A word counts as often as the query has it.
    """

    def __init__(self, documents: Iterable[str], *, k1: float = K1, b: float = B) -> None:
        self._terms: dict[str, int] = {}
        lengths, term_of, document_of, counts = array("q"), array("q"), array("q"), array("q")
        for number, text in enumerate(documents):
            found = Counter(words(text))
            lengths.append(found.total())
            for word, count in found.items():
                term_of.append(self._terms.setdefault(word, len(self._terms)))
                document_of.append(number)
                counts.append(count)
        self.size = len(lengths)
        terms = np.frombuffer(term_of, dtype=np.int64) if term_of else np.empty(0, dtype=np.int64)
        order = np.argsort(terms, kind="stable")
        self._starts = np.searchsorted(terms[order], np.arange(len(self._terms) + 1))
        self._documents = np.array(document_of, dtype=np.int64)[order]
        share = b * np.array(lengths) / (sum(lengths) / self.size) if sum(lengths) else np.zeros(self.size)
        frequency = np.array(counts, dtype=np.float64)[order]
        saturated = frequency * (k1 + 1) / (frequency + k1 * (1 - b + share[self._documents]))
        self._weights = np.repeat(self._idf(), np.diff(self._starts)) * saturated

    def _idf(self) -> Floats:
        frequencies = np.diff(self._starts).tolist()
        values = [
            math.log(self.size - frequency + 0.5) - math.log(frequency + 0.5) for frequency in frequencies
        ]
        floor = EPSILON * (sum(values) / len(values)) if values else 0.0
        return np.array([floor if value < 0 else value for value in values])

    def scores(self, query: str) -> Floats:
        """The score of every document."""
        found = np.zeros(self.size)
        for word in words(query):
            term = self._terms.get(word)
            if term is not None:
                own = slice(self._starts[term], self._starts[term + 1])
                found[self._documents[own]] += self._weights[own]
        return found


class Lucene:
    """BM25 as Lucene computes it, by the package bm25s; faster, and with an idf that is never negative."""

    def __init__(self, documents: Iterable[str], *, k1: float = K1, b: float = B) -> None:
        try:
            import bm25s
        except ImportError as missing:
            raise Unavailable("the baseline bm25-lucene needs the package bm25s") from missing
        self._index = bm25s.BM25(method="lucene", k1=k1, b=b)
        self._index.index([words(text) for text in documents], show_progress=False)

    def scores(self, query: str) -> Floats:
        """The score of every document."""
        known = [word for word in words(query) if word in self._index.vocab_dict]
        if not known:
            return np.zeros(self._index.scores["num_docs"])
        return np.asarray(self._index.get_scores(known), dtype=np.float64)


def best(scores: Floats, count: int) -> NDArray[np.intp]:
    """The places of the highest scores, highest first; equal ones in their own order."""
    if count >= len(scores):
        return np.argsort(-scores, kind="stable")
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    places = np.flatnonzero(scores >= least)
    return places[np.argsort(-scores[places], kind="stable")][:count]
