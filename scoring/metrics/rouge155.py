"""What the Perl program ROUGE-1.5.5 counts: n-grams, skip-bigrams and longest common subsequences, against
several references.

Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries, and the program itself, whose output
is what the CL-SciSumm programs print. A *model* is a reference, a *peer* what is scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scoring.metrics.f1 import harmonic_mean
from scoring.metrics.rouge155_text import Reading
from scoring.metrics.rouge_tokens import Numbers, encoded_words
from scoring.metrics.rouge_union import union_hits

#: No limit to the distance of a skip-bigram's words (`-2 -1`).
UNLIMITED = -1
#: More than a text has words.
_PAIR = 1 << 31
#: What `-f` says: all references count together, or the one with the best recall alone.
ALL, BEST = "A", "B"


class Measure(NamedTuple):
    """What is counted.

    ``kind`` is `n`, `l` or `s`; ``size`` the n of n-grams, or how many words may lie between those of a
    skip-bigram; ``with_words`` adds single words to skip-bigrams (`-u`), all but the text's last.
    """

    kind: str
    size: int = 0
    with_words: bool = False


ROUGE_L = Measure("l")


def rouge_n(n: int) -> Measure:
    return Measure("n", n)


def rouge_s(gap: int = UNLIMITED) -> Measure:
    """ROUGE-S4 for a gap of 4; ROUGE-S* without limit."""
    return Measure("s", gap)


def rouge_su(gap: int = UNLIMITED) -> Measure:
    """ROUGE-SU4 for a gap of 4; ROUGE-SU* without limit."""
    return Measure("s", gap, with_words=True)


class Counts(NamedTuple):
    """How many units models and peer have, and how many of them are matched."""

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
        return float(harmonic_mean(self.precision, self.recall))

    def as_printed(self) -> tuple[float, float, float]:
        """Recall, precision and F1 as the program prints them: to 5 decimals, and F1 from the rounded two."""
        recall, precision = float(f"{self.recall:.5f}"), float(f"{self.precision:.5f}")
        return recall, precision, float(f"{float(harmonic_mean(precision, recall)):.5f}")


NOTHING = Counts(0, 0, 0)


def rouge155(
    models: Sequence[Sequence[str | bytes]],
    peer: Sequence[str | bytes],
    measures: Sequence[Measure],
    *,
    reading: Reading,
    references: str = ALL,
) -> dict[Measure, Counts]:
    """Each measure's counts of one peer against its models; a text is its sentences, in their order.

    With ``ALL`` the counts of the models are added up, those of the peer as often as there are models.
    With ``BEST`` they are those of the model that gives the highest recall, the first of several.
    """
    given = reading.sentences(peer)
    by_model = [_against(reading.sentences(model), given, measures) for model in models]
    combined = _added if references == ALL else _best
    return {measure: combined([counts[measure] for counts in by_model]) for measure in measures}


def _against(
    model: Sequence[Sequence[str]], peer: Sequence[Sequence[str]], measures: Sequence[Measure]
) -> dict[Measure, Counts]:
    encoded = encoded_words([model]), encoded_words([peer])
    wanted, given = _renumbered(encoded[0].words, encoded[1].words)
    found = {}
    for measure in measures:
        if measure.kind == "l":
            found[measure] = Counts(len(wanted), len(given), int(union_hits(*encoded)[0]))
        elif measure.kind == "n":
            found[measure] = _clipped(*_ngrams(wanted, given, measure.size))
        else:
            found[measure] = _clipped(_skip_bigrams(wanted, measure), _skip_bigrams(given, measure))
    return found


def _renumbered(wanted: Numbers, given: Numbers) -> tuple[Numbers, Numbers]:
    """Small numbers for what either side has, the same for the same."""
    numbers = np.unique(np.concatenate([wanted, given]), return_inverse=True)[1]
    return numbers[: len(wanted)], numbers[len(wanted) :]


def _ngrams(wanted: Numbers, given: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """A number for each n-gram of either side: that of its first words, and its last one."""
    own = wanted, given
    for end in range(1, size):
        own = _renumbered(
            *(
                _PAIR * grams[: len(words) - end] + words[end:]
                for grams, words in zip(own, (wanted, given), strict=True)
            )
        )
    return own


def _skip_bigrams(words: Numbers, measure: Measure) -> Numbers:
    """A number for each skip-bigram; single words keep their own, which are smaller."""
    furthest = len(words) - 1 if measure.size < 0 else min(measure.size + 1, len(words) - 1)
    pairs = [_PAIR * (words[:-distance] + 1) + words[distance:] for distance in range(1, furthest + 1)]
    return np.concatenate([words[:0], *([words[:-1]] if measure.with_words else []), *pairs])


def _clipped(wanted: Numbers, given: Numbers) -> Counts:
    """Each unit is matched as often as the side that has it less has it."""
    units, counts = np.unique(wanted, return_counts=True)
    other_units, other_counts = np.unique(given, return_counts=True)
    _, places, other_places = np.intersect1d(units, other_units, assume_unique=True, return_indices=True)
    hits = np.minimum(counts[places], other_counts[other_places]).sum()
    return Counts(len(wanted), len(given), int(hits))


def _added(counts: Sequence[Counts]) -> Counts:
    return Counts(*(sum(part) for part in zip(*counts, strict=True))) if counts else NOTHING


def _best(counts: Sequence[Counts]) -> Counts:
    return max(counts, key=lambda count: count.recall, default=NOTHING)
