"""How many units a difference needs, and how small a difference so many units can show.

Both rest on the jackknife's error of a difference, which shrinks with the root of the number of units, and on
the paired t test that such an error stands for; `docs/uncertainty.md` writes it out. No number of units is
enough with which the exact randomisation test cannot reach the level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from scoring.stats.groups import ALPHA
from scoring.stats.jackknife import MIN_UNITS
from scoring.stats.significance import Paired, difference_error
from scoring.stats.student import t_quantile

#: The chance with which a difference of the size that is told is found significant.
CHANCE = 0.8
#: More units than this nobody adds.
MAX_UNITS = 10_000_000


def typical_error(pairs: Sequence[Paired]) -> float:
    """The median error of a difference over pairs of runs; NaN where no two of them differ measurably."""
    errors = [difference_error(pair) for pair in pairs]
    known = [error for error in errors if error > 0]
    return median(known) if known else math.nan


def detectable_difference(
    error: float, units: int, *, at_units: int | None = None, largest: float = math.inf
) -> float:
    """The smallest true difference that is found with the usual chance, on the metric's scale.

    ``error`` is that of a difference over ``units``; with ``at_units`` for a test set of that size. Infinite
    where so few units cannot show any, or none but one beyond the ``largest``; NaN where the error is.
    """
    wanted = at_units or units
    if wanted < max(MIN_UNITS, min_units()):
        return math.inf
    found = _errors(wanted) * error * math.sqrt(units / wanted)
    return math.inf if found > largest else found


def units_needed(difference: float, error: float, units: int, *, comparisons: int = 1) -> int | None:
    """The units with which a difference of this size and error is found with the usual chance.

    At most as many as there are where they are enough, and never so few that no p-value is significant
    after a correction for so many comparisons. None where there is no difference, or no test set shows it.
    """
    if not difference or not error > 0 or not math.isfinite(difference):
        return None
    fewest, most = max(MIN_UNITS, min_units(comparisons)), MAX_UNITS
    if detectable_difference(error, units, at_units=most) > abs(difference):
        return None
    while fewest < most:
        middle = (fewest + most) // 2
        if detectable_difference(error, units, at_units=middle) <= abs(difference):
            most = middle
        else:
            fewest = middle + 1
    return fewest


def min_units(comparisons: int = 1, level: float = ALPHA) -> int:
    """The fewest units with which an exact test's smallest p-value, corrected, reaches the level."""
    return math.ceil(math.log2(2 * comparisons / level))


def _errors(units: int) -> float:
    """How many standard errors such a difference is: those of the level and those of the chance."""
    return t_quantile(1 - ALPHA / 2, units - 1) + t_quantile(CHANCE, units - 1)
