"""Krippendorff's alpha: agreement beyond chance of any number of raters, with any ratings left out."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Level = Literal["nominal", "ordinal", "interval"]


def alpha(items: Sequence[Sequence[Any]], level: Level) -> float:
    """Krippendorff 2004, Content Analysis, chapter 11: 1 less observed over expected disagreement.

    Each item has its ratings, from whomever; items with fewer than two are left out. Nominal ratings are
    the same or not; ordinal ones are as far apart as ratings lie between them; of interval ones the
    difference counts, squared. NaN where nothing is left or every rating is the same.
    """
    rated = [item for item in items if len(item) > 1]
    values: list[Hashable] = sorted({rating for item in rated for rating in item})
    if len(values) < 2:
        return math.nan
    counts = np.array(
        [[item.count(value) for value in values] for item in map(list, rated)], dtype=np.float64
    )
    sizes = counts.sum(axis=1)
    # How often two ratings of one item, by different raters, are these two.
    pairs = (counts / (sizes - 1)[:, None]).T @ counts - np.diag((counts / (sizes - 1)[:, None]).sum(axis=0))
    totals = counts.sum(axis=0)
    distances = _distances(values, totals, level)
    chance = (np.outer(totals, totals) - np.diag(totals)) / (totals.sum() - 1)
    return float(1 - (pairs * distances).sum() / (chance * distances).sum())


def _distances(values: Sequence[Any], totals: Floats, level: Level) -> Floats:
    if level == "nominal":
        return 1 - np.eye(len(values))
    scale = np.cumsum(totals) - totals / 2 if level == "ordinal" else np.array(values, dtype=np.float64)
    return np.subtract.outer(scale, scale) ** 2
