"""How many n-grams two texts have, and how many of them are the same: of many pairs at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring.metrics.base import Floats

Integers = npt.NDArray[np.int64]

#: Pairs counted at once: what bounds the memory.
PAIRS = 500
WORD_BITS = 63


def gram_counts(answers: Sequence[Sequence[str]], gold: Sequence[Sequence[str]], orders: int) -> Floats:
    """Counts of each pair for n-grams of 1 to ``orders`` symbols, of shape (pairs, orders, 3): those of the
    answer, those of the gold, and those in both, each as often as in the one that has it more seldom.

    A symbol is one item of a text: a character of a string, a word of a list. Numbers stand for the n-grams,
    different ones for different n-grams (no hashing).
    """
    found = np.zeros((len(gold), orders, 3))
    numbers: dict[str, int] = {}
    for start in range(0, len(gold), PAIRS):
        part = slice(start, start + PAIRS)
        numbers.clear()
        texts = [
            np.array([numbers.setdefault(symbol, len(numbers)) for symbol in text], dtype=np.int64)
            for text in (*answers[part], *gold[part])
        ]
        _count(texts, len(numbers), found[part])
    return found


def _count(texts: Sequence[Integers], symbols: int, found: Any) -> None:
    """Into ``found`` for the first half of the texts beside the second half, of ``symbols`` symbols."""
    pairs, orders = found.shape[:2]
    lengths = np.array([len(text) for text in texts])
    for order in range(1, orders + 1):
        found[:, order - 1, :2] = np.maximum(lengths - order + 1, 0).reshape(2, pairs).T
    if not symbols:
        return
    line = np.concatenate(texts)
    ends = np.repeat(np.cumsum(lengths), lengths)
    #: Its pair above all, its side below all, its n-gram between them.
    pair = np.repeat(np.tile(np.arange(pairs), 2), lengths)
    side = np.repeat(np.repeat([0, 1], pairs), lengths)
    pair_bits, symbol_bits = pairs.bit_length(), symbols.bit_length()
    at = np.arange(len(line))
    grams, bits = np.zeros(len(line), dtype=np.int64), 0
    for order in range(1, orders + 1):
        is_long_enough = at + order <= ends[at]
        at, grams = at[is_long_enough], grams[is_long_enough]
        if not len(at):
            return
        if bits + symbol_bits + pair_bits + 1 > WORD_BITS:
            grams = np.unique(grams, return_inverse=True)[1]
            bits = int(grams.max()).bit_length()
        grams = grams << symbol_bits | line[at + order - 1]
        bits += symbol_bits
        keys = np.sort(pair[at] << bits + 1 | grams << 1 | side[at])
        of_gold = keys & 1
        keys >>= 1
        starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
        gold = np.add.reduceat(of_gold, starts)
        same = np.minimum(gold, np.diff(np.r_[starts, len(keys)]) - gold)
        found[:, order - 1, 2] = np.bincount(keys[starts] >> bits, weights=same, minlength=pairs)
