"""Numbers as a table has them: the same decimals in a column, a minus sign, words for what is no number."""

from __future__ import annotations

import math

from django.utils.translation import gettext

from citeboard.core.words import in_decimals

MINUS = "\u2212"
DASH = "\u2013"
#: Of counts, shares, ratings up to 5 and percentages: enough to tell runs apart, no more than they carry.
DECIMALS = {0.0: 2, 1.0: 4, 5.0: 2, 100.0: 2}


def decimals(scale: float) -> int:
    return DECIMALS.get(scale, 3)


def shown(value: float | None, scale: float = 1.0, *, is_infinite: bool = False) -> str:
    """`0.3125`, `−0.2000`, `∞`, and a dash where the value is undefined; what rounds to zero has no sign."""
    if value is None:
        return "∞" if is_infinite else DASH
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    return in_decimals(f"{value:z.{decimals(scale)}f}".replace("-", MINUS))


def interval(low: float | None, high: float | None, scale: float = 1.0) -> str:
    if low is None or high is None:
        return ""
    return gettext("%(low)s to %(high)s") % {"low": shown(low, scale), "high": shown(high, scale)}


def ranks(low: int | None, high: int | None) -> str:
    """`3`, or `2–4` where a rank is shared or uncertain."""
    if low is None or high is None:
        return ""
    return str(low) if low == high else f"{low}{DASH}{high}"
