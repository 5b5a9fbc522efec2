"""How far two runs are apart in each class, as a figure and in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from citeboard.core.words import counted
from scoring.board.numbers import decimals
from scoring.comparison.sides import ClassDifference
from scoring.figures import Axis, Dots, Measured, Series


def difference_chart(lines: Sequence[ClassDifference], label: str, scale: float) -> Dots:
    """A point a class, with its interval; right of zero the first run has more.

    Classes of little support have an open point.
    """
    known = [line for line in lines if line.difference is not None]
    return Dots(
        title=label,
        labels=[line.label for line in known],
        series=[
            Series(
                name=_("difference"),
                values=[
                    Measured(
                        value=line.difference, low=line.low, high=line.high, is_faint=not line.has_support
                    )
                    for line in known
                ],
            )
        ],
        axis=Axis(title=label, decimals=decimals(scale), has_zero=True),
    )


def chart_in_words(lines: Sequence[ClassDifference], a: str, b: str) -> str:
    """In how many classes which run has more, and in how many the interval leaves no doubt."""
    known = [line.difference for line in lines if line.difference is not None]
    more, less = (sum(sign * difference > 0 for difference in known) for sign in (1, -1))
    facts = {
        "classes": counted(len(known), "class", "classes"),
        "a": a,
        "b": b,
        "more": more,
        "less": less,
    }
    ends = [(line.low, line.high) for line in lines if line.low is not None and line.high is not None]
    if not ends:
        return _("Of %(classes)s, “%(a)s” has more in %(more)s, “%(b)s” in %(less)s.") % facts
    sure = sum(low * high > 0 for low, high in ends)
    return _(
        "Of %(classes)s, “%(a)s” has more in %(more)s, “%(b)s” in %(less)s; "
        "in %(sure)s the interval leaves out zero."
    ) % {**facts, "sure": sure or _("none")}
