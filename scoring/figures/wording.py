"""How a figure writes numbers and times, and the few words of its own: English, unless it is given others."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

MINUS = "\u2212"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, kw_only=True)
class Wording:
    """``interval`` has places for its ends, ``point`` for a point's name and its value on either axis.

    ``day`` has places for the day and the month; months begin with January.
    """

    decimal_mark: str = "."
    interval: str = "{low} to {high}"
    point: str = "{name}: {y} at {x}"
    undefined: str = "undefined"
    day: str = "{day} {month}"
    months: tuple[str, ...] = MONTHS

    def number(self, value: float, decimals: int) -> str:
        """What rounds to zero has no sign."""
        return f"{value:z.{decimals}f}".replace("-", MINUS).replace(".", self.decimal_mark)

    def date(self, at: dt.datetime) -> str:
        return self.day.format(day=at.day, month=self.months[at.month - 1])


ENGLISH = Wording()
