"""Test conclusions that a paper draws from its tables on differences, agreement of
rankings, and trends.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from statistics import fmean, stdev
from typing import Any

import numpy as np

from scoring.stats.correlation import (
    MAX_FISHER_CORRELATION,
    MIN_POINTS,
    compute_ranks,
    compute_spearman,
)
from scoring.stats.jackknife import compute_t_quantile


@dataclass(frozen=True)
class DifferenceFinding:
    """A paper's claim that one quantity is larger than another, tested in ``units``
    groups. The difference is positive in ``above`` of the groups. ``mean`` is the mean
    difference over the groups, with Student's 95 % interval. ``holds`` is True if the
    whole interval is above zero, False if the whole interval is below zero, and None if
    the interval contains zero.
    """

    units: int
    above: int
    mean: float
    low: float
    high: float

    @property
    def holds(self) -> bool | None:
        return True if self.low > 0 else False if self.high < 0 else None


def summarise_differences(differences: Sequence[float]) -> DifferenceFinding:
    units, above = len(differences), sum(value > 0 for value in differences)
    if units < 3:
        return DifferenceFinding(
            units, above, fmean(differences or [math.nan]), -math.inf, math.inf
        )
    mean = fmean(differences)
    reach = compute_t_quantile(0.975, units - 1) * stdev(differences) / math.sqrt(units)
    return DifferenceFinding(units, above, mean, mean - reach, mean + reach)


@dataclass(frozen=True)
class RankAgreement:
    """Spearman's ``coefficient`` of ``units`` pairs, and its two-sided p-value ``p``.

    The p-value ``p`` is the share of permutations whose coefficient is at least as far
    from 0. For more than MAX_EXACT_PAIRS pairs, the p-value ``p`` is approximated by Student's t.
    Coefficient and p-value are NaN with fewer than five pairs, or if one variable is
    constant.
    """

    units: int
    coefficient: float
    p: float

    @property
    def is_exact(self) -> bool:
        return self.units <= MAX_EXACT_PAIRS

    @property
    def is_significant(self) -> bool:
        """Return True if the rank correlation is significant at the level ``SIGNIFICANCE_LEVEL``."""
        return self.p <= SIGNIFICANCE_LEVEL


MAX_EXACT_PAIRS = 8
SIGNIFICANCE_LEVEL = 0.05


def correlate_rankings(
    first: Sequence[float], second: Sequence[float]
) -> RankAgreement:
    units = len(first)
    x, y = (np.asarray(side, dtype=float) for side in (first, second))
    coefficient = compute_spearman(x, y) if units >= MIN_POINTS else math.nan
    if math.isnan(coefficient):
        return RankAgreement(units, math.nan, math.nan)
    if units > MAX_EXACT_PAIRS:
        return RankAgreement(
            units, coefficient, _compute_p_value_by_t(coefficient, units)
        )
    a, b = (compute_ranks(side) - (units + 1) / 2 for side in (x, y))
    orders = np.array(list(permutations(range(units))))
    products = np.abs(a[orders] @ b)
    p = float(np.mean(products >= abs(float(a @ b)) - 1e-9))
    return RankAgreement(units, coefficient, p)


def _compute_p_value_by_t(coefficient: float, units: int) -> float:
    from scipy.special import stdtr

    if abs(coefficient) >= MAX_FISHER_CORRELATION:
        return 0.0
    t = abs(coefficient) * math.sqrt((units - 2) / (1 - coefficient**2))
    return 2 * float(stdtr(units - 2, -t))


AggregateFunction = Callable[[Sequence[float]], float]
#: A number in a paper's table, with the fields that identify the number.
TableFigure = tuple[Mapping[str, Any], float]
ConclusionOutcome = DifferenceFinding | RankAgreement
BEST_FIGURES, MEAN_FIGURES, ALL_FIGURES = COMPARED_AGGREGATES = (
    "best",
    "mean",
    "every",
)
DIFFERENCE_FORM, RANKS_ALIKE_FORM, RANKS_APART_FORM = (
    "difference",
    "ranks alike",
    "ranks apart",
)
RISING_TREND_FORM, FALLING_TREND_FORM, UNDECIDABLE_FORM = "rises", "falls", "open"
CONCLUSION_FORMS = (
    DIFFERENCE_FORM,
    RANKS_ALIKE_FORM,
    RANKS_APART_FORM,
    RISING_TREND_FORM,
    FALLING_TREND_FORM,
    UNDECIDABLE_FORM,
)
RANK_FORMS = (RANKS_ALIKE_FORM, RANKS_APART_FORM)
TREND_FORMS = (RISING_TREND_FORM, FALLING_TREND_FORM)


@dataclass(frozen=True, kw_only=True)
class PaperConclusion:
    """A conclusion that a paper draws from a table of figures.

    A conclusion of the form *difference* states that in each group of rows with equal
    fields ``by``, the figures that match ``more`` are above those that match ``less``.
    The comparison uses the best figures, the mean figures, or all pairs of figures. The
    form *ranks alike* states that the means of ``more`` and of ``less`` rank the groups
    in the same order, and *ranks apart* states the contrary. The forms *rises* and
    *falls* state that the means of ``more`` rise or fall along the values ``order`` of
    the field ``along``. No figures can confirm a conclusion of the form *open*, for the
    reason ``why``.

    ``sentence`` is the paper's claim in our words, and ``section`` is the location of
    the claim in the paper. ``also``
    names further tables of the paper that contain figures of ``more`` or ``less``. If
    ``from_table``, we derived the claim from the table, because the paper's own
    sentence was not available. A claim that we derived is not attributed to the paper.
    """

    name: str
    by: Sequence[str] = ()
    more: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    less: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    of: str = MEAN_FIGURES
    form: str = DIFFERENCE_FORM
    sentence: str = ""
    section: str = ""
    also: Sequence[str] = ()
    along: str = ""
    order: Sequence[Any] = ()
    why: str = ""
    from_table: bool = False

    def group_compared_figures(
        self, figures: Iterable[TableFigure]
    ) -> list[tuple[list[TableFigure], list[TableFigure]]]:
        """For each group of rows, return the figures that match ``more`` and the
        figures that match ``less``, if the group has both.
        """
        sides: dict[tuple[str, ...], tuple[list[TableFigure], list[TableFigure]]] = (
            defaultdict(lambda: ([], []))
        )
        for fields, value in figures:
            for side, wanted in enumerate((self.more, self.less)):
                if _has_field_values(fields, wanted):
                    sides[tuple(str(fields.get(name)) for name in self.by)][
                        side
                    ].append((fields, value))
        return [(more, less) for more, less in sides.values() if more and less]

    def finding(self, figures: Iterable[TableFigure]) -> ConclusionOutcome:
        if self.form == UNDECIDABLE_FORM:
            return summarise_differences([])
        if self.form in TREND_FORMS:
            return self._correlate_trend(figures)
        ways: Mapping[str, tuple[AggregateFunction, AggregateFunction]] = {
            BEST_FIGURES: (max, max),
            ALL_FIGURES: (min, max),
        }
        first, second = ways.get(self.of, (fmean, fmean))
        sides = [
            (first([value for _, value in more]), second([value for _, value in less]))
            for more, less in self.group_compared_figures(figures)
        ]
        if self.form in RANK_FORMS:
            return correlate_rankings(
                [more for more, _ in sides], [less for _, less in sides]
            )
        return summarise_differences([more - less for more, less in sides])

    def _correlate_trend(self, figures: Iterable[TableFigure]) -> RankAgreement:
        """Return the rank correlation between ``order`` and the mean figures, with a
        negative sign for falling trends.
        """
        values: dict[int, list[float]] = defaultdict(list)
        for fields, value in figures:
            if fields.get(self.along) in self.order and _has_field_values(
                fields, self.more
            ):
                values[list(self.order).index(fields[self.along])].append(value)
        sign = -1 if self.form == FALLING_TREND_FORM else 1
        places = sorted(values)
        return correlate_rankings(
            places, [sign * fmean(values[place]) for place in places]
        )

    def holds(self, found: ConclusionOutcome) -> bool | None:
        """Return True if the figures significantly confirm the claim, False if the
        figures significantly contradict the claim, else None.
        """
        if isinstance(found, DifferenceFinding):
            return found.holds
        if not found.is_significant:
            return None
        return self.form != RANKS_APART_FORM and found.coefficient > 0

    def agrees_with_outcome(self, found: ConclusionOutcome) -> bool | None:
        """Return True if the figures agree with the claim, False if not, or None if
        there are too few figures.

        Differences that agree with a claim need not be significant. A claim about the
        best or about all figures must be true in each group, and a claim about means
        requires a positive mean difference. A claim about the agreement of rankings or
        about a trend requires a positive coefficient with p ≤ .05.
        """
        if isinstance(found, DifferenceFinding):
            if not found.units:
                return None
            return (
                found.mean > 0
                if self.of == MEAN_FIGURES
                else found.above == found.units
            )
        if math.isnan(found.p):
            return None
        is_alike = found.is_significant and found.coefficient > 0
        return not found.is_significant if self.form == RANKS_APART_FORM else is_alike

    def fails(self, found: ConclusionOutcome) -> bool:
        """Return True if the figures contradict a claim that the paper itself makes."""
        return not self.from_table and self.agrees_with_outcome(found) is False


def _has_field_values(
    fields: Mapping[str, Any], wanted: Mapping[str, Sequence[Any]]
) -> bool:
    return all(fields.get(name) in values for name, values in wanted.items())
