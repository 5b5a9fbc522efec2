"""BLEU and chrF as sacreBLEU has them, from counts of each text, so that corpus values follow from sums.

Post 2018, A Call for Clarity in Reporting BLEU Scores (WMT). Tokens are sacreBLEU's own, counts equal to its
own; its signature stands inside ours.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scoring.metrics.base import Floats, Metric, Parameters, Text, ratio, texts_of
from tasks.types.columns import present

ORDER = 4
CHARACTERS = 6
BETA_SQUARED = 4
#: What sacreBLEU takes for the logarithm of 0.
LOG_OF_ZERO = -9999999999.0


class Counted(Metric):
    """A corpus value from sacreBLEU's counts of each pair; a missing answer is an empty text.

    Undefined over no instances.
    """

    scale = 100
    packages = ("sacrebleu",)

    def counter(self) -> Any:
        """sacreBLEU's metric of this kind, which counts."""
        raise NotImplementedError

    @property
    def parameters(self) -> Parameters:
        counter = self.counter()
        counter.num_refs = 1
        signature = counter.get_signature().format().replace("|", ",")
        return {"average": "corpus", "sacrebleu": signature}

    def instance_stats(self, gold: Sequence[Text | None], answers: Sequence[Text | None]) -> Floats:
        """sacreBLEU's counts and a 1; zeros for an answer without gold."""
        counts = present(gold).astype(np.float64)
        if not len(counts):
            return np.zeros((0, 1))
        return np.column_stack([self.counts_of(texts_of(answers), texts_of(gold)) * counts[:, None], counts])

    def counts_of(self, answers: Sequence[str], gold: Sequence[str]) -> Floats:
        """What sacreBLEU counts in each pair, a row each."""
        raise NotImplementedError

    def instances(self, stats: Floats, has_gold: Any) -> int:
        return int(stats[:, -1].sum())

    def aggregate(self, sums: Floats) -> Floats:
        if sums.shape[-1] == 1:
            return np.full(sums.shape[:-1], np.nan)
        return np.asarray(np.where(sums[..., -1] > 0, self.corpus_value(sums[..., :-1]), np.nan))

    def corpus_value(self, counts: Floats) -> Floats:
        """The value of summed counts, from 0 to 100."""
        raise NotImplementedError


class Bleu(Counted):
    """BLEU of the whole corpus: the geometric mean of the precisions of one to four tokens, and a penalty
    where the answers together are shorter than the gold.

    Tokens are those of mteval's `13a`; an n-gram order without a match is smoothed by `exp`. 0 where no token
    matches at all.
    """

    statistic = "bleu"
    citation = "Papineni et al. 2002, BLEU, ACL; Post 2018, A Call for Clarity in Reporting BLEU Scores, WMT"

    def counter(self) -> Any:
        from sacrebleu.metrics.bleu import BLEU

        return BLEU()

    def counts_of(self, answers: Sequence[str], gold: Sequence[str]) -> Floats:
        # sacreBLEU has its tokens by this method alone; its version is pinned.
        tokens = self.counter()._preprocess_segment  # noqa: SLF001
        answered, wanted = ([tokens(text).split() for text in texts] for texts in (answers, gold))
        counts = gram_counts(answered, wanted, ORDER)
        return np.column_stack([counts[:, 0, :2], counts[..., 2], counts[..., 0]])

    def corpus_value(self, counts: Floats) -> Floats:
        answered, wanted = counts[..., 0], counts[..., 1]
        correct, total = counts[..., 2 : 2 + ORDER], counts[..., 2 + ORDER :]
        misses = np.cumsum(correct == 0, axis=-1)
        smoothed = ratio(np.full_like(total, 100.0), 2.0**misses * total)
        precisions = np.where(correct == 0, smoothed, ratio(100.0 * correct, total))
        logs = np.log(precisions, out=np.full(precisions.shape, LOG_OF_ZERO), where=precisions > 0)
        penalty = np.where(answered > 0, np.exp(np.minimum(0.0, 1 - ratio(wanted, answered))), 0.0)
        # Where the answers have no n-grams of an order at all, the program takes the logarithm of 0.
        values = penalty * np.exp(logs.sum(axis=-1) / ORDER)
        return np.where(correct.any(axis=-1), values, 0.0)


class Chrf(Counted):
    """chrF2 of the whole corpus: recall and precision of one to six characters, recall counting four times;
    with ``words`` chrF2++, of one and two words as well.

    Precision and recall are means over the orders that occur on both sides.
    """

    citation = "Popović 2015, chrF: character n-gram F-score for automatic MT evaluation, WMT; Post 2018, WMT"

    def __init__(self, name: str, rules: str, *, words: int = 0) -> None:
        super().__init__(name, rules)
        self.words = words
        self.statistic = "chrf_with_words" if words else "chrf"

    def counter(self) -> Any:
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(word_order=self.words)

    def counts_of(self, answers: Sequence[str], gold: Sequence[str]) -> Floats:
        answered, wanted = (["".join(text.split()) for text in texts] for texts in (answers, gold))
        counts = gram_counts(answered, wanted, CHARACTERS)
        if self.words:
            words = self.counter()._remove_punctuation  # noqa: SLF001
            of_words = gram_counts([*map(words, answers)], [*map(words, gold)], self.words)
            counts = np.concatenate([counts, of_words], axis=1)
        # Where the gold has no n-gram of an order, sacreBLEU counts none of the answer's.
        counts[..., 0] *= counts[..., 1] > 0
        return counts.reshape(len(counts), -1)

    def corpus_value(self, counts: Floats) -> Floats:
        answered, wanted, matches = (counts[..., column::3] for column in range(3))
        occurs = (answered > 0) & (wanted > 0)
        orders = occurs.sum(axis=-1)
        precision = ratio((ratio(matches, answered) * occurs).sum(axis=-1), orders)
        recall = ratio((ratio(matches, wanted) * occurs).sum(axis=-1), orders)
        both = BETA_SQUARED * precision + recall
        return 100 * ratio((1 + BETA_SQUARED) * precision * recall, both)


#: Pairs counted at once: what bounds the memory.
PAIRS = 500
WORD_BITS = 63


def gram_counts(answers: Sequence[Sequence[str]], gold: Sequence[Sequence[str]], orders: int) -> Floats:
    """Counts of each pair for n-grams of 1 to ``orders`` symbols, of shape (pairs, orders, 3): those of the
    answer, those of the gold, and those in both, each as often as in the one that has it more seldom.

    A symbol is one item of a text: a character of a string, a word of a list. Numbers stand for the n-grams,
    different ones for different n-grams (no hashing).
    """
    counts = np.zeros((len(gold), orders, 3))
    numbers: dict[str, int] = {}
    for start in range(0, len(gold), PAIRS):
        part = slice(start, start + PAIRS)
        numbers.clear()
        texts = [
            np.array([numbers.setdefault(symbol, len(numbers)) for symbol in text], dtype=np.int64)
            for text in (*answers[part], *gold[part])
        ]
        _count(texts, len(numbers), counts[part])
    return counts


def _count(texts: Sequence[npt.NDArray[np.int64]], symbols: int, counts: Any) -> None:
    """Into ``counts`` for the first half of the texts beside the second half, of ``symbols`` symbols."""
    pairs, orders = counts.shape[:2]
    lengths = np.array([len(text) for text in texts])
    for order in range(1, orders + 1):
        counts[:, order - 1, :2] = np.maximum(lengths - order + 1, 0).reshape(2, pairs).T
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
        counts[:, order - 1, 2] = np.bincount(keys[starts] >> bits, weights=same, minlength=pairs)
