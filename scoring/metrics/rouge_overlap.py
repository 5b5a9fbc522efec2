"""Clipped n-gram overlap and longest common subsequences of many pairs of texts at once.

Pairs of like length lie side by side as the rows of a matrix, reference first, then prediction. Sorting a
row brings equal tokens together, and one pass over it counts what both sides have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.rouge_tokens import Encoded, Numbers

#: So many tokens, padding included, are worked on at once; they fit into the processor's own memory.
BLOCK = 65_536
PADDING = np.iinfo(np.int64).max
#: Code points that a text may hold, but for the surrogates.
SURROGATES, SURROGATE_COUNT = 0xD800, 0x800
MAX_CODES = 0x110000 - SURROGATE_COUNT


@dataclass(frozen=True)
class Block:
    """Some pairs as rows. ``pairs`` says which; ``tokens`` is (rows, width); a row has ``references`` +
    ``predictions`` tokens.
    """

    pairs: Numbers
    tokens: Numbers
    references: Numbers
    predictions: Numbers

    @property
    def is_prediction(self) -> NDArray[np.bool_]:
        return np.arange(self.tokens.shape[1]) >= self.references[:, None]

    @property
    def is_token(self) -> NDArray[np.bool_]:
        return np.arange(self.tokens.shape[1]) < (self.references + self.predictions)[:, None]


def blocks(references: Encoded, predictions: Encoded, among: Numbers | None = None) -> Iterator[Block]:
    """The pairs, or those among them, longest first, in blocks of like length; where both are empty, none."""
    words = np.concatenate([references.words, predictions.words])
    firsts, seconds = references.starts[:-1], predictions.starts[:-1] + len(references.words)
    totals = references.lengths + predictions.lengths
    chosen = np.arange(len(totals)) if among is None else among
    order = chosen[np.argsort(-totals[chosen], kind="stable")]
    start = 0
    while start < len(order) and (width := int(totals[order[start]])):
        pairs = order[start : start + max(1, BLOCK // width)]
        start += len(pairs)
        own = references.lengths[pairs]
        columns = np.arange(width)
        places = np.where(columns < own[:, None], firsts[pairs, None], (seconds[pairs] - own)[:, None])
        tokens = words.take(places + columns, mode="clip")
        yield Block(pairs, tokens, own, predictions.lengths[pairs])


def unigram_hits(block: Block) -> Numbers:
    """How many tokens both sides of each row have, each as often as the side that has it less has it."""
    keys = (block.tokens << 1) | block.is_prediction
    return _common(np.where(block.is_token, keys, PADDING))


def bigram_hits(block: Block) -> Numbers:
    """The same of pairs of neighbours."""
    first, second = block.tokens[:, :-1], block.tokens[:, 1:]
    # The last token of the reference and the first of the prediction are no neighbours.
    is_bigram = block.is_token[:, 1:] & (np.arange(1, block.tokens.shape[1]) != block.references[:, None])
    size = int(block.tokens.max(initial=0)) + 1
    keys = ((first * size + second) << 1) | block.is_prediction[:, 1:]
    return _common(np.where(is_bigram, keys, PADDING))


def _common(keys: Numbers) -> Numbers:
    """From (rows, width) keys whose last bit says the side: the number of matches in each row."""
    if not keys.shape[1]:
        return np.zeros(len(keys), dtype=np.int64)
    keys = np.sort(keys, axis=1)
    starts, of_reference, of_prediction = runs(keys)
    matches = np.minimum(of_reference, of_prediction)
    before = np.concatenate([[0], np.cumsum(matches)])
    rows = np.searchsorted(starts, np.arange(len(keys) + 1) * keys.shape[1])
    hits: Numbers = np.diff(before[rows])
    return hits


def runs(keys: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Equal tokens in sorted rows: where each run starts in the flattened rows, and how often either side has
    it.

    Padding is a run of a prediction alone.
    """
    tokens = keys >> 1
    is_new = np.ones(keys.shape, dtype=bool)
    np.not_equal(tokens[:, 1:], tokens[:, :-1], out=is_new[:, 1:])
    starts = np.flatnonzero(is_new)
    before = np.concatenate([[0], np.cumsum(keys.ravel() & 1)])
    bounds = np.append(starts, keys.size)
    of_prediction = np.diff(before[bounds])
    return starts, np.diff(bounds) - of_prediction, of_prediction


def lcs_lengths(references: Encoded, predictions: Encoded) -> Numbers:
    """The length of the longest common subsequence of each pair, by rapidfuzz's bit-parallel algorithm."""
    from rapidfuzz import process
    from rapidfuzz.distance import LCSseq

    if len(references.starts) == 1:
        return np.zeros(0, dtype=np.int64)
    lengths = process.cpdist(_strings(references), _strings(predictions), scorer=LCSseq.similarity, workers=1)
    return np.asarray(lengths, dtype=np.int64)


def _strings(texts: Encoded) -> list[str] | list[list[int]]:
    """Each text with a code point for each token: what rapidfuzz reads fastest. Lists of numbers where those
    run out.
    """
    bounds = texts.starts.tolist()
    if texts.words.max(initial=0) >= MAX_CODES:
        numbers = texts.words.tolist()
        return [numbers[start:end] for start, end in pairwise(bounds)]
    codes = texts.words + SURROGATE_COUNT * (texts.words >= SURROGATES)
    joined = codes.astype("<u4").tobytes().decode("utf-32-le")
    return [joined[start:end] for start, end in pairwise(bounds)]
