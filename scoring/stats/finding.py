"""Tests of a paper's findings: differences that should be above zero, and the interval of their mean."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from scoring.stats.jackknife import t_quantile


@dataclass(frozen=True)
class Finding:
    """``above`` of ``units`` differences are above zero; the interval of their ``mean`` is Student's, 95 %.
    It ``holds`` where the whole interval is above zero, fails (False) where it is below, and cannot be told
    (None) between, nor of fewer than three units.
    """

    units: int
    above: int
    mean: float
    low: float
    high: float

    @property
    def holds(self) -> bool | None:
        return True if self.low > 0 else False if self.high < 0 else None


def finding(differences: Sequence[float]) -> Finding:
    units, above = len(differences), sum(value > 0 for value in differences)
    if units < 3:
        return Finding(
            units, above, fmean(differences or [math.nan]), -math.inf, math.inf
        )
    mean = fmean(differences)
    reach = t_quantile(0.975, units - 1) * stdev(differences) / math.sqrt(units)
    return Finding(units, above, mean, mean - reach, mean + reach)


Way = Callable[[Sequence[float]], float]
#: A figure of a table with the fields that tell which one it is.
Figure = tuple[Mapping[str, Any], float]
BEST, MEAN, EVERY = OF = ("best", "mean", "every")


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What a paper says of a table: in each group of rows that share the fields ``by``, the figures that have
    one of the values of ``more`` are above those of ``less``: the best of each side, their means, or every
    one of ``more`` above every one of ``less``.
    """

    name: str
    by: Sequence[str]
    more: Mapping[str, Sequence[Any]]
    less: Mapping[str, Sequence[Any]]
    of: str = MEAN

    def sides(
        self, figures: Iterable[Figure]
    ) -> list[tuple[list[Figure], list[Figure]]]:
        """The figures of both, in each group that has both."""
        sides: dict[tuple[str, ...], tuple[list[Figure], list[Figure]]] = defaultdict(
            lambda: ([], [])
        )
        for fields, value in figures:
            for side, wanted in enumerate((self.more, self.less)):
                if all(fields.get(name) in values for name, values in wanted.items()):
                    sides[tuple(str(fields.get(name)) for name in self.by)][
                        side
                    ].append((fields, value))
        return [(more, less) for more, less in sides.values() if more and less]

    def finding(self, figures: Iterable[Figure]) -> Finding:
        ways: Mapping[str, tuple[Way, Way]] = {BEST: (max, max), EVERY: (min, max)}
        first, second = ways.get(self.of, (fmean, fmean))
        sides = [
            [[value for _, value in side] for side in both]
            for both in self.sides(figures)
        ]
        return finding([first(more) - second(less) for more, less in sides])
