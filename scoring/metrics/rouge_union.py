"""The union of longest common subsequences between sentences: ROUGE-Lsum, with the tie-breaks of the package
rouge-score.

Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries, section 3.2. For each sentence of the
reference the package walks back through one table for each sentence of the prediction and marks the
reference tokens on the way; where several subsequences are longest, its walk decides which tokens are
marked, so that the walk itself has to be repeated.

Here all tables are bits. A machine word holds a reference sentence, a bit for each token, and one step
takes in the next token of each prediction sentence, for all pairs of sentences at once (Hyyrö 2004,
Bit-parallel LCS-length computation revisited). Of a word after j tokens, the clear bits are the tokens at
which the table's column j grows. The walk stands at a token i and a column j, and may only go down:

* If the highest token up to i that equals prediction token j, or at which column j grows, is an equal one,
  it is marked: the package takes equal tokens at once, and otherwise drops reference tokens as long as the
  column does not shrink.
* Otherwise the column shrinks there, and the package drops prediction tokens instead: the walk stays at
  that token and goes to column j - 1.

Both come down to finding the highest set bit of a word, without a branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scoring.metrics.rouge_overlap import PADDING, Block, blocks, lcs_lengths, runs
from scoring.metrics.rouge_tokens import Encoded, Numbers

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
