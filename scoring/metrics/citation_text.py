"""What a citation text is beside its likeness to the gold: long, and about the paper that it stands in.

Funkquist et al. 2023, CiteBench: appendix A.4 for lengths, table 11 for key phrases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, MeanMetric, ratio
from scoring.metrics.texts import Text, texts_of
from tasks.types.citation_text.self_reference import refers_to_itself

CITEBENCH = (
    "Funkquist, Kuznetsov, Hou and Gurevych 2023, CiteBench: A Benchmark for Scientific Citation Text "
    "Generation, EMNLP"
)


class Length(MeanMetric):
    """The mean number of words between white space; an instance without a prediction has an empty one."""

    statistic = "length"
    columns = ("words", "gold_words")
    higher_is_better = None
    scale = 0
    citation = CITEBENCH

    def instance_stats(self, gold: Sequence[Text | None], answers: Sequence[Text | None]) -> Floats:
        """(n, 3): the words of the answer, those of the gold, and whether the row counts."""
        counts = np.array([text is not None for text in gold], dtype=np.float64)
        words, wanted = (
            np.array([len(text.split()) for text in texts_of(side)], dtype=np.float64)
            for side in (answers, gold)
        )
        return np.column_stack([words * counts, wanted, counts])


class LengthRatio(Length):
    """All words of the predictions over all words of the gold; 1 is as long as the gold.

    Undefined where the gold has no words.
    """

    scale = 1

    @property
    def value_range(self) -> tuple[float, float]:
        return (0.0, math.inf)

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {"average": "sums"}

    def aggregate(self, sums: Floats) -> Floats:
        words, wanted = sums[..., 0], sums[..., 1]
        return np.asarray(np.where(wanted > 0, ratio(words, wanted), np.nan))


class SelfReference(MeanMetric):
    """The share of texts, in percent, that speak of the paper that they stand in.

    That is, that have one of five phrases in lower case: our work, in this paper, we present, we introduce,
    the main objective of our work.
    """

    statistic = "self_reference"
    columns = ("speaks_of_itself",)
    higher_is_better = None
    scale = 100
    citation = CITEBENCH

    def instance_stats(self, gold: Sequence[Text | None], answers: Sequence[Text | None]) -> Floats:
        counts = np.array([text is not None for text in gold], dtype=np.float64)
        speaks: NDArray[np.bool_] = np.array(
            [refers_to_itself(text) for text in texts_of(answers)], dtype=bool
        )
        return np.column_stack([speaks * counts, counts])
