"""Likeness of texts by WordNet, where NLTK and its data of WordNet are installed.

Two words are alike by the shortest way between them (Rada et al. 1989) or by the depth at which their ways up
meet (Wu and Palmer 1994), each word in its most frequent sense as a noun and as a verb. A text is like
another as far as its words, weighted by TF-IDF, have a like in the other (after Mihalcea, Corley and
Strapparava 2006).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import Floats, ratio
from tasks.types.unavailable import Unavailable

MISSING = (
    "NLTK's data of WordNet are not installed: `python -m nltk.downloader wordnet` fetches them, "
    "and wordnet=no does without"
)
#: How far up from a word each of its ancestors stands.
Ways = Mapping[Any, int]


def installed() -> Any | None:
    """NLTK's reader of WordNet, or None where the package or its data are missing."""
    try:
        from nltk.corpus import wordnet

        wordnet.ensure_loaded()
    except (ImportError, LookupError):
        return None
    return wordnet


def chosen(option: str) -> Any | None:
    """By the option `wordnet`: auto, yes or no. Raises Unavailable where it is wanted and missing."""
    found = None if option == "no" else installed()
    if option == "yes" and found is None:
        raise Unavailable(MISSING)
    return found


def text_likeness(citances: Floats, sentences: Floats, vocabulary: Sequence[str], wordnet: Any) -> Floats:
    """(citances, sentences, 4): by each measure how far the sentence covers the citance, and the reverse.

    Both are given as TF-IDF weights over the vocabulary. A text without weight is covered by nothing.
    """
    own, other = (np.flatnonzero(texts.any(axis=0)).tolist() for texts in (citances, sentences))
    measures = word_likeness([vocabulary[i] for i in own], [vocabulary[i] for i in other], wordnet)
    citances, sentences = citances[:, own], sentences[:, other]
    sides = [
        side
        for likeness in measures
        for side in (_covered(citances, sentences, likeness), _covered(sentences, citances, likeness.T).T)
    ]
    return np.stack(sides, axis=2)


def word_likeness(first: Sequence[str], second: Sequence[str], wordnet: Any) -> tuple[Floats, Floats]:
    """Two (first, second) tables from 0 to 1: by the shortest way, and by depth.

    A word is wholly like itself, also where WordNet does not have it. By depth the best of all common
    ancestors counts, a root having depth 1.
    """
    ways = {word: _ways_up(word, wordnet) for word in {*first, *second}}
    by_way = np.array([[float(a == b) for b in second] for a in first]).reshape(len(first), len(second))
    by_depth = by_way.copy()
    below = _below([ways[word] for word in second])
    for row, word in enumerate(first):
        for ancestor, steps in ways[word].items():
            if ancestor not in below:
                continue
            columns, further = below[ancestor]
            way, depth = steps + further, ancestor.max_depth() + 1
            by_way[row, columns] = np.maximum(by_way[row, columns], 1 / (1 + way))
            by_depth[row, columns] = np.maximum(by_depth[row, columns], 2 * depth / (2 * depth + way))
    return by_way, by_depth


def _ways_up(word: str, wordnet: Any) -> Ways:
    shortest: dict[Any, int] = {}
    for ancestor, steps in _ancestors(word, wordnet):
        shortest[ancestor] = min(steps, shortest.get(ancestor, steps))
    return shortest


def _ancestors(word: str, wordnet: Any) -> Iterator[tuple[Any, int]]:
    for part_of_speech in ("n", "v"):
        for sense in wordnet.synsets(word, pos=part_of_speech)[:1]:
            yield from sense.hypernym_distances()


def _below(ways: Sequence[Ways]) -> dict[Any, tuple[Any, Floats]]:
    """Of each ancestor the places of the words below it, and how far below they are."""
    found: dict[Any, list[tuple[int, int]]] = {}
    for place, own in enumerate(ways):
        for ancestor, steps in own.items():
            found.setdefault(ancestor, []).append((place, steps))
    return {
        ancestor: (np.array([place for place, _ in pairs]), np.array([steps for _, steps in pairs], float))
        for ancestor, pairs in found.items()
    }


def _covered(texts: Floats, others: Floats, likeness: Floats) -> Floats:
    """(texts, others): the mean over a text's words of the likeness to the likest word of the other."""
    best = np.zeros((texts.shape[1], len(others)))
    for column, other in enumerate(others):
        words = np.flatnonzero(other)
        if len(words):
            best[:, column] = likeness[:, words].max(axis=1)
    return ratio(texts @ best, texts.sum(axis=1, keepdims=True))
