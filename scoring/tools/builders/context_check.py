"""What people found who checked a sample by hand: how much of it is right, and how far they agree."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from scoring.metrics.agreement import alpha
from scoring.stats.jackknife import ratio_interval
from scoring.tools.builders.context_sheet import CITATION, SENTENCE, Asked
from tasks.types.citation_recommendation.names import DIMENSIONS

ALL = "all"


@dataclass(frozen=True, kw_only=True)
class Share:
    """``part`` of ``of``, with a 95 % interval over contexts; NaN and None where there is nothing."""

    part: int
    of: int
    low: float | None
    high: float | None

    @property
    def value(self) -> float:
        return self.part / self.of if self.of else math.nan


@dataclass(frozen=True, kw_only=True)
class Checked:
    """Of one thing that is asked: what is right of all answers; of pairs of answers to one line by different
    people, which are equal; and Krippendorff's alpha of these.
    """

    asked: str
    contexts: int
    right: Share
    agreeing: Share
    alpha: float


def checked(sheets: Sequence[Mapping[Asked, bool]]) -> Iterator[Checked]:
    """A line for each thing that is asked in the order of the sheet, and one for all together."""
    answers: dict[Asked, list[bool]] = defaultdict(list)
    for sheet in sheets:
        for asked, answer in sheet.items():
            answers[asked].append(answer)
    for name in (SENTENCE, CITATION, *DIMENSIONS):
        if own := {asked: given for asked, given in answers.items() if asked[1] == name}:
            yield _checked(name, own)
    yield _checked(ALL, answers)


def _checked(name: str, answers: Mapping[Asked, Sequence[bool]]) -> Checked:
    right: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    agreeing: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for (context, *_), given in answers.items():
        pairs = [one == other for one, other in combinations(given, 2)]
        right[context] = _sum(right[context], given)
        agreeing[context] = _sum(agreeing[context], pairs)
    return Checked(
        asked=name,
        contexts=len(right),
        right=_share(list(right.values())),
        agreeing=_share([own for own in agreeing.values() if own[1]]),
        alpha=alpha(list(answers.values()), "nominal"),
    )


def _sum(before: tuple[int, int], more: Sequence[bool]) -> tuple[int, int]:
    return before[0] + sum(more), before[1] + len(more)


def _share(units: Sequence[tuple[int, int]]) -> Share:
    """From part and whole of each context, which are the units that are left out for the interval."""
    part, of = (sum(own[place] for own in units) for place in (0, 1))
    low, high = ratio_interval(np.array(units, dtype=np.float64), (0.0, 1.0)) or (None, None)
    return Share(part=part, of=of, low=low, high=high)
