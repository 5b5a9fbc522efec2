"""BM25 in NumPy, with the postings (terms in documents) of a collection and the BM25
variant of Lucene.
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

BM25_K1, BM25_B = 1.5, 0.75
#: The stop words are those of Lucene's EnglishAnalyzer, which bm25s also removes.
_STOP_WORD_TEXT = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they
this to was will with
"""
STOP_WORDS = frozenset(_STOP_WORD_TEXT.split())
_WORD_PATTERN = re.compile(r"(?u)\b\w\w+\b")


def tokenise_without_stop_words(text: str) -> list[str]:
    """Return the same tokens as bm25s.tokenize, which are lower-case words of two or
    more letters without stop words.
    """
    return [
        word for word in _WORD_PATTERN.findall(text.lower()) if word not in STOP_WORDS
    ]


class InvertedIndex:
    """The inverted index of a collection of documents. For each term, the index
    contains the documents and the frequency in each document. The arrays of the index
    are sorted by term.
    """

    def __init__(self, documents: Iterable[Sequence[str]]) -> None:
        self._terms: dict[str, int] = {}
        lengths, term_of, document_of, counts = (array("q") for _ in range(4))
        for number, tokens in enumerate(documents):
            lengths.append(len(tokens))
            for word, count in Counter(tokens).items():
                term_of.append(self._terms.setdefault(word, len(self._terms)))
                document_of.append(number)
                counts.append(count)
        self.lengths = np.array(lengths, dtype=np.float64)
        terms = np.array(term_of, dtype=np.int64)
        order = np.argsort(terms)
        self._starts = np.searchsorted(terms[order], np.arange(len(self._terms) + 1))
        self._documents = np.array(document_of, dtype=np.int64)[order]
        self._counts = np.array(counts, dtype=np.float64)[order]

    @property
    def size(self) -> int:
        return len(self.lengths)

    @property
    def document_frequencies(self) -> NDArray[np.int64]:
        """Return the number of documents that contain each term of the collection."""
        return np.diff(self._starts)

    def weights(
        self, idf: NDArray[np.float64], *, k1: float, b: float, gain: float = 1.0
    ) -> NDArray[np.float64]:
        """Return the weight of each posting (a term in a document), which is idf *
        count * gain / (count + k1 * (1 - b + b * length / mean)).
        """
        mean = self.lengths.mean() if self.lengths.any() else 1.0
        shares = b * self.lengths / mean
        counts = self._counts
        saturated = counts * gain / (counts + k1 * (1 - b + shares[self._documents]))
        return np.repeat(idf, self.document_frequencies) * saturated

    def sum_query_weights(
        self, weights: NDArray[np.float64], query: Iterable[str]
    ) -> NDArray[np.float64]:
        """Return for each document the sum of the query words' weights. A word that
        occurs twice in the query is added twice.
        """
        scores = np.zeros(self.size)
        for word in query:
            if (term := self._terms.get(word)) is not None:
                part = slice(self._starts[term], self._starts[term + 1])
                scores[self._documents[part]] += weights[part]
        return scores


class LuceneBm25:
    """BM25 with the idf of Lucene, ln(1 + (N - n + 0.5) / (n + 0.5)), which is never
    negative.

    The scores are equal to those of bm25s.BM25(method="lucene", dtype="float64") on the
    same tokens.
    """

    def __init__(
        self,
        documents: Iterable[Sequence[str]],
        *,
        k1: float = BM25_K1,
        b: float = BM25_B,
    ) -> None:
        self._postings = InvertedIndex(documents)
        having = self._postings.document_frequencies
        idf = np.log1p((self._postings.size - having + 0.5) / (having + 0.5))
        self._weights = self._postings.weights(idf, k1=k1, b=b)

    def scores(self, query: Iterable[str]) -> NDArray[np.float64]:
        return self._postings.sum_query_weights(self._weights, query)
