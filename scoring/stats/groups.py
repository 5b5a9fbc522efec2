"""Which rows of a board differ: rank intervals, and groups of rows that do not differ from their first.

Plain functions over values and p-values. A row's rank interval holds every rank that the comparisons of
this row with the others leave open (Mogstad, Romano, Shaikh and Wilhelm 2024, Inference for Ranks, Review
of Economic Studies): it begins behind the rows that are significantly better and ends before those that are
significantly worse. Each row asks its own family of questions, so Holm's correction is over the comparisons
of that row; ``BOARD`` corrects over all pairs of the board instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats
from scoring.stats.significance import ALPHA, holm

ROW, BOARD = "row", "board"


@dataclass(frozen=True)
class Standing:
    """A row's rank by value, the ranks that it may have, and the number of its group, from 1."""

    rank: int
    low: int
    high: int
    group: int


def standings_of(
    values: Sequence[float], p: Floats, *, family: str = ROW, alpha: float = ALPHA
) -> list[Standing]:
    """A standing for each row.

    ``values`` are turned so that higher is better; NaN ranks last. ``p[i, j]`` is the p-value of rows i and
    j, the same as ``p[j, i]``; NaN where they have not been compared, which leaves their order open.
    """
    count = len(values)
    if p.shape != (count, count):
        raise ValueError(f"{count} rows and p-values of {p.shape}")
    merits = np.where(np.isnan(values), -np.inf, np.asarray(values, dtype=float))
    differs = differing(p, family=family, alpha=alpha)
    better = merits[None, :] > merits[:, None]
    ranks = 1 + better.sum(axis=1)
    low = 1 + (differs & better).sum(axis=1)
    high = count - (differs & better.T).sum(axis=1)
    numbers = groups(merits, differs)
    return [
        Standing(rank=int(ranks[row]), low=int(low[row]), high=int(high[row]), group=numbers[row])
        for row in range(count)
    ]


def differing(p: Floats, *, family: str = ROW, alpha: float = ALPHA) -> NDArray[np.bool_]:
    """``[i, j]``: whether row i, in its family, differs significantly from row j.

    In the family ``ROW`` a row corrects over its own comparisons, so that the answer of i about j may
    differ from that of j about i.
    """
    count = len(p)
    others = ~np.eye(count, dtype=bool)
    if family == ROW:
        adjusted = _holm_by_row(np.where(others, p, np.nan))
    elif family == BOARD:
        above, adjusted = np.triu(others), np.full(p.shape, np.nan)
        adjusted[above] = holm(p[above].tolist())
        adjusted.T[above] = adjusted[above]
    else:
        raise ValueError(f"there is no family “{family}”; there are {ROW}, {BOARD}")
    return np.asarray(np.nan_to_num(adjusted, nan=1.0) <= alpha)


def _holm_by_row(p: Floats) -> Floats:
    """`holm` of each row, all rows at once; NaN stays NaN and is not counted."""
    order = np.argsort(p, axis=1, kind="stable")
    asked = (~np.isnan(p)).sum(axis=1, keepdims=True)
    corrected = np.minimum(1.0, np.take_along_axis(p, order, axis=1) * (asked - np.arange(p.shape[1])))
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(corrected, axis=1), axis=1)
    return adjusted


def groups(merits: Floats, differs: NDArray[np.bool_]) -> list[int]:
    """The group of each row: going down the board, a row that differs from the first of its group begins the
    next.

    Rows of one value share a group, as they share a rank.
    """
    numbers = [0] * len(merits)
    group, first, last = 0, -1, -1
    for row in np.argsort(-merits, kind="stable").tolist():
        is_tied = last >= 0 and merits[row] == merits[last]
        if first < 0 or (differs[first, row] and not is_tied):
            group, first = group + 1, row
        numbers[row], last = group, row
    return numbers
