"""How many n-grams the two texts of a pair have in common, for many pairs at once and without hashing.

A key holds, from the top: the pair, the symbol at a place and those that follow it (as many as the highest
order; 0 where the text has ended), the side. Sorted keys are in order by every prefix at the same time: one
sort serves all orders, since the n-grams of an order are runs of the sorted keys.
"""

from collections import Counter

import numpy as np
import numpy.typing as npt

from scoring.metrics.base import Floats

Numbers = npt.NDArray[np.int64]

KEY_BITS = 63
#: Symbols that are counted at once; their keys stay in the processor's own memory.
CHUNK = 32_768


def gram_counts(symbols: Numbers, lengths: Numbers, orders: int) -> Floats:
    """Counts of each pair for n-grams of 1 to ``orders`` symbols, of shape (pairs, orders, 3): those of the
    answer, those of the gold, and those in both, each as often as in the one that has it more seldom.

    ``symbols`` are numbers from 0, of the first answer, the first gold, the second answer and so on;
    ``lengths``, of shape (pairs, 2), says how many each of them has.
    """
    counts = np.zeros((len(lengths), orders, 3))
    counts[..., :2] = np.maximum(lengths[:, None] - np.arange(orders)[:, None], 0)
    common = np.zeros((len(lengths), orders), dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(lengths.sum(axis=1))])
    start = 0
    while start < len(lengths):
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] + CHUNK, side="right")) - 1)
        _count(symbols[ends[start] : ends[stop]], lengths[start:stop], common[start:stop])
        start = stop
    counts[..., 2] = common
    return counts


def _count(symbols: Numbers, lengths: Numbers, common: Numbers) -> None:
    """Into ``common``. Where a key is too long, symbols are numbered anew, and then pairs are halved."""
    if not len(symbols):
        return
    (pairs, orders), total = common.shape, len(symbols)
    if _bits(symbols) * orders + pairs.bit_length() + 1 > KEY_BITS:
        symbols = np.unique(symbols, return_inverse=True)[1]
    bits = _bits(symbols)
    if bits * orders + pairs.bit_length() + 1 > KEY_BITS:
        if pairs == 1:
            common[0] = _common_of_one(symbols[: lengths[0, 0]], symbols[lengths[0, 0] :], orders)
            return
        half = pairs // 2
        cut = int(lengths[:half].sum())
        _count(symbols[:cut], lengths[:half], common[:half])
        _count(symbols[cut:], lengths[half:], common[half:])
        return
    keys = _sorted_keys(symbols, lengths.ravel(), orders, bits)
    gold_before = np.zeros(total + 1, dtype=np.int32)
    np.cumsum(keys & 1, out=gold_before[1:], dtype=np.int32)
    changed = keys[1:] ^ keys[:-1]
    pair_starts = np.concatenate([[0], np.cumsum(lengths.sum(axis=1))])
    is_start = np.ones(total, dtype=bool)
    for order in range(1, orders + 1):
        below = (orders - order) * bits + 1
        np.greater_equal(changed, 1 << below, out=is_start[1:])
        starts = np.flatnonzero(is_start)
        bounds = np.append(starts, total)
        gold = np.diff(gold_before[bounds])
        both = np.minimum(gold, np.diff(bounds) - gold)
        # A run whose last symbol is 0 is no n-gram: the text has ended before it.
        both[keys[starts] >> below & (1 << bits) - 1 == 0] = 0
        sums = np.concatenate([[0], np.cumsum(both)])
        common[:, order - 1] = np.diff(sums[np.searchsorted(starts, pair_starts)])


def _bits(symbols: Numbers) -> int:
    return (int(symbols.max()) + 1).bit_length()


def _sorted_keys(symbols: Numbers, lengths: Numbers, orders: int, bits: int) -> Numbers:
    """A key for each place; ``lengths`` are those of the texts one after the other."""
    total, ends = len(symbols), np.cumsum(lengths)
    padded = np.zeros(total + orders - 1, dtype=np.int64)
    np.add(symbols, 1, out=padded[:total])
    keys = padded[:total].copy()
    for following in range(1, orders):
        keys <<= bits
        keys |= padded[following : following + total]
    # The keys at the last places of a text hold symbols of the next one, which go.
    for left in range(1, orders):
        at = (ends - left)[lengths >= left]
        keys[at] = keys[at] >> (orders - left) * bits << (orders - left) * bits
    texts = np.arange(len(lengths), dtype=np.int64)
    keys <<= 1
    keys |= np.repeat(texts >> 1 << orders * bits + 1 | texts & 1, lengths)
    keys.sort()
    return keys


def _common_of_one(answer: Numbers, gold: Numbers, orders: int) -> list[int]:
    """The same for one pair of so many different symbols that no key can hold them."""
    texts = answer.tolist(), gold.tolist()
    return [(_grams(texts[0], order) & _grams(texts[1], order)).total() for order in range(1, orders + 1)]


def _grams(symbols: list[int], order: int) -> Counter[tuple[int, ...]]:
    return Counter(zip(*(symbols[start:] for start in range(order)), strict=False))
