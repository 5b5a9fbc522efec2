"""LexRank as the package lexrank 0.1.0 has it: sentences that are like many others, by TF-IDF.

Erkan and Radev 2004, LexRank: Graph-based Lexical Centrality as Salience in Text Summarization, JAIR 22. Two
sentences are linked where their similarity is above a threshold, so that many have the same score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tasks.types.unavailable import Unavailable

THRESHOLD = 0.03
BY_PACKAGE, FIRST = "package", "first"
TIES = (BY_PACKAGE, FIRST)
#: Scores that agree so far are the same; the order of additions may change what is behind.
_DIGITS = 9


def lexrank(documents: Sequence[Sequence[str]], size: int, *, ties: str = BY_PACKAGE) -> list[list[str]]:
    """Of each document, a list of sentences, the best ones, best first; none of an empty document.

    A word weighs by how few of the documents have it. Raises Unavailable.
    """
    ranker = _ranker(documents)
    if ranker is None:
        return [list(document[:size]) for document in documents]
    return [_best(ranker, list(document), size, ties) if document else [] for document in documents]


def _ranker(documents: Sequence[Sequence[str]]) -> Any:
    """The package's, fitted to the documents; None where they have no word that weighs anything."""
    try:
        from lexrank import STOPWORDS, LexRank
    except ImportError as missing:
        raise Unavailable("LexRank needs the package lexrank; `make models` installs it") from missing
    try:
        return LexRank(documents, stopwords=STOPWORDS["en"])
    except ValueError:
        return None


def _best(ranker: Any, sentences: list[str], size: int, ties: str) -> list[str]:
    if ties == BY_PACKAGE:
        return list(ranker.get_summary(sentences, summary_size=size, threshold=THRESHOLD))
    scores = ranker.rank_sentences(sentences, threshold=THRESHOLD).round(_DIGITS).tolist()
    places = sorted(range(len(sentences)), key=lambda place: (-scores[place], place))
    return [sentences[place] for place in places[:size]]
