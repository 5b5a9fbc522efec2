"""Sums that are the same in any order: the last digits of an interval do not depend on a machine's linear
algebra.

Floating point addition is exact as long as every partial sum is a multiple of one power of two and stays
below 2**53 of it. Rows moved onto such a grid lose less than adding them up in floating point would, and
may then be summed in any order, in blocks, by several threads or with fused multiply-add.
"""

from __future__ import annotations

import numpy as np

from scoring.metrics.base import Floats

#: One bit less than a double holds, so that rounding to the grid cannot carry a sum beyond it.
BITS = 52


class NotFinite(ValueError):
    """A row of statistics holds what is no number; the message says which."""


def refuse_not_finite(rows: Floats, what: str) -> None:
    """Raises NotFinite with the first such row and column."""
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        row, column = bad[0].tolist()
        raise NotFinite(f"{what}: column {column} of row {row} is infinite or not a number")


def on_grid(rows: Floats, weight: float) -> Floats:
    """The rows, each column on a grid on which sums with whole weights of ``weight`` in all are exact.

    ``rows`` is (n, m). Counts are left as they are unless their sum exceeds 2**52. Raises NotFinite.
    """
    largest = np.abs(rows).max(axis=0, initial=0.0)
    if not np.isfinite(largest).all():
        refuse_not_finite(rows, "statistics")
    _, exponent = np.frexp(largest * max(weight, 1.0))
    step = np.ldexp(1.0, np.maximum(exponent - BITS, -1000))
    return np.asarray(np.rint(rows / step) * step)
