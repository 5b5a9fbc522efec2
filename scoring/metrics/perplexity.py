"""How surprised a run is by what was cited, from the probabilities of candidates that it declares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, Metric
from tasks.types.ranking.declared import DeclaredLists
from tasks.types.ranking.lists import Lists


class Perplexity(Metric):
    """exp of the mean over instances of -ln p, p the probability of the gold candidate; of several, the mean
    of their -ln p.

    What the probabilities of an instance leave of 1 is shared evenly by the candidates that have none, so
    that an instance without any, or without an answer, has 1 / candidates. It is 1 at best, the number of
    candidates for a run that always gives all the same, and infinite where a gold candidate has 0. A run
    that declares no probabilities has no value (NaN).
    """

    higher_is_better = False
    statistic = "perplexity"
    citation = "Jelinek, Mercer, Bahl and Baker 1977, Perplexity, JASA 62"

    @property
    def value_range(self) -> tuple[float, float]:
        return (1.0, math.inf)

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {"average": "instances", "base": "e", "rest": "even"}

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        """(n, 3): -ln p, whether that is infinite (and then 0), and whether the instance counts."""
        assert isinstance(gold, Lists)
        stats = np.zeros((len(gold), 3))
        if not isinstance(answers, DeclaredLists):
            return stats
        logs = answers.declared.log_probabilities(gold, answers.candidates)
        rows, is_possible = np.repeat(np.arange(len(gold)), gold.lengths), np.isfinite(logs)
        sizes = np.maximum(gold.lengths, 1)
        stats[:, 0] = np.bincount(rows[is_possible], -logs[is_possible], minlength=len(gold)) / sizes
        stats[:, 1] = np.bincount(rows[~is_possible], minlength=len(gold)) > 0
        stats[:, 2] = gold.present & (gold.lengths > 0)
        stats[stats[:, 1] > 0, 0] = 0
        return stats

    def instances(self, stats: Floats, has_gold: NDArray[np.bool_]) -> int:
        return int(stats[:, -1].sum())

    def aggregate(self, sums: Floats) -> Floats:
        count = sums[..., 2]
        means = np.divide(sums[..., 0], count, out=np.full(count.shape, np.nan), where=count > 0)
        with np.errstate(over="ignore"):
            return np.where(sums[..., 1] > 0, np.inf, np.exp(means))
