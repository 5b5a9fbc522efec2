"""What the test set behind a board can show: whether any two systems can differ, and what it would take to
tell the first two apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from citeboard.core.words import in_decimals
from scoring.board.comparisons import trials_for
from scoring.board.units import counted_more, counted_units
from scoring.stats.groups import ALPHA
from scoring.stats.power import units_needed
from scoring.stats.significance import smallest_p

#: Nobody makes a test set so much larger to tell two systems apart.
MANY_TIMES = 20


@dataclass(frozen=True, kw_only=True)
class FirstTwo:
    """The comparison of a board's first two rows: its units, and a difference with its standard error."""

    units: int
    difference: float | None
    error: float | None
    differ: bool


@dataclass(frozen=True, kw_only=True)
class Separation:
    """``unit`` is what the field draws, such as a topic; a row's p-values are corrected for ``comparisons``.

    ``more_units`` would probably separate first and second; None where they differ, or nothing would.
    """

    unit: str
    units: int
    comparisons: int
    smallest_p: float
    more_units: int | None

    @property
    def smallest_corrected_p(self) -> float:
        return min(1.0, self.smallest_p * self.comparisons)

    @property
    def can_differ(self) -> bool:
        return self.smallest_corrected_p <= ALPHA

    @property
    def sentences(self) -> list[str]:
        """For the page: nothing where all is well."""
        sentences = [] if self.can_differ else [self._too_few()]
        if self.more_units:
            more = counted_more(_rounded(self.more_units), self.unit)
            if self.more_units > MANY_TIMES * self.units:
                words = _("First and second are all but equal: only about %(units)s would separate them.")
            else:
                words = _("About %(units)s would separate first and second.")
            sentences.append(words % {"units": more})
        return sentences

    def _too_few(self) -> str:
        facts = {
            "units": counted_units(self.units, self.unit),
            "alpha": f"{100 * ALPHA:.0f}",
            "p": in_decimals(f"{self.smallest_p:.3f}"),
            "systems": self.comparisons + 1,
            "corrected": in_decimals(f"{self.smallest_corrected_p:.3f}"),
            "comparisons": self.comparisons,
        }
        if self.smallest_p > ALPHA:
            return (
                _("With %(units)s no two systems can differ at %(alpha)s %%: the smallest p is %(p)s.")
                % facts
            )
        return (
            _(
                "With %(units)s no two of %(systems)s systems can differ at %(alpha)s %%: the smallest p is "
                "%(p)s, and %(corrected)s after Holm's correction for %(comparisons)s comparisons."
            )
            % facts
        )


def _rounded(number: int) -> int:
    """To the two digits that an estimate has."""
    return round(number, min(0, 2 - len(str(number))))


def separation(first_two: FirstTwo, *, unit: str, rows: int) -> Separation:
    """Of a board of so many ranked rows."""
    comparisons = rows - 1
    trials = trials_for(first_two.units, comparisons)
    needed = None
    if not first_two.differ and first_two.difference is not None and first_two.error is not None:
        needed = units_needed(first_two.difference, first_two.error, first_two.units, comparisons=comparisons)
    more = needed - first_two.units if needed is not None and needed > first_two.units else None
    return Separation(
        unit=unit,
        units=first_two.units,
        comparisons=comparisons,
        smallest_p=smallest_p(first_two.units, trials),
        more_units=more,
    )
