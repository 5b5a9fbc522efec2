"""Texts as numbers, by the tokeniser of the package rouge-score: lower-case runs of ASCII letters and digits.

A word is looked up once for each time it occurs and stemmed once in a process. A line is a sentence to
ROUGE-Lsum, so lines are kept too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from scoring.metrics import cache
from scoring.metrics.porter import rouge_score_stem

Numbers = NDArray[np.int64]

#: Two bytes that no ASCII text holds stand where a text and a line end.
TEXT_END, LINE_END = b"\x80", b"\x81"
_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789" + TEXT_END + LINE_END)
#: Everything else separates.
_TABLE = bytes(byte if byte in _KEPT else ord(" ") for byte in range(256))
#: Words of so many letters and fewer are never stemmed.
SHORT = 3
#: Of fewer characters in all, reading a file of kept gold would take as long as reading the texts.
WORTH_KEEPING = 500_000
#: Raised when words are told apart or stemmed otherwise.
KIND = "rouge-1"


class Vocabulary(dict[bytes, int]):
    """A number for each word, in the order of first appearance; 0 and 1 are the two ends."""

    def __init__(self) -> None:
        super().__init__()
        self.forget()

    def forget(self) -> None:
        """Begin anew; numbers that were given out before mean nothing any more."""
        self.clear()
        self.update({TEXT_END: 0, LINE_END: 1})
        self._stem_numbers: dict[bytes, int] = {}
        self._stem_of = {TEXT_END: TEXT_END, LINE_END: LINE_END}
        self._stems: Numbers = np.zeros(0, dtype=np.int64)

    def __missing__(self, word: bytes) -> int:
        number = self[word] = len(self)
        return number

    def learn(self, words: Iterable[bytes], stems: Iterable[bytes]) -> None:
        """Take over what an earlier process found out."""
        self._stem_of.update(zip(words, stems, strict=True))

    def stem(self, word: bytes) -> bytes:
        found = self._stem_of.get(word)
        if found is not None:
            return found
        return rouge_score_stem(word.decode()).encode() if len(word) > SHORT else word

    def stems(self) -> Numbers:
        """For each word's number the number of its stem, shared by words of one stem."""
        known = self._stem_numbers
        unknown = islice(self, len(self._stems), None)
        new = [known.setdefault(self.stem(word), len(known)) for word in unknown]
        self._stems = np.concatenate([self._stems, np.array(new, dtype=np.int64)])
        return self._stems


vocabulary = Vocabulary()


@dataclass(frozen=True, eq=False)
class Encoded:
    """Texts one after the other: text i is ``words[starts[i]:starts[i + 1]]``.

    Its lines that hold a word are numbers ``lines[i]`` to ``lines[i + 1]``; line j is
    ``words[line_starts[j]:line_starts[j + 1]]``.
    """

    words: Numbers
    starts: Numbers
    lines: Numbers
    line_starts: Numbers

    @property
    def lengths(self) -> Numbers:
        return np.diff(self.starts)

    def stemmed(self) -> Encoded:
        return Encoded(vocabulary.stems()[self.words], self.starts, self.lines, self.line_starts)


def encoded(texts: Sequence[str]) -> Encoded:
    """The texts as numbers. The same process gives the same word the same number."""
    if not texts:
        none = np.zeros(1, dtype=np.int64)
        return Encoded(none[:0], none, none, none)
    # What is not ASCII even in lower case separates, as everything does that is no letter or digit.
    parts = [text.lower().encode("ascii", "replace") for text in texts]
    joined = (b" " + TEXT_END + b" ").join(parts).replace(b"\n", b" " + LINE_END + b" ")
    found = joined.translate(_TABLE).split()
    numbers = np.fromiter(map(vocabulary.__getitem__, found), np.int64, len(found))
    is_word = numbers > 1
    before = np.concatenate([[0], np.cumsum(is_word)])
    ends = np.flatnonzero(~is_word)
    starts = np.concatenate([[0], before[ends[numbers[ends] == 0]], before[-1:]])
    line_starts = np.unique(np.concatenate([[0], before[ends], before[-1:]]))
    return Encoded(numbers[is_word], starts, np.searchsorted(line_starts, starts), line_starts)


def encoded_words(texts: Sequence[Sequence[Sequence[str]]]) -> Encoded:
    """Texts that are sentences of words already, by whatever tokeniser; the words are ASCII."""
    sentences = [sentence for text in texts for sentence in text]
    words = [word.encode("ascii") for sentence in sentences for word in sentence]
    numbers = np.fromiter(map(vocabulary.__getitem__, words), np.int64, len(words))
    ends = np.cumsum([0, *map(len, sentences)])
    starts = ends[np.cumsum([0, *map(len, texts)])]
    line_starts = np.unique(ends)
    return Encoded(numbers, starts, np.searchsorted(line_starts, starts), line_starts)


def forget() -> None:
    """Begin anew, as a new process does."""
    vocabulary.forget()


@lru_cache(maxsize=4)
def encoded_gold(texts: tuple[str, ...]) -> Encoded:
    """The same as ``encoded``, kept: every run of a task is scored against the same gold."""
    if sum(map(len, texts)) < WORTH_KEEPING:
        return encoded(texts)
    digest = cache.digest_of(texts)
    arrays = cache.load(KIND, digest)
    if arrays is not None:
        words = arrays["words"].tobytes().split()
        vocabulary.learn(words, arrays["stems"].tobytes().split())
        here = np.fromiter(map(vocabulary.__getitem__, words), np.int64, len(words))
        return Encoded(here[arrays["numbers"]], arrays["starts"], arrays["lines"], arrays["line_starts"])
    gold = encoded(texts)
    # Numbers of its own, the words that they stand for, and these words' stems.
    used, numbers = np.unique(gold.words, return_inverse=True)
    by_number = list(vocabulary)
    words = [by_number[number] for number in used.tolist()]
    arrays = {
        "words": np.frombuffer(b" ".join(words), dtype=np.uint8),
        "stems": np.frombuffer(b" ".join(map(vocabulary.stem, words)), dtype=np.uint8),
        "numbers": numbers.astype(np.int32),
        "starts": gold.starts,
        "lines": gold.lines,
        "line_starts": gold.line_starts,
    }
    cache.keep(KIND, digest, arrays)
    return gold
