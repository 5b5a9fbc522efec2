"""Clipped n-gram overlap and longest common subsequences of many pairs of texts at once.

Pairs of like length lie side by side as the rows of a matrix, reference first, then prediction. Sorting a
row brings equal tokens together, and one pass over it counts what both sides have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

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


#: Reference sentences by length, and what holds one; the longest are Python's own numbers, which have no end.
WIDTHS: tuple[tuple[int, int, DTypeLike], ...] = (
    (0, 16, np.uint16),
    (16, 32, np.uint32),
    (32, 64, np.uint64),
    (64, int(PADDING), object),
)
#: So many pairs of sentences at most are walked through at once.
MAX_WALKS = 16_384

Words = NDArray[Any]


def union_hits(references: Encoded, predictions: Encoded) -> Numbers:
    """For each pair the tokens in the union of subsequences, each at most as often as in the prediction."""
    hits = np.zeros(len(references.starts) - 1, dtype=np.int64)
    # Of one sentence on either side the union is the longest common subsequence itself.
    is_single = (np.diff(references.lines) == 1) & (np.diff(predictions.lines) == 1)
    if is_single.any():
        hits[is_single] = lcs_lengths(references, predictions)[is_single]
    for block in blocks(references, predictions, among=np.flatnonzero(~is_single)):
        hits[block.pairs] = _Sentences(block, references, predictions).hits()
    return hits


@dataclass(frozen=True)
class _Lines:
    """The sentences of one side of a block, one row after the other."""

    row: Numbers
    length: Numbers
    #: Where each begins in its row of the block.
    column: Numbers
    #: The number of sentences of each row.
    counts: Numbers

    @classmethod
    def of(cls, texts: Encoded, pairs: Numbers, offsets: Numbers | int) -> _Lines:
        firsts, counts = texts.lines[pairs], np.diff(texts.lines)[pairs]
        row = np.repeat(np.arange(len(pairs)), counts)
        line = np.repeat(firsts, counts) + _ranges(counts)
        starts = texts.line_starts[line]
        column = starts - texts.starts[pairs][row] + (offsets + np.zeros(len(pairs), np.int64))[row]
        return cls(row, texts.line_starts[line + 1] - starts, column, counts)


class _Sentences:
    """One block, its sentences, and the tokens that both sides of a row have, numbered from 1 in each row."""

    def __init__(self, block: Block, references: Encoded, predictions: Encoded) -> None:
        self.block = block
        self.reference = _Lines.of(references, block.pairs, 0)
        self.prediction = _Lines.of(predictions, block.pairs, block.references)
        self._number_shared_tokens()

    def _number_shared_tokens(self) -> None:
        """Sets ``run`` and ``shared``: of each place of the block its token's run, and its number or 0."""
        rows, width = self.block.tokens.shape
        bits = width.bit_length()
        keys = (((self.block.tokens << 1) | self.block.is_prediction) << bits) | np.arange(width)
        ordered = np.sort(np.where(self.block.is_token, keys, PADDING), axis=1)
        is_token = ordered.ravel() != PADDING
        places = (ordered & ((1 << bits) - 1)) + np.arange(rows)[:, None] * width
        starts, of_reference, self.of_prediction = runs(ordered >> bits)
        sizes = np.diff(np.append(starts, ordered.size))
        is_shared = (of_reference > 0) & (self.of_prediction > 0)
        counted = np.cumsum(is_shared)
        # Numbers begin anew in each row: what the rows before have counted is taken away.
        first_runs = np.searchsorted(starts, np.arange(rows) * width)
        before: Numbers = (counted - is_shared)[first_runs]
        self.run_row = starts // width
        numbers = np.where(is_shared, counted - before[self.run_row], 0)
        self.sizes = np.diff(np.append(before, counted[-1:])) + 1
        own = places.ravel()[is_token]
        self.run = np.zeros(rows * width, dtype=np.int64)
        self.shared = np.zeros(rows * width, dtype=np.int64)
        self.run[own] = np.repeat(np.arange(len(starts)), sizes)[is_token]
        self.shared[own] = np.repeat(numbers, sizes)[is_token]

    def hits(self) -> Numbers:
        marked = np.concatenate([np.zeros(0, np.int64), *(self._marked(*width) for width in WIDTHS)])
        counts = np.minimum(np.bincount(self.run[marked], minlength=len(self.run_row)), self.of_prediction)
        return np.bincount(self.run_row, weights=counts, minlength=len(self.block.pairs)).astype(np.int64)

    def _marked(self, above: int, most: int, kind: DTypeLike) -> Numbers:
        """The places of the marked tokens of the sentences of ``above`` + 1 to ``most`` tokens."""
        length = self.reference.length
        chosen = np.flatnonzero((length > above) & (length <= most) & self._is_answered())
        if not len(chosen):
            return np.zeros(0, np.int64)
        row, length = self.reference.row[chosen], length[chosen]
        sentence = np.repeat(np.arange(len(chosen)), length)
        place = _ranges(length)
        token = (row * self.block.tokens.shape[1] + self.reference.column[chosen])[sentence] + place
        bit = _bits(place, kind)
        tables, bases = self._masks(row, sentence, self.shared[token], bit)
        whole = _bits(length, kind) - 1
        unions = np.zeros(len(chosen), dtype=kind)
        for walks in self._walks(row):
            found = _walk(tables, bases[walks.reference], walks, self.shared, whole[walks.reference])
            np.bitwise_or.at(unions, walks.reference, found)
        places: Numbers = token[(unions[sentence] & bit) != 0]
        return places

    def _is_answered(self) -> NDArray[np.bool_]:
        return self.prediction.counts[self.reference.row] > 0

    def _masks(self, row: Numbers, sentence: Numbers, shared: Numbers, bit: Words) -> tuple[Words, Numbers]:
        """For each sentence and each shared token of its row the bits of its places there; 0 has none."""
        sizes = self.sizes[row]
        bases = np.asarray(np.cumsum(sizes) - sizes, dtype=np.int64)
        tables = np.zeros(int(sizes.sum()), dtype=bit.dtype)
        is_shared = shared > 0
        np.bitwise_or.at(tables, (bases[sentence] + shared)[is_shared], bit[is_shared])
        return tables, bases

    def _walks(self, row: Numbers) -> Iterator[_Walks]:
        """Every sentence of the chosen references with every sentence of its row's prediction."""
        counts = self.prediction.counts
        firsts = np.cumsum(counts) - counts
        reference = np.repeat(np.arange(len(row)), counts[row])
        prediction = np.repeat(firsts[row], counts[row]) + _ranges(counts[row])
        begin = self.prediction.row * self.block.tokens.shape[1] + self.prediction.column
        for start in range(0, len(reference), MAX_WALKS):
            part = slice(start, start + MAX_WALKS)
            lengths = self.prediction.length[prediction[part]]
            order = np.argsort(-lengths, kind="stable")
            yield _Walks(reference[part][order], begin[prediction[part]][order], lengths[order])


@dataclass(frozen=True)
class _Walks:
    """Pairs of sentences, the longest predictions first: numbers of reference sentences, and where the
    predictions stand.
    """

    reference: Numbers
    begin: Numbers
    length: Numbers


def _walk(tables: Words, bases: Numbers, walks: _Walks, shared: Numbers, whole: Words) -> Words:
    """The reference tokens that each walk marks. ``whole`` has a bit for every token of the reference
    sentence.
    """
    active = np.searchsorted(-walks.length, -np.arange(int(walks.length[0])), side="left")
    columns, equals = [], []
    state = whole.copy()
    for step, count in enumerate(active.tolist()):
        equal = tables[bases[:count] + shared[walks.begin[:count] + step]]
        met = state[:count] & equal
        state[:count] = (state[:count] + met) | (state[:count] - met)
        columns.append(~state[:count] | equal)
        equals.append(equal)
    open_bits, marked = whole.copy(), np.zeros_like(whole)
    for count, column, equal in zip(active[::-1].tolist(), reversed(columns), reversed(equals), strict=True):
        down = _filled(column & open_bits[:count], whole)
        hit = (down ^ (down >> 1)) & equal
        marked[:count] |= hit
        open_bits[:count] = down ^ hit
    return marked


def _filled(words: Words, whole: Words) -> Words:
    """Each word with every bit below its highest one set."""
    width = max(whole).bit_length() if whole.dtype == object else whole.dtype.itemsize * 8
    shift = 1
    while shift < width:
        words = words | (words >> shift)
        shift *= 2
    return words


def _bits(places: Numbers, kind: DTypeLike) -> Words:
    """Two to the power of each place; of a place beyond the word nought."""
    if kind is object:
        return np.array([1 << place for place in places.tolist()], dtype=object)
    bits = np.where(places < 64, np.uint64(1) << (places % 64).astype(np.uint64), np.uint64(0))
    return bits.astype(kind)


def _ranges(counts: Numbers) -> Numbers:
    """0, 1, … up to each count, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(int(counts.sum())) - np.repeat(ends - counts, counts)
