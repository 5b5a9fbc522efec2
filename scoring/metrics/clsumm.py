"""CL-Summ tasks 1A and 1B: counts of reference sentences and of facets.

Jaidka et al. 2016, Overview of the CL-SciSumm 2016 Shared Task (BIRNDL); the counting is that of the
official programs, which under the corrected rules meets other pairs but counts them alike.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scoring.metrics.base import CountMetric, Floats, Metric, f1_of_counts, ratio
from tasks.types.clsumm.citances import FACETS
from tasks.types.clsumm.pairs import CitedSpan
from tasks.types.clsumm_1b import FacetAnswer

CITATION = "Jaidka et al. 2016, Overview of the CL-SciSumm 2016 Shared Task, BIRNDL at JCDL"
PILOT = "Jaidka et al. 2014, The Computational Linguistics Summarization Pilot Task, TAC"


class GoldFileCounts(CountMetric):
    """Counts whose macro average is over gold files, of which a topic has one for each annotator.

    Topics are what is resampled, whatever the number of their annotators.
    """

    citation = CITATION

    #: The matrix of the micro average; that of the macro average is kept by gold file.
    pooled_statistic = ""

    def __init__(self, name: str, rules: str, *, part: str, average: str) -> None:
        super().__init__(name, rules, part=part, average=average)
        pooled = self.pooled_statistic
        self.statistic = f"{pooled}_by_file" if average == "macro" else pooled

    @abstractmethod
    def counts(self, gold: Any, answer: Any) -> tuple[int, int, int]:
        """True positives, false positives and false negatives of one pair."""

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        pairs = list(zip(gold, answers, strict=True))
        rows = np.array([self.counts(*pair) for pair in pairs], float).reshape(-1, 3)
        return in_file_blocks(rows, gold, answers) if self.average == "macro" else rows

    def unit_stats(self, sums: Floats) -> Floats:
        return over_files(sums, width=3, value=super().unit_stats)


class Overlap(GoldFileCounts):
    """Sentences of the gold that were found.

    A gold sentence is found or missed once each time that it is listed; a submitted one that is not among
    the citance's gold is wrong each time that it is given, and one given twice rightly costs nothing.
    """

    pooled_statistic = "overlap"

    def counts(self, gold: CitedSpan | None, answer: CitedSpan | None) -> tuple[int, int, int]:
        wanted = gold.sentences if gold else ()
        listed = answer.sentences if answer else ()
        hits = sum(sid in listed for sid in wanted)
        return hits, sum(sid not in wanted for sid in listed), len(wanted) - hits


class Facet(GoldFileCounts):
    """Facets of the gold that were named, given that task 1A found one of the citance's sentences.

    A facet given for an unknown citance is wrong; one given where nothing was found counts neither way.
    Unconditional, what task 1A found does not matter.
    """

    def __init__(
        self, name: str, rules: str, *, part: str, average: str, is_conditional: bool = True
    ) -> None:
        self.pooled_statistic = "facet" if is_conditional else "facet_unconditional"
        super().__init__(name, rules, part=part, average=average)
        self.is_conditional = is_conditional
        self.fixed = {**self.fixed, "given": "1a" if is_conditional else "nothing"}

    def counts(self, gold: str | None, answer: FacetAnswer) -> tuple[int, int, int]:
        return facet_counts(gold, answer, is_conditional=self.is_conditional)


def facet_counts(gold: str | None, answer: FacetAnswer, *, is_conditional: bool) -> tuple[int, int, int]:
    counts = answer.is_found or not is_conditional
    if gold is None:
        return (0, int(counts or answer.is_found is None), 0)
    named = int(counts and answer.facet == gold)
    return (named, 0, 1 - named)


class WeightedFacet(Metric):
    """The mean of the facets' F1, each weighted by how often the gold has it, as in the pilot's table 4.

    Facets that the gold does not have weigh nothing; 0 where it has none.
    """

    citation = PILOT

    def __init__(self, name: str, rules: str, *, is_conditional: bool = True) -> None:
        super().__init__(name, rules)
        self.is_conditional = is_conditional
        self.statistic = "facet_by_facet" if is_conditional else "facet_by_facet_unconditional"
        self.fixed = {"average": "weighted", "given": "1a" if is_conditional else "nothing"}

    def instance_stats(self, gold: Sequence[str | None], answers: Sequence[FacetAnswer]) -> Floats:
        """Three columns for each facet; a facet that is none of them has the last three."""
        blocks = np.zeros((len(gold), len(FACETS) + 1, 3))
        for row, (wanted, answer) in enumerate(zip(gold, answers, strict=True)):
            facet = wanted or answer.facet or ""
            block = FACETS.index(facet) if facet in FACETS else len(FACETS)
            blocks[row, block] = facet_counts(wanted, answer, is_conditional=self.is_conditional)
        return blocks.reshape(len(gold), -1)

    def aggregate(self, sums: Floats) -> Floats:
        blocks = sums.reshape(*sums.shape[:-1], -1, 3)
        hits, wrong, missed = blocks[..., 0], blocks[..., 1], blocks[..., 2]
        support = hits + missed
        f1 = f1_of_counts(hits, hits + wrong, support)
        return ratio((support * f1).sum(axis=-1), support.sum(axis=-1))


def in_file_blocks(rows: Floats, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
    """(n, files * (k + 1)) from (n, k): gold or answer of each row says by ``file`` which block it is in."""
    pairs = zip(gold, answers, strict=True)
    numbers = [next(side.file for side in pair if hasattr(side, "file")) for pair in pairs]
    files = np.array(numbers, dtype=np.intp)
    count, width = rows.shape
    blocks = np.zeros((count, files.max(initial=0) + 1, width + 1))
    places = np.arange(count)
    blocks[places, files, :width] = rows
    blocks[places, files, width] = 1
    return blocks.reshape(count, -1)


def over_files(sums: Floats, *, width: int, value: Callable[[Floats], Floats]) -> Floats:
    """The sum over each unit's files of what ``value`` makes of a file's (…, width) sums."""
    blocks = sums.reshape(len(sums), -1, width + 1)
    values = value(blocks[..., :width].reshape(-1, width)).reshape(len(sums), blocks.shape[1], -1)
    return np.asarray((values * (blocks[..., width:] > 0)).sum(axis=1))
