"""BLEU and chrF as in sacreBLEU, computed from sums of the counts of each text.

The source is Post 2018, A Call for Clarity in Reporting BLEU Scores (WMT). The tokens
and the counts of n-grams equal those of sacreBLEU. Citeboard's signature of BLEU and
chrF contains sacreBLEU's signature.
"""

import re
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Sequence
from importlib.metadata import version
from itertools import chain, count

import numpy as np
import numpy.typing as npt

from scoring.metrics.base import (
    Floats,
    Metric,
    Parameters,
    TextOrHasText,
    divide_or_zero,
)
from scoring.metrics.tokenizers import load_tokenizer
from tasks.types.base import Options
from tasks.types.columns import compute_mask_of_present_rows
from tasks.types.ranking.lists import divide_rows_into_blocks

Numbers = npt.NDArray[np.int64]

MAX_KEY_BITS = 63
#: A block contains this number of symbols.
#: The keys of a block of this size fit into the processor's cache.
SYMBOLS_PER_BLOCK = 32_768


def count_ngrams_and_matches(symbols: Numbers, lengths: Numbers, orders: int) -> Floats:
    """Return an array (pairs, orders, 3) with the numbers of n-grams in the answer, in
    the gold and in both, for each n from 1 to ``orders``. A common n-gram counts with
    its smaller number of occurrences in answer and gold.

    ``symbols`` contains words or characters as numbers from 0, first those of the first
    answer, then of the first gold, of the second answer and so on. ``lengths``, of
    shape (pairs, 2), contains the numbers of symbols of answer and gold. Each position
    in ``symbols`` has a key that contains, from the highest bits, the index of the
    pair, the symbol, the following symbols (0 after the end of the text), and a bit for
    answer or gold. The keys of a block of pairs are sorted once. For each n, equal
    n-grams are adjacent in the sorted keys.
    """
    counts = np.zeros((len(lengths), orders, 3))
    counts[..., :2] = np.maximum(lengths[:, None] - np.arange(orders)[:, None], 0)
    ends = np.concatenate([[0], np.cumsum(lengths.sum(axis=1))])
    for start, stop in divide_rows_into_blocks(ends, SYMBOLS_PER_BLOCK):
        _count_common_ngrams(
            symbols[ends[start] : ends[stop]],
            lengths[start:stop],
            counts[start:stop, :, 2],
        )
    return counts


def _count_common_ngrams(symbols: Numbers, lengths: Numbers, common: Floats) -> None:
    """Write the numbers of n-grams that answer and gold have in common to ``common``.
    If the keys have too many bits, give the symbols smaller numbers. If the new keys
    still have too many bits, split the list of pairs in halves.
    """
    if not len(symbols):
        return
    pairs, orders = common.shape
    if _compute_key_bits(symbols, *common.shape) > MAX_KEY_BITS:
        symbols = np.unique(symbols, return_inverse=True)[1]
    bits = _compute_bits_per_symbol(symbols)
    if _compute_key_bits(symbols, *common.shape) > MAX_KEY_BITS:
        if pairs == 1:
            # A pair with too many distinct symbols for keys is counted without keys.
            texts = symbols[: lengths[0, 0]].tolist(), symbols[lengths[0, 0] :].tolist()
            grams = (
                [_count_ngrams(text, order) for text in texts]
                for order in range(1, orders + 1)
            )
            common[0] = [(answer & gold).total() for answer, gold in grams]
            return
        half = pairs // 2
        cut = int(lengths[:half].sum())
        _count_common_ngrams(symbols[:cut], lengths[:half], common[:half])
        _count_common_ngrams(symbols[cut:], lengths[half:], common[half:])
        return
    keys = _sort_ngram_keys(symbols, lengths.ravel(), orders, bits)
    gold_before = np.concatenate([[0], np.cumsum(keys & 1)])
    changed = keys[1:] ^ keys[:-1]
    pair_starts = np.concatenate([[0], np.cumsum(lengths.sum(axis=1))])
    for order in range(1, orders + 1):
        below = (orders - order) * bits + 1
        starts = np.flatnonzero(np.concatenate([[True], changed >= 1 << below]))
        bounds = np.append(starts, len(symbols))
        gold = np.diff(gold_before[bounds])
        both = np.minimum(gold, np.diff(bounds) - gold)
        # Keys whose last symbol is 0 extend over a text's end and contain no n-gram.
        both[keys[starts] >> below & (1 << bits) - 1 == 0] = 0
        sums = np.concatenate([[0], np.cumsum(both)])
        common[:, order - 1] = np.diff(sums[np.searchsorted(starts, pair_starts)])


def _compute_bits_per_symbol(symbols: Numbers) -> int:
    return (int(symbols.max()) + 1).bit_length()


def _compute_key_bits(symbols: Numbers, pairs: int, orders: int) -> int:
    """Return the number of bits of a key, which encodes the index of the pair, the
    symbols of an n-gram of the highest order, and answer or gold.
    """
    return _compute_bits_per_symbol(symbols) * orders + pairs.bit_length() + 1


def _sort_ngram_keys(
    symbols: Numbers, lengths: Numbers, orders: int, bits: int
) -> Numbers:
    """Return the sorted keys of all positions in ``symbols``. ``lengths`` contains the
    numbers of symbols of consecutive texts.
    """
    ends, keys = np.cumsum(lengths), symbols + 1
    padded = np.append(keys, np.zeros(orders, dtype=np.int64))
    for following in range(1, orders):
        keys = (keys << bits) | padded[following : following + len(symbols)]
    # Remove symbols of the next text from the last keys of each text.
    for left in range(1, orders):
        at = (ends - left)[lengths >= left]
        keys[at] = keys[at] >> (orders - left) * bits << (orders - left) * bits
    texts = np.arange(len(lengths), dtype=np.int64)
    return np.sort(
        keys << 1 | np.repeat(texts >> 1 << orders * bits + 1 | texts & 1, lengths)
    )


def _count_ngrams(symbols: list[int], order: int) -> Counter[tuple[int, ...]]:
    return Counter(zip(*(symbols[start:] for start in range(order)), strict=False))


MAX_BLEU_ORDER = 4
MAX_CHRF_CHARACTER_ORDER = 6
CHRF_BETA_SQUARED = 4


class SacreBleuMetric(Metric):
    """The base class of corpus metrics that are computed from sums of sacreBLEU's
    counts of each pair. A missing answer counts as an empty text. Undefined over no
    instances.
    """

    shape = "corpus"
    own_version = 2
    compares_texts = True
    scale = 100
    packages = ("sacrebleu",)
    counts_by_last_column = True
    #: sacreBLEU's signature has these settings between reference count and version.
    settings: str

    @property
    def parameters(self) -> Parameters:
        signature = (
            f"nrefs:1,case:mixed,eff:{self.settings},version:{version('sacrebleu')}"
        )
        return {"average": "corpus", "sacrebleu": signature}

    def instance_stats(
        self,
        gold: Sequence[TextOrHasText | None],
        answers: Sequence[TextOrHasText | None],
    ) -> Floats:
        """Return sacreBLEU's counts and then 1 for each instance, or a row of zeros for
        an answer without gold.
        """
        counts = compute_mask_of_present_rows(gold).astype(np.float64)
        texts = self.normalise_texts(answers), self.normalise_texts(gold)
        pairs = zip(*texts, strict=True)
        return np.column_stack(
            [
                self.count_text_pairs([*chain.from_iterable(pairs)]) * counts[:, None],
                counts,
            ]
        )

    @abstractmethod
    def count_text_pairs(self, texts: Sequence[str]) -> Floats:
        """Return one row of sacreBLEU's counts for each pair of answer and gold.
        ``texts`` contains each answer before its gold.
        """

    def denominators(self, rows: Floats) -> Floats:
        """Return the numbers of n-grams in answer and gold, because long texts have
        more weight than short texts.
        """
        return np.asarray(rows[:, :-1].sum(axis=1))

    def aggregate(self, sums: Floats) -> Floats:
        return np.asarray(
            np.where(
                sums[..., -1] > 0, self.compute_corpus_value(sums[..., :-1]), np.nan
            )
        )

    @abstractmethod
    def compute_corpus_value(self, counts: Floats) -> Floats:
        """Return the metric's value between 0 and 100 from the summed counts of all
        pairs.
        """


class Bleu(SacreBleuMetric):
    """Corpus BLEU, which is the geometric mean of the precisions of 1- to 4-grams, with
    a penalty if all answers together are shorter than the gold. BLEU's tokenizer is
    `13a` of the program mteval. The smoothing method `exp` applies to orders of n-grams
    without a match. 0 if no token matches.
    """

    statistic = "bleu"
    rests_on_tokens = True
    citation = "Papineni et al. 2002, BLEU, ACL; Post 2018, A Call for Clarity in Reporting BLEU Scores, WMT"

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        tokenizer: str = "",
        options: Options | None = None,
    ) -> None:
        super().__init__(name, rules)
        self.tokenizer = tokenizer
        self.choose_tokenizer(options)
        self.settings = f"no,tok:{self.tokenizer or '13a'},smooth:exp"

    def tokens(self, text: str) -> list[str]:
        return (load_tokenizer(self.tokenizer) if self.tokenizer else tokenize_13a)(
            text
        )

    def count_text_pairs(self, texts: Sequence[str]) -> Floats:
        if self.tokenizer:
            numbers = defaultdict[str, int](count().__next__)
            numbered = [
                [numbers[token] for token in self.tokens(text)] for text in texts
            ]
        else:
            numbers_of = TokenNumbersByWord().__getitem__
            numbered = [
                [*chain.from_iterable(map(numbers_of, split_into_13a_words(text)))]
                for text in texts
            ]
        counts = count_ngrams_and_matches(*concatenate_texts(numbered), MAX_BLEU_ORDER)
        return np.column_stack([counts[:, 0, :2], counts[..., 2], counts[..., 0]])

    def compute_corpus_value(self, counts: Floats) -> Floats:
        answered, wanted = counts[..., 0], counts[..., 1]
        correct, total = (
            counts[..., 2 : 2 + MAX_BLEU_ORDER],
            counts[..., 2 + MAX_BLEU_ORDER :],
        )
        smoothed = divide_or_zero(
            np.full_like(total, 100.0), 2.0 ** np.cumsum(correct == 0, axis=-1) * total
        )
        precisions = np.where(
            correct == 0, smoothed, divide_or_zero(100.0 * correct, total)
        )
        penalty = np.exp(np.minimum(0.0, 1 - divide_or_zero(wanted, answered)))
        # sacreBLEU takes the logarithm of 0 if the answers have no n-grams of an order.
        with np.errstate(divide="ignore"):
            values = penalty * np.exp(np.log(precisions).mean(axis=-1))
        return np.where(correct.any(axis=-1), values, 0.0)


class Chrf(SacreBleuMetric):
    """Corpus chrF2, which is the F2 score of 1- to 6-grams of characters and weights
    recall higher than precision. If ``words`` is set, the metric is chrF2++, which adds
    1- and 2-grams of words. Precision and recall are means over the orders of n-grams
    that occur in both answers and gold.
    """

    citation = "Popović 2015, chrF: character n-gram F-score for automatic MT evaluation, WMT; Post 2018, WMT"

    def __init__(
        self, name: str, rules: str, *, words: int = 0, tokenizer: str = ""
    ) -> None:
        super().__init__(name, rules)
        self.words, self.tokenizer = words, tokenizer
        self.rests_on_tokens = bool(words)
        self.statistic = "chrf_with_words" if words else "chrf"
        self.settings = f"yes,nc:{MAX_CHRF_CHARACTER_ORDER},nw:{words},space:no"

    @property
    def parameters(self) -> Parameters:
        named = {"tokenizer": self.tokenizer} if self.words and self.tokenizer else {}
        return {**super().parameters, **named}

    def separate_tokens_by_spaces(self, text: str) -> str:
        """Return the text with spaces between the words that the task's tokenizer
        finds.
        """
        if not (self.words and self.tokenizer):
            return text
        return " ".join(load_tokenizer(self.tokenizer)(text))

    def tokens(self, text: str) -> list[str]:
        # sacreBLEU returns chrF's words only by this private method.
        from sacrebleu.metrics.chrf import CHRF

        found: list[str] = CHRF()._remove_punctuation(  # noqa: SLF001
            self.separate_tokens_by_spaces(text)
        )
        return found

    def count_text_pairs(self, texts: Sequence[str]) -> Floats:
        counts = count_ngrams_and_matches(
            *encode_characters(texts), MAX_CHRF_CHARACTER_ORDER
        )
        if self.words:
            numbers = defaultdict[str, int](count().__next__)
            numbered = [[numbers[word] for word in self.tokens(text)] for text in texts]
            counts = np.concatenate(
                [
                    counts,
                    count_ngrams_and_matches(*concatenate_texts(numbered), self.words),
                ],
                axis=1,
            )
        # If the gold has no n-gram of an order, sacreBLEU ignores the answer's n-grams.
        counts[..., 0] *= counts[..., 1] > 0
        return counts.reshape(len(counts), 3 * counts.shape[1])

    def compute_corpus_value(self, counts: Floats) -> Floats:
        answered, wanted, matches = (counts[..., column::3] for column in range(3))
        occurs = (answered > 0) & (wanted > 0)
        orders = occurs.sum(axis=-1)
        precision = divide_or_zero(
            (divide_or_zero(matches, answered) * occurs).sum(axis=-1), orders
        )
        recall = divide_or_zero(
            (divide_or_zero(matches, wanted) * occurs).sum(axis=-1), orders
        )
        return 100 * divide_or_zero(
            (1 + CHRF_BETA_SQUARED) * precision * recall,
            CHRF_BETA_SQUARED * precision + recall,
        )


#: The rules of the tokenizer `13a`, in the same order as in sacreBLEU.
#: No rule of `13a` matches across whitespace.
TOKENIZER_13A_RULES = (
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
CHARACTER_BY_HTML_ENTITY = (
    ("&quot;", '"'),
    ("&amp;", "&"),
    ("&lt;", "<"),
    ("&gt;", ">"),
)


def split_into_13a_words(text: str) -> list[str]:
    """Split a text at whitespace after the removals of the tokenizer `13a`, which may
    join words.
    """
    return text.rstrip().replace("<skipped>", "").replace("-\n", "").split()


class TokenNumbersByWord(dict[str, tuple[int, ...]]):
    """A mapping of whitespace-separated words to the numbers of their `13a` tokens,
    computed once per distinct word.
    """

    def __init__(self) -> None:
        super().__init__()
        self._numbers = defaultdict[str, int](count().__next__)

    def __missing__(self, word: str) -> tuple[int, ...]:
        line = word
        if not word.isalnum():
            for name, sign in CHARACTER_BY_HTML_ENTITY if "&" in word else ():
                line = line.replace(name, sign)
            line = f" {line} "
            for rule, parted in TOKENIZER_13A_RULES:
                line = rule.sub(parted, line)
        tokens = self[word] = tuple(self._numbers[token] for token in line.split())
        return tokens


def tokenize_13a(text: str) -> list[str]:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    tokens: list[str] = Tokenizer13a()(text.rstrip()).split()  # type: ignore[no-untyped-call]
    return tokens


def concatenate_texts(texts: Sequence[Sequence[int]]) -> tuple[Numbers, Numbers]:
    """Return the concatenated texts, and an array (pairs, 2) with the lengths of the
    texts.
    """
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    return np.fromiter(
        chain.from_iterable(texts), np.int64, int(lengths.sum())
    ), lengths.reshape(-1, 2)


def encode_characters(texts: Sequence[str]) -> tuple[Numbers, Numbers]:
    """Return all non-whitespace characters as numbers in the order of code points, and
    the lengths of the texts, an array (pairs, 2).
    """
    written = ["".join(text.split()) for text in texts]
    lengths = np.fromiter(map(len, written), np.int64, len(written)).reshape(-1, 2)
    points = np.frombuffer(
        "".join(written).encode("utf-32-le", "surrogatepass"), np.uint32
    )
    return (np.cumsum(np.bincount(points) > 0) - 1)[points], lengths
