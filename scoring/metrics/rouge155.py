"""The numbers of n-grams, skip-bigrams and common subsequences that the Perl program
ROUGE-1.5.5 counts.

The source is Lin 2004 (ROUGE, a Package for Automatic Evaluation of Summaries) and the
program, whose output the CL-SciSumm programs print. In the terms of ROUGE-1.5.5, a
*model* is a reference. In the terms of ROUGE-1.5.5, a *peer* is the scored text.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from scoring.metrics.base import compute_harmonic_mean
from scoring.metrics.porter import stem_as_rouge155
from scoring.metrics.rouge import (
    MAX_WORD_NUMBER_BITS,
    Numbers,
    compute_package_rouge,
    count_union_hits,
    encode_split_texts,
)

#: This ``size`` allows any distance between the two words of a skip-bigram (`-2 -1`).
UNLIMITED_SKIP_DISTANCE = -1
#: Option `-f A` sums over references, and `-f B` uses the one with the best recall.
SUM_OVER_REFERENCES, BEST_REFERENCE = "A", "B"


class RougeMeasure(NamedTuple):
    """A kind of counted unit. The attribute ``kind`` names the counted units, which are
    n-grams (`n`), common subsequences (`l`) or skip-bigrams (`s`).

    ``size`` is the n of n-grams, or the maximum number of words between the two words
    of a skip-bigram (4 in ROUGE-S4, ``UNLIMITED_SKIP_DISTANCE`` in ROUGE-S*). If ``with_words`` is
    True, single words except the last word of the text are counted in addition to
    skip-bigrams (option `-u`, ROUGE-SU4).
    """

    kind: str
    size: int = 0
    with_words: bool = False


class RougeCounts(NamedTuple):
    """The numbers of n-grams or other units in the references, in the scored text, and
    in both.
    """

    model: int
    peer: int
    hits: int

    @property
    def recall(self) -> float:
        return self.hits / self.model if self.model else 0.0

    @property
    def precision(self) -> float:
        return self.hits / self.peer if self.peer else 0.0

    @property
    def f1(self) -> float:
        return float(compute_harmonic_mean(self.precision, self.recall))

    def round_as_printed(self) -> tuple[float, float, float]:
        """Return recall, precision and F1 as ROUGE-1.5.5 prints them, to 5 decimals,
        with F1 from the two rounded values.
        """
        recall, precision = float(f"{self.recall:.5f}"), float(f"{self.precision:.5f}")
        return (
            recall,
            precision,
            float(f"{float(compute_harmonic_mean(precision, recall)):.5f}"),
        )


ZERO_COUNTS = RougeCounts(0, 0, 0)


def count_as_rouge155(
    models: Sequence[Sequence[str | bytes]],
    peer: Sequence[str | bytes],
    measures: Sequence[RougeMeasure],
    *,
    reading: "WordSplitting",
    references: str = SUM_OVER_REFERENCES,
) -> dict[RougeMeasure, RougeCounts]:
    """Return the counts of each measure for one scored text (peer) and its references
    (models).

    Each text is a sequence of sentences. With ``ALL``, the counts of all models are
    summed, and the peer's counts are multiplied by the number of models. With ``BEST_REFERENCE``,
    only the first model with the highest recall counts.
    """
    of_peer = reading.sentences(peer)
    by_model: list[dict[RougeMeasure, RougeCounts]] = []
    for model in models:
        if reading.is_by_package:
            of_model = reading.sentences(model)
            by_model.append(
                {
                    measure: count_as_rouge_score(of_model, of_peer, measure)
                    for measure in measures
                }
            )
            continue
        encoded = (
            encode_split_texts([reading.sentences(model)]),
            encode_split_texts([of_peer]),
        )
        wanted, peer_words = _renumber_jointly(encoded[0].words, encoded[1].words)
        by_model.append({})
        for measure in measures:
            if measure.kind == "l":
                count = RougeCounts(
                    len(wanted), len(peer_words), int(count_union_hits(*encoded)[0])
                )
            elif measure.kind == "n":
                count = _count_clipped_hits(
                    *_number_ngrams(wanted, peer_words, measure.size)
                )
            else:
                count = _count_clipped_hits(
                    _number_skip_bigrams(wanted, measure),
                    _number_skip_bigrams(peer_words, measure),
                )
            by_model[-1][measure] = count
    combined = {}
    for measure in measures:
        counts = [of_model[measure] for of_model in by_model]
        if references == SUM_OVER_REFERENCES and counts:
            combined[measure] = RougeCounts(
                *(sum(part) for part in zip(*counts, strict=True))
            )
        else:
            combined[measure] = max(
                counts, key=lambda count: count.recall, default=ZERO_COUNTS
            )
    return combined


def count_as_rouge_score(
    model: Sequence[Sequence[str]], peer: Sequence[Sequence[str]], measure: RougeMeasure
) -> RougeCounts:
    """Return the counts that the package rouge-score computes for the words of model
    and peer. Skip-bigrams are not supported.
    """
    kind = str(measure.size) if measure.kind == "n" else "lsum"
    texts = ["\n".join(map(" ".join, text)) for text in (model, peer)]
    scores = compute_package_rouge(
        texts[:1], texts[1:], [kind], is_stemmed=False, tokenizer=WHITESPACE_TOKENIZER
    )
    fewer = max(measure.size - 1, 0)
    wanted, answered = (max(sum(map(len, text)) - fewer, 0) for text in (model, peer))
    return RougeCounts(wanted, answered, round(scores[kind][0, 1] * wanted))


def _renumber_jointly(wanted: Numbers, peer: Numbers) -> tuple[Numbers, Numbers]:
    numbers = np.unique(np.concatenate([wanted, peer]), return_inverse=True)[1]
    return numbers[: len(wanted)], numbers[len(wanted) :]


def _number_ngrams(
    wanted: Numbers, peer: Numbers, size: int
) -> tuple[Numbers, Numbers]:
    grams = wanted, peer
    for end in range(1, size):
        longer = zip(grams, (wanted, peer), strict=True)
        grams = _renumber_jointly(
            *(
                (numbers[: len(words) - end] << MAX_WORD_NUMBER_BITS) | words[end:]
                for numbers, words in longer
            )
        )
    return grams


def _number_skip_bigrams(words: Numbers, measure: RougeMeasure) -> Numbers:
    furthest = len(words) - 1 if measure.size < 0 else measure.size + 1
    pairs = [
        ((words[:-far] + 1) << MAX_WORD_NUMBER_BITS) | words[far:]
        for far in range(1, furthest + 1)
    ]
    return np.concatenate(
        [words[:0], *([words[:-1]] if measure.with_words else []), *pairs]
    )


def _count_clipped_hits(wanted: Numbers, peer: Numbers) -> RougeCounts:
    units, counts = np.unique(wanted, return_counts=True)
    other_units, other_counts = np.unique(peer, return_counts=True)
    _, places, other_places = np.intersect1d(
        units, other_units, assume_unique=True, return_indices=True
    )
    return RougeCounts(
        len(wanted),
        len(peer),
        int(np.minimum(counts[places], other_counts[other_places]).sum()),
    )


_NON_WORD_PATTERN = re.compile(rb"[^A-Za-z0-9-]")
#: This tokenizer for rouge-score splits texts at whitespace, one sentence per line.
WHITESPACE_TOKENIZER = SimpleNamespace(tokenize=str.split)
#: Words with at most this many letters are never stemmed.
MAX_UNSTEMMED_LETTERS = 3


@dataclass(frozen=True, kw_only=True)
class WordSplitting:
    """Options of ROUGE-1.5.5 for splitting texts into words.

    ``is_stemmed`` is `-m`. The words in ``stop_words`` are removed before stemming
    (option `-s`). ``exceptions`` maps irregular forms to their base forms, which are
    not stemmed (the shared tasks had no exceptions). The options ``most_words`` (`-l`)
    and ``most_bytes`` (`-b`) limit the length of texts. Texts are truncated before they
    are split into words, so the last word may be incomplete. If ``is_by_package`` is
    True, the package rouge-score counts the words.
    """

    is_stemmed: bool = True
    stop_words: frozenset[str] = frozenset()
    exceptions: Mapping[str, str] = field(default_factory=dict)
    most_words: int | None = None
    most_bytes: int | None = None
    is_by_package: bool = False

    @cached_property
    def stop_words_digest(self) -> str:
        return hashlib.sha256("\n".join(sorted(self.stop_words)).encode()).hexdigest()[
            :12
        ]

    def sentences(self, lines: Sequence[str | bytes]) -> list[list[str]]:
        """Return the words of each line, truncated to the maximum number of
        whitespace-separated words or of bytes.
        """
        encoded = [
            line if isinstance(line, bytes) else line.encode("utf-8", "replace")
            for line in lines
        ]
        most = self.most_words if self.most_words is not None else self.most_bytes
        if most is None:
            return [self._split_line(line) for line in encoded]
        within: list[bytes] = []
        for line in encoded:
            if self.most_words is not None:
                words = line.split()
                within.append(b" ".join(words[:most]))
                most -= len(words)
            else:
                within.append(line[:most])
                most -= len(line)
            if most <= 0:
                break
        return [self._split_line(line) for line in within]

    def _split_line(self, line: bytes) -> list[str]:
        spaced = _NON_WORD_PATTERN.sub(b" ", line.lower().replace(b"-", b" - ")).decode(
            "ascii"
        )
        words = [
            word
            for word in spaced.split()
            if word not in self.stop_words and word[0] != "-"
        ]
        return [self._stem_word(word) for word in words] if self.is_stemmed else words

    def _stem_word(self, word: str) -> str:
        return (
            word
            if len(word) <= MAX_UNSTEMMED_LETTERS
            else self.exceptions.get(word) or stem_as_rouge155(word)
        )


def read_stop_words(path: Path) -> frozenset[str]:
    """Read a stop word file with one word per line."""
    return frozenset(path.read_text(encoding="utf-8", errors="replace").split())
