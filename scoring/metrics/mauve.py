"""MAUVE: how far all texts of a run, taken together, are like those of the gold.

Pillutla et al. 2021, MAUVE: Measuring the Gap Between Neural Text and Human Text using Divergence Frontiers
(NeurIPS). Equal to the package mauve-text 0.4.0 with faiss 1.15 from the same features.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats, Metric
from scoring.metrics.bertscore_model import folder_of, missing, weights_digest
from scoring.metrics.mauve_clusters import clusters
from scoring.metrics.mauve_features import features
from scoring.metrics.requirements import Requirement, looked_for
from scoring.metrics.texts import Text, texts_of
from tasks.types.unavailable import Unavailable

OPTION = "mauve_model"
EQUAL_TO = "mauve-text-0.4.0"
#: The constant of the paper that the divergences are multiplied by, and the mixtures that the curve has.
SCALING, MIXTURES = 5, np.linspace(1e-6, 1 - 1e-6, 25)
#: The cluster of a text that is empty; no text of the gold is in it.
EMPTY = -1


class Mauve(Metric):
    """The area under the curve of divergences between the clusters of the gold's texts and those of a run's.

    The feature of a text is the last layer's of its last token. Clusters are made of both sides' features
    together, so that those of two runs have nothing to do with one another: a row, which names the clusters
    of both texts, says nothing by itself. There is no interval and no value of a class. An empty text is in
    a cluster of its own; where none is, the value is the package's. Undefined for fewer than two texts of
    the gold.
    """

    statistic = "mauve"
    scale = 100
    citation = "Pillutla et al. 2021, MAUVE: Measuring the Gap Between Neural Text and Human Text, NeurIPS"
    packages = ("torch", "transformers")
    is_decomposable = False
    is_exchangeable = False

    def __init__(self, name: str, rules: str, *, options: Mapping[str, str]) -> None:
        super().__init__(name, rules)
        self.model = options[OPTION]

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        return {"model": f"sha256-{weights_digest(self._folder())[:12]}", "as": EQUAL_TO}

    def requirements(self) -> Sequence[Requirement]:
        return (looked_for("MAUVE model", self.model, self._found),)

    def _found(self) -> tuple[str, str]:
        folder = self._folder()
        return str(folder), f"sha256-{weights_digest(folder)[:12]}"

    def _folder(self) -> Path:
        folder = folder_of(self.model)
        if folder is None or missing(self.model):
            raise Unavailable(f"{OPTION}: {missing(self.model)}")
        return folder

    def has_enough_units(self, rows: Floats) -> bool:
        return False

    def instances(self, stats: Floats, has_gold: NDArray[np.bool_]) -> int:
        return int(stats[:, -1].sum())

    def instance_stats(self, gold: Sequence[Text | None], answers: Sequence[Text | None]) -> Floats:
        """The cluster of the gold's text, that of the answer, and whether the row counts."""
        counts = np.array([text is not None for text in gold], dtype=np.float64)
        stats = np.column_stack([np.full((len(gold), 2), EMPTY, dtype=np.float64), counts])
        sides = [features(self._folder(), texts) for texts in (texts_of(gold), texts_of(answers))]
        rows = [[row for row in np.flatnonzero(counts).tolist() if row in side] for side in sides]
        vectors = [np.array([side[row] for row in own]) for side, own in zip(sides, rows, strict=True)]
        found = clusters(*vectors) if all(map(len, vectors)) else (0, 0)
        for column, labels in enumerate(found):
            stats[rows[column], column] = labels
        return stats

    def aggregate(self, sums: Floats) -> Floats:
        """A sum of clusters means nothing."""
        return np.full(sums.shape[:-1], np.nan)

    def total(self, rows: Floats) -> float:
        counted = rows[rows[:, -1] > 0, :2].astype(np.intp) - EMPTY
        if len(counted) < 2:
            return math.nan
        shares = [np.bincount(own, minlength=counted.max() + 1) / len(counted) for own in counted.T]
        return self.scale * area(*shares)


def area(first: Floats, second: Floats) -> float:
    """Under the curve of two distributions over the same clusters, between 0 and 1.

    The curve runs from (1, 0) to (0, 1) as the mixtures are numbered. The package sorts its points once more,
    which gives the same but where shares are exactly equal: 1, there as little as 0.75.
    """
    mixed = MIXTURES[:, None] * first + (1 - MIXTURES[:, None]) * second
    across = np.exp(-SCALING * np.array([0.0, *_divergences(second, mixed), math.inf]))
    up = np.exp(-SCALING * np.array([math.inf, *_divergences(first, mixed), 0.0]))
    return float(np.trapezoid(across, up))


def _divergences(shares: Floats, mixed: Floats) -> Floats:
    """Of one distribution from each mixture, which holds all that it does."""
    held = shares > 0
    return np.asarray((shares[held] * np.log(shares[held] / mixed[:, held])).sum(axis=1))
