"""ROUGE-1, -2, -L and -Lsum with the rules of the package rouge-score. Values of ROUGE
are bit-identical to those of the package rouge-score.

The source is Lin 2004 (ROUGE, a Package for Automatic Evaluation of Summaries),
sections 2 (ROUGE-N), 3.1 (ROUGE-L) and 3.2 (ROUGE-Lsum, where a line is a sentence).
``scoring.metrics.rouge155`` implements the older Perl program, which tokenises and
counts differently.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scoring.metrics import cache
from scoring.metrics.base import (
    PRECISION_RECALL_F1,
    Floats,
    Parameters,
    TextMean,
    compute_harmonic_mean,
)
from scoring.metrics.porter import stem_as_rouge_score
from scoring.metrics.tokenizers import (
    TokenizeFunction,
    load_tokenizer,
    select_word_tokens,
)
from tasks.types.base import Options

#: ROUGE-1, -2 and -L need only tokens, and ROUGE-Lsum also needs sentence boundaries.
ROUGE_KINDS_OF_TEXTS, ROUGE_KINDS_OF_SENTENCES = ("1", "2", "l"), ("lsum",)
#: Number of bootstrap samples of rouge-score's aggregator.
NUMBER_OF_BOOTSTRAP_SAMPLES = 1000


def compute_rouge(
    references: Sequence[str],
    predictions: Sequence[str],
    kinds: Sequence[str] = ROUGE_KINDS_OF_TEXTS,
    *,
    is_stemmed: bool,
) -> dict[str, Floats]:
    """Return arrays (n, 3) with precision, recall and F1 of n pairs of texts, from 0 to
    1, for each kind of ROUGE (``1``, ``2``, ``l`` or ``lsum``).

    A text without letters or digits scores 0. Encoded references are cached.
    """
    if len(references) != len(predictions):
        raise ValueError(
            f"{len(references)} references and {len(predictions)} predictions"
        )
    gold, peer = encode_gold_texts(tuple(references)), encode_texts(predictions)
    if is_stemmed:
        gold, peer = gold.replace_words_by_stems(), peer.replace_words_by_stems()
    # For each kind, ``counted`` contains the hits of each pair.
    # The second member is a text's number of tokens minus its number of n-grams.
    counted: dict[str, tuple[Numbers, int]] = {}
    if {"1", "2"} & {*kinds}:
        unigrams, bigrams = (
            np.zeros(len(gold.text_lengths), dtype=np.int64) for _ in range(2)
        )
        for block in iterate_text_pair_blocks(gold, peer):
            unigrams[block.pairs] = count_unigram_hits(block)
            bigrams[block.pairs] = count_bigram_hits(block)
        counted |= {"1": (unigrams, 0), "2": (bigrams, 1)}
    if "l" in kinds:
        counted["l"] = compute_lcs_lengths(gold, peer), 0
    if "lsum" in kinds:
        counted["lsum"] = count_union_hits(gold, peer), 0
    scores = {}
    for kind in kinds:
        hits, less = counted[kind]
        precision = hits / np.maximum(peer.text_lengths - less, 1)
        recall = hits / np.maximum(gold.text_lengths - less, 1)
        scores[kind] = np.column_stack(
            [precision, recall, compute_harmonic_mean(precision, recall)]
        )
    return scores


class Rouge(TextMean):
    """The mean over instances of precision, recall or F1 of ROUGE-1, -2, -L or -Lsum,
    times 100. Gold and answers are texts. A gold instance without an answer scores 0.
    The mean is undefined (NaN) over no instances. ROUGE with stemming and ROUGE without
    stemming are different metrics.
    """

    rests_on_tokens = True
    scale = 100
    citation = (
        "Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries, ACL workshop"
    )
    packages: tuple[str, ...] = ("rapidfuzz",)
    engine = "rouge-score"

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        kind: str,
        part: str,
        is_stemmed: bool = False,
        options: Options | None = None,
        tokenizer: str = "",
    ) -> None:
        super().__init__(name, rules, column=f"{kind}_{part}")
        self.tokenizer = tokenizer
        self.choose_tokenizer(options)
        self.choose_engine(options)
        self.kinds = (
            ROUGE_KINDS_OF_TEXTS
            if kind in ROUGE_KINDS_OF_TEXTS
            else ROUGE_KINDS_OF_SENTENCES
        )
        self.columns = tuple(
            f"{measure}_{part}"
            for measure in self.kinds
            for part in PRECISION_RECALL_F1
        )
        self.is_stemmed = is_stemmed
        family = "rouge" if kind in ROUGE_KINDS_OF_TEXTS else "rouge_lsum"
        self.statistic = f"{family}_stemmed" if is_stemmed else family
        if self.tokenizer:
            self.packages = (*self.packages, "sacrebleu")

    @property
    def parameters(self) -> Parameters:
        return {
            **super().parameters,
            "stemmer": "porter" if self.is_stemmed else "none",
            "tokenizer": self.tokenizer or "rouge-score",
            **(
                {"sentences": "lines"} if self.kinds == ROUGE_KINDS_OF_SENTENCES else {}
            ),
            **self.engine_parameters,
        }

    def measured(self, gold: Sequence[str], answers: Sequence[str]) -> Floats:
        compute = compute_package_rouge if self.is_by_package else compute_rouge
        if self.tokenizer:
            gold = [encode_tokens_as_ascii(text, self.tokens) for text in gold]
            answers = [encode_tokens_as_ascii(text, self.tokens) for text in answers]
        scores = compute(gold, answers, self.kinds, is_stemmed=self.is_stemmed)
        return np.hstack([scores[kind] for kind in self.kinds])

    def tokens(self, text: str) -> list[str]:
        return tokenize_for_rouge(text, self.tokenizer)


#: The pattern matches words of lower-case texts as defined by the package rouge-score.
ROUGE_WORD_PATTERN = re.compile("[a-z0-9]+")


def tokenize_for_rouge(text: str, name: str = "") -> list[str]:
    """Return the words that the named tokenizer finds in the lower-case text. If
    ``name`` is empty, use the default tokenizer of the package rouge-score.
    """
    lowered = text.lower()
    return (
        select_word_tokens(load_tokenizer(name)(lowered))
        if name
        else ROUGE_WORD_PATTERN.findall(lowered)
    )


def encode_tokens_as_ascii(text: str, tokenize: TokenizeFunction) -> str:
    """Encode the tokens of each line as ASCII words, which the default tokenizer of
    rouge-score does not split.

    A token with other characters is encoded as hexadecimal bytes followed by a digit,
    so that no stemmer changes the token.
    """
    return "\n".join(
        " ".join(
            token
            if ROUGE_WORD_PATTERN.fullmatch(token)
            else f"x{token.encode().hex()}0"
            for token in tokenize(line)
        )
        for line in text.split("\n")
    )


class RougeMid(Rouge):
    """The `mid` value of rouge-score's aggregator, which is the median of 1,000
    bootstrap means over instances. CiteBench prints the `mid` value (appendix A.3).

    The package rouge-score draws bootstrap samples after `numpy.random.seed(0)`, first
    for ROUGE-1, then for ROUGE-2 and ROUGE-L. CiteBench sets no seed, so the last
    digits of CiteBench's values are random. Intervals and class results show the plain
    mean instead of the `mid` value.
    """

    def total(self, rows: Floats) -> float:
        values = rows[rows[:, -1] > 0, self.columns.index(self.column)]
        if not len(values):
            return math.nan
        draw, place = (
            np.random.RandomState(0),
            ROUGE_KINDS_OF_TEXTS.index(self.column.partition("_")[0]),
        )
        samples = (
            draw.choice(len(values), len(values))
            for _ in range(NUMBER_OF_BOOTSTRAP_SAMPLES * (place + 1))
        )
        means = [
            values[sample].mean()
            for sample in islice(samples, NUMBER_OF_BOOTSTRAP_SAMPLES * place, None)
        ]
        return self.scale * float(np.median(means))


def compute_package_rouge(
    references: Sequence[str],
    predictions: Sequence[str],
    kinds: Sequence[str],
    *,
    is_stemmed: bool,
    tokenizer: object = None,
) -> dict[str, Floats]:
    """Return for each kind of ROUGE the (n, 3) precisions, recalls and F1 of the
    package rouge-score.
    """
    from rouge_score.rouge_scorer import RougeScorer

    names = {kind: f"rouge{kind.capitalize()}" for kind in kinds}
    scorer = RougeScorer(
        list(names.values()), use_stemmer=is_stemmed, tokenizer=tokenizer
    )
    scored = [scorer.score(*pair) for pair in zip(references, predictions, strict=True)]
    return {
        kind: np.array(
            [tuple(scores[name]) for scores in scored], dtype=np.float64
        ).reshape(-1, 3)
        for kind, name in names.items()
    }


Numbers = NDArray[np.int64]

#: The ends of texts and lines are represented by bytes that do not occur in ASCII.
TEXT_END_BYTE, LINE_END_BYTE = b"\x80", b"\x81"
_TOKEN_BYTES = frozenset(
    b"abcdefghijklmnopqrstuvwxyz0123456789" + TEXT_END_BYTE + LINE_END_BYTE
)
#: All bytes except letters, digits and these two bytes separate words.
_BYTE_TRANSLATION_TABLE = bytes(
    byte if byte in _TOKEN_BYTES else ord(" ") for byte in range(256)
)
#: Words with at most this many letters are never stemmed.
MAX_UNSTEMMED_LETTERS = 3
#: The cache omits shorter texts, which are encoded as fast as cached texts are read.
MIN_CACHED_CHARACTERS = 500_000
#: Version of the cache.
#: A change of tokenisation or stemming must increase this version.
CACHE_KIND = "rouge-1"


class WordNumbers(dict[bytes, int]):
    """A mapping of words to numbers, in the order of first occurrence. The number 0 is
    the end of a text, and 1 is the end of a line.
    """

    def __init__(self) -> None:
        super().__init__()
        self.forget_all_words()

    def forget_all_words(self) -> None:
        """Remove all words from the vocabulary. Word numbers from before this call
        become invalid.
        """
        self.clear()
        self.update({TEXT_END_BYTE: 0, LINE_END_BYTE: 1})
        self._stem_numbers: dict[bytes, int] = {}
        self._stem_of = {TEXT_END_BYTE: TEXT_END_BYTE, LINE_END_BYTE: LINE_END_BYTE}
        self._stems: Numbers = np.array([], dtype=np.int64)

    def __missing__(self, word: bytes) -> int:
        number = self[word] = len(self)
        return number

    def add_words_and_stems(
        self, words: Iterable[bytes], stems: Iterable[bytes]
    ) -> None:
        """Add words and stems from a cache file to the vocabulary."""
        self._stem_of.update(zip(words, stems, strict=True))

    def stem(self, word: bytes) -> bytes:
        stem = self._stem_of.get(word)
        if stem is not None:
            return stem
        return (
            stem_as_rouge_score(word.decode()).encode()
            if len(word) > MAX_UNSTEMMED_LETTERS
            else word
        )

    def list_stem_numbers(self) -> Numbers:
        """Return an array with the number of each word's stem, indexed by word number."""
        numbers = self._stem_numbers
        unknown = islice(self, len(self._stems), None)
        new = [numbers.setdefault(self.stem(word), len(numbers)) for word in unknown]
        self._stems = np.concatenate([self._stems, np.array(new, dtype=np.int64)])
        return self._stems


word_numbers = WordNumbers()
forget_all_words = word_numbers.forget_all_words


@dataclass(frozen=True, eq=False)
class EncodedTexts:
    """Several texts as one concatenated array of word numbers. Text i is
    ``words[starts[i]:starts[i + 1]]``. The non-empty lines of text i have the indices
    ``lines[i]`` to ``lines[i + 1] - 1``. Line j is ``words[line_starts[j]:line_starts[j
    + 1]]``.
    """

    words: Numbers
    starts: Numbers
    lines: Numbers
    line_starts: Numbers

    @property
    def text_lengths(self) -> Numbers:
        return np.diff(self.starts)

    def replace_words_by_stems(self) -> "EncodedTexts":
        return EncodedTexts(
            word_numbers.list_stem_numbers()[self.words],
            self.starts,
            self.lines,
            self.line_starts,
        )


def encode_texts(texts: Sequence[str]) -> EncodedTexts:
    """Encode texts as arrays of word numbers. Within a process, a word always has the
    same number.
    """
    if not texts:
        none = np.zeros(1, dtype=np.int64)
        return EncodedTexts(none[:0], none, none, none)
    # Words consist of ASCII letters and digits, and other characters separate words.
    parts = [text.lower().encode("ascii", "replace") for text in texts]
    joined = (
        (b" " + TEXT_END_BYTE + b" ")
        .join(parts)
        .replace(b"\n", b" " + LINE_END_BYTE + b" ")
    )
    tokens = joined.translate(_BYTE_TRANSLATION_TABLE).split()
    numbers = np.fromiter(map(word_numbers.__getitem__, tokens), np.int64, len(tokens))
    is_word = numbers > 1
    before = np.concatenate([[0], np.cumsum(is_word)])
    ends = np.flatnonzero(~is_word)
    starts = np.concatenate([[0], before[ends[numbers[ends] == 0]], before[-1:]])
    line_starts = np.unique(np.concatenate([[0], before[ends], before[-1:]]))
    return EncodedTexts(
        numbers[is_word], starts, np.searchsorted(line_starts, starts), line_starts
    )


def encode_split_texts(texts: Sequence[Sequence[Sequence[str]]]) -> EncodedTexts:
    """Encode texts as word numbers, where the texts are already split into sentences of
    ASCII words.
    """
    sentences = [sentence for text in texts for sentence in text]
    words = [word.encode("ascii") for sentence in sentences for word in sentence]
    numbers = np.fromiter(map(word_numbers.__getitem__, words), np.int64, len(words))
    ends = np.cumsum([0, *map(len, sentences)])
    starts = ends[np.cumsum([0, *map(len, texts)])]
    line_starts = np.unique(ends)
    return EncodedTexts(
        numbers, starts, np.searchsorted(line_starts, starts), line_starts
    )


@lru_cache(maxsize=4)
def encode_gold_texts(texts: tuple[str, ...]) -> EncodedTexts:
    """Return the gold texts as word numbers. The word numbers of long gold texts are
    cached, because all runs of a task use the same gold.
    """
    if sum(map(len, texts)) < MIN_CACHED_CHARACTERS:
        return encode_texts(texts)
    digest = cache.compute_digest_of_texts(texts)
    arrays = cache.load_cached_arrays(CACHE_KIND, digest)
    if arrays is not None:
        words = arrays["words"].tobytes().split()
        word_numbers.add_words_and_stems(words, arrays["stems"].tobytes().split())
        here = np.fromiter(map(word_numbers.__getitem__, words), np.int64, len(words))
        return EncodedTexts(
            here[arrays["numbers"]],
            arrays["starts"],
            arrays["lines"],
            arrays["line_starts"],
        )
    gold = encode_texts(texts)
    # The cache file has its own word numbers, with their words and stems.
    used, numbers = np.unique(gold.words, return_inverse=True)
    by_number = list(word_numbers)
    words = [by_number[number] for number in used.tolist()]
    arrays = {
        "words": np.frombuffer(b" ".join(words), dtype=np.uint8),
        "stems": np.frombuffer(
            b" ".join(map(word_numbers.stem, words)), dtype=np.uint8
        ),
        "numbers": numbers.astype(np.int32),
        "starts": gold.starts,
        "lines": gold.lines,
        "line_starts": gold.line_starts,
    }
    cache.cache_arrays(CACHE_KIND, digest, arrays)
    return gold


#: A block of at most this many tokens (with padding) fits into the processor's cache.
MAX_BLOCK_TOKENS = 65_536
PADDING_TOKEN = np.iinfo(np.int64).max
#: Maximum number of bits of a word number.
MAX_WORD_NUMBER_BITS = 31
#: Tokens are not mapped to surrogates, which Python's texts cannot contain.
FIRST_SURROGATE, NUMBER_OF_SURROGATES = 0xD800, 0x800
MAX_CHARACTER_CODES = 0x110000 - NUMBER_OF_SURROGATES


@dataclass(frozen=True)
class TextPairBlock:
    """A block of pairs of reference and prediction, as rows of the array ``tokens``
    (rows, width). A row contains the tokens of the reference, the tokens of the
    prediction, and padding.

    ``pairs`` contains the index of the pair of each row. ``references`` and
    ``predictions`` are the numbers of tokens in each row. Sorting the tokens of a row
    groups equal tokens. Occurrences of a token in both texts are then counted together.
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
        return (
            np.arange(self.tokens.shape[1])
            < (self.references + self.predictions)[:, None]
        )


def iterate_text_pair_blocks(
    references: EncodedTexts, predictions: EncodedTexts, among: Numbers | None = None
) -> Iterator[TextPairBlock]:
    """Yield blocks of pairs of texts with similar length, the longest pairs first.
    Pairs of two empty texts are omitted.
    """
    words = np.concatenate([references.words, predictions.words])
    firsts, seconds = (
        references.starts[:-1],
        predictions.starts[:-1] + len(references.words),
    )
    totals = references.text_lengths + predictions.text_lengths
    chosen = np.arange(len(totals)) if among is None else among
    order = chosen[np.argsort(-totals[chosen])]
    start = 0
    while start < len(order) and (width := int(totals[order[start]])):
        pairs = order[start : start + max(1, MAX_BLOCK_TOKENS // width)]
        start += len(pairs)
        sizes = references.text_lengths[pairs]
        columns = np.arange(width)
        places = np.where(
            columns < sizes[:, None],
            firsts[pairs, None],
            (seconds[pairs] - sizes)[:, None],
        )
        yield TextPairBlock(
            pairs,
            words.take(places + columns, mode="clip"),
            sizes,
            predictions.text_lengths[pairs],
        )


def count_unigram_hits(block: TextPairBlock) -> Numbers:
    """Return the number of tokens that reference and prediction of each row have in
    common. A common token counts with its smaller number of occurrences in reference
    and prediction.
    """
    return _count_matches(
        np.where(
            block.is_token, (block.tokens << 1) | block.is_prediction, PADDING_TOKEN
        )
    )


def count_bigram_hits(block: TextPairBlock) -> Numbers:
    """Return the number of bigrams that reference and prediction of each row have in
    common.
    """
    first, second = block.tokens[:, :-1], block.tokens[:, 1:]
    # The reference's last token and the prediction's first token form no bigram.
    is_bigram = block.is_token[:, 1:] & (
        np.arange(1, block.tokens.shape[1]) != block.references[:, None]
    )
    keys = (((first << MAX_WORD_NUMBER_BITS) | second) << 1) | block.is_prediction[
        :, 1:
    ]
    return _count_matches(np.where(is_bigram, keys, PADDING_TOKEN))


def _count_matches(keys: Numbers) -> Numbers:
    """Return the number of tokens that both texts have in common, for each row of an
    array (rows, width) of keys. The last bit of a key is 1 for tokens of the
    prediction.
    """
    keys = np.sort(keys)
    starts, of_reference, of_prediction = runs(keys)
    before = np.concatenate([[0], np.cumsum(np.minimum(of_reference, of_prediction))])
    rows = np.searchsorted(starts, np.arange(len(keys) + 1) * keys.shape[1])
    hits: Numbers = np.diff(before[rows])
    return hits


def runs(keys: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the groups of equal tokens in sorted rows. Each group has a start in the
    flattened keys, and a number of tokens in reference and prediction. Padding forms a
    group without tokens of the reference.
    """
    tokens = keys >> 1
    is_new = np.ones(keys.shape, dtype=bool)
    np.not_equal(tokens[:, 1:], tokens[:, :-1], out=is_new[:, 1:])
    starts = np.flatnonzero(is_new)
    before = np.concatenate([[0], np.cumsum(keys.ravel() & 1)])
    bounds = np.append(starts, keys.size)
    of_prediction = np.diff(before[bounds])
    return starts, np.diff(bounds) - of_prediction, of_prediction


def compute_lcs_lengths(references: EncodedTexts, predictions: EncodedTexts) -> Numbers:
    """Return the length of the longest common subsequence of each pair, computed by
    rapidfuzz's bit-parallel algorithm.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import LCSseq

    return np.asarray(
        process.cpdist(
            _encode_tokens_as_strings(references),
            _encode_tokens_as_strings(predictions),
            scorer=LCSseq.similarity,
        )
    )


def _encode_tokens_as_strings(texts: EncodedTexts) -> list[str] | list[list[int]]:
    # rapidfuzz is fastest if each token is represented by one code point of a string.
    # If there are too many distinct tokens, lists of numbers replace the strings.
    bounds = texts.starts.tolist()
    if texts.words.max(initial=0) >= MAX_CHARACTER_CODES:
        numbers = texts.words.tolist()
        return [numbers[start:end] for start, end in pairwise(bounds)]
    codes = texts.words + NUMBER_OF_SURROGATES * (texts.words >= FIRST_SURROGATE)
    joined = codes.astype("<u4").tobytes().decode("utf-32-le")
    return [joined[start:end] for start, end in pairwise(bounds)]


#: Each range of sentence lengths has an integer type with one bit per token.
#: The longest sentences use Python's unbounded integers.
INTEGER_TYPE_BY_SENTENCE_LENGTH: tuple[tuple[int, int, DTypeLike], ...] = (
    (0, 16, np.uint16),
    (16, 32, np.uint32),
    (32, 64, np.uint64),
    (64, int(PADDING_TOKEN), object),
)
#: Maximum number of pairs of sentences that are compared at once.
MAX_SENTENCE_PAIRS_AT_ONCE = 16_384

BitWords = NDArray[Any]


def count_union_hits(references: EncodedTexts, predictions: EncodedTexts) -> Numbers:
    """Return the number of hits of ROUGE-Lsum for each pair of texts. Hits are the
    tokens in the union of longest common subsequences, each counted at most as often as
    in the prediction.
    """
    hits = np.zeros(len(references.starts) - 1, dtype=np.int64)
    # If both texts have one sentence, the union is the longest common subsequence.
    is_single = (np.diff(references.lines) == 1) & (np.diff(predictions.lines) == 1)
    if is_single.any():
        hits[is_single] = compute_lcs_lengths(references, predictions)[is_single]
    for block in iterate_text_pair_blocks(
        references, predictions, among=np.flatnonzero(~is_single)
    ):
        hits[block.pairs] = _BlockSentences(
            block, references, predictions
        ).count_union_hits()
    return hits


@dataclass(frozen=True)
class _SideSentences:
    """The sentences of all references, or of all predictions, in a block of pairs,
    sorted by row.
    """

    row: Numbers
    length: Numbers
    #: The column of the block in which each sentence begins.
    column: Numbers
    #: Number of sentences in each row of the block.
    counts: Numbers

    @classmethod
    def of(
        cls, texts: EncodedTexts, pairs: Numbers, offsets: Numbers | int
    ) -> "_SideSentences":
        firsts, counts = texts.lines[pairs], np.diff(texts.lines)[pairs]
        row = np.repeat(np.arange(len(pairs)), counts)
        line = np.repeat(firsts, counts) + _concatenate_ranges(counts)
        starts = texts.line_starts[line]
        column = (
            starts
            - texts.starts[pairs][row]
            + np.broadcast_to(offsets, len(pairs))[row]
        )
        return cls(row, texts.line_starts[line + 1] - starts, column, counts)


class _BlockSentences:
    """A block of pairs with its sentences, and with its distinct tokens numbered from 0
    within each row.
    """

    def __init__(
        self, block: TextPairBlock, references: EncodedTexts, predictions: EncodedTexts
    ) -> None:
        self.block = block
        self.reference = _SideSentences.of(references, block.pairs, 0)
        self.prediction = _SideSentences.of(predictions, block.pairs, block.references)
        # Cells of the block with equal tokens in a row form a group.
        # ``run`` contains the index of the group of each cell.
        # ``number`` contains the index of each cell's group within the row.
        rows, width = self.block.tokens.shape
        bits = width.bit_length()
        keys = (
            ((self.block.tokens << 1) | self.block.is_prediction) << bits
        ) | np.arange(width)
        ordered = np.sort(np.where(self.block.is_token, keys, PADDING_TOKEN), axis=1)
        is_token = ordered.ravel() != PADDING_TOKEN
        places = (ordered & ((1 << bits) - 1)) + np.arange(rows)[:, None] * width
        starts, _, self.of_prediction = runs(ordered >> bits)
        sizes = np.diff(np.append(starts, ordered.size))
        self.run_row = starts // width
        first_runs = np.searchsorted(starts, np.arange(rows) * width)
        self.sizes = np.bincount(self.run_row)
        self.run = np.zeros(rows * width, dtype=np.int64)
        self.run[places.ravel()[is_token]] = np.repeat(np.arange(len(starts)), sizes)[
            is_token
        ]
        # The groups of equal tokens of each row are numbered from 0.
        self.number = self.run - np.repeat(first_runs, width)

    def count_union_hits(self) -> Numbers:
        marked = np.concatenate(
            [
                self._find_union_positions(*width)
                for width in INTEGER_TYPE_BY_SENTENCE_LENGTH
            ]
        )
        counts = np.minimum(
            np.bincount(self.run[marked], minlength=len(self.run_row)),
            self.of_prediction,
        )
        return np.bincount(
            self.run_row, weights=counts, minlength=len(self.block.pairs)
        ).astype(np.int64)

    def _find_union_positions(self, above: int, most: int, kind: DTypeLike) -> Numbers:
        """Return the positions of the tokens in the union of longest common
        subsequences, for reference sentences with ``above`` + 1 to ``most`` tokens.
        """
        length = self.reference.length
        counts = self.prediction.counts
        chosen = np.flatnonzero(
            (length > above) & (length <= most) & (counts[self.reference.row] > 0)
        )
        if not len(chosen):
            return chosen
        row, length = self.reference.row[chosen], length[chosen]
        sentence = np.repeat(np.arange(len(chosen)), length)
        place = _concatenate_ranges(length)
        token = (row * self.block.tokens.shape[1] + self.reference.column[chosen])[
            sentence
        ] + place
        bit = _set_bits_at_positions(place, kind)
        # Entries of ``tables`` have one bit per occurrence of a token in a sentence.
        sizes = self.sizes[row]
        bases = np.asarray(np.cumsum(sizes) - sizes, dtype=np.int64)
        tables = np.zeros(int(sizes.sum()), dtype=bit.dtype)
        np.bitwise_or.at(tables, bases[sentence] + self.number[token], bit)
        whole = _set_bits_at_positions(length, kind) - 1
        unions = np.zeros(len(chosen), dtype=kind)
        # Pair each selected reference sentence with all predicted sentences of its row.
        firsts = np.cumsum(counts) - counts
        reference = np.repeat(np.arange(len(row)), counts[row])
        prediction = np.repeat(firsts[row], counts[row]) + _concatenate_ranges(
            counts[row]
        )
        begin = (
            self.prediction.row * self.block.tokens.shape[1] + self.prediction.column
        )
        for start in range(0, len(reference), MAX_SENTENCE_PAIRS_AT_ONCE):
            part = slice(start, start + MAX_SENTENCE_PAIRS_AT_ONCE)
            lengths = self.prediction.length[prediction[part]]
            order = np.argsort(-lengths)
            chosen_now, begins = reference[part][order], begin[prediction[part]][order]
            met = _trace_common_subsequences(
                tables,
                bases[chosen_now],
                begins,
                lengths[order],
                self.number,
                whole[chosen_now],
            )
            np.bitwise_or.at(unions, chosen_now, met)
        places: Numbers = token[(unions[sentence] & bit) != 0]
        return places


def _trace_common_subsequences(
    tables: BitWords,
    bases: Numbers,
    begins: Numbers,
    lengths: Numbers,
    numbers: Numbers,
    whole: BitWords,
) -> BitWords:
    """For each pair of sentences, return the reference tokens in the longest common
    subsequence, as one bit per token. ``whole`` contains integers in which the bits of
    all tokens of the reference sentence are 1.
    """
    active = np.searchsorted(-lengths, -np.arange(int(lengths[0])))
    columns, equals = [], []
    state = whole.copy()
    for step, count in enumerate(active.tolist()):
        equal = tables[bases[:count] + numbers[begins[:count] + step]]
        met = state[:count] & equal
        state[:count] = (state[:count] + met) | (state[:count] - met)
        columns.append(~state[:count] | equal)
        equals.append(equal)
    open_bits, marked = whole.copy(), np.zeros_like(whole)
    for count, column, equal in zip(
        active[::-1].tolist(), reversed(columns), reversed(equals), strict=True
    ):
        down = _fill_lower_bits(column & open_bits[:count])
        hit = (down ^ (down >> 1)) & equal
        marked[:count] |= hit
        open_bits[:count] = down ^ hit
    return marked


def _fill_lower_bits(words: BitWords) -> BitWords:
    shift = 1
    if words.dtype != object:
        # A few shifts too many cost less than a look at each one's result.
        while shift < words.dtype.itemsize * 8:
            words = words | (words >> shift)
            shift *= 2
        return words
    while (lower := words >> shift).any():
        words = words | lower
        shift *= 2
    return words


def _set_bits_at_positions(places: Numbers, kind: DTypeLike) -> BitWords:
    if kind is object:
        return np.array([1 << place for place in places.tolist()], dtype=object)
    return (np.uint64(1) << places.astype(np.uint64)).astype(kind)


def _concatenate_ranges(counts: Numbers) -> Numbers:
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
