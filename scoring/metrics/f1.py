"""F1 in the two forms that programs have it: from precision and recall, and from counts."""

from __future__ import annotations

from scoring.metrics.base import Floats, ratio


def harmonic_mean(precision: Floats | float, recall: Floats | float) -> Floats:
    """0 where both are 0; NaN where one is undefined."""
    return ratio(2 * precision * recall, precision + recall)


def f1_of_counts(both: Floats | float, given: Floats | float, wanted: Floats | float) -> Floats:
    """Of what is given, of what is wanted, and of what is both; 0 where nothing is given and nothing wanted.

    The same as the harmonic mean of both ratios, but for the last digits.
    """
    return ratio(2 * both, given + wanted)
