"""The ranks that a board's comparisons leave open, and which rows stand in one group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.core.cache import caches

from citeboard.core.release import release
from scoring.board.comparisons import known_pairs
from scoring.board.separation import FirstTwo
from scoring.models import Comparison
from scoring.stats.groups import Standing, standings_of

VALUE, SIGNIFICANCE = "value", "significance"
WAYS = (VALUE, SIGNIFICANCE)
SECONDS = 3600


@dataclass(frozen=True)
class Ranks:
    """A standing for each row, in the order of the rows; ``is_complete`` once each two have been compared.

    ``first_two`` is None until these have been.
    """

    rows: tuple[int, ...]
    standings: list[Standing]
    is_complete: bool
    first_two: FirstTwo | None = None


def ranks_of(key: str, rows: Sequence[int], values: Sequence[float | None], metric: str) -> Ranks:
    """From the comparisons of these evaluations; ``values`` are turned so that higher is better.

    Kept under ``key``, which must name whatever changes with a comparison or a row. Two rows that are still
    to be compared count as not different, and as asked, so that no rank is promised too early.
    """
    name = f"ranks:{release()}:{key}"
    found: Ranks | None = caches["results"].get(name)
    if found is None or found.rows != tuple(rows):
        found = _ranks(rows, values, metric)
        caches["results"].set(name, found, SECONDS)
    return found


def _ranks(rows: Sequence[int], values: Sequence[float | None], metric: str) -> Ranks:
    place = {evaluation: number for number, evaluation in enumerate(rows)}
    p = np.ones((len(rows), len(rows)))
    known = known_pairs(rows, metric)
    for first, second, value in known:
        a, b = place[first], place[second]
        p[a, b] = p[b, a] = math.nan if value is None else value
    merits = [math.nan if value is None else value for value in values]
    standings = standings_of(merits, p)
    return Ranks(
        rows=tuple(rows),
        standings=standings,
        is_complete=len(known) == len(rows) * (len(rows) - 1) // 2,
        first_two=_first_two(rows, standings, metric) if known else None,
    )


def _first_two(rows: Sequence[int], standings: Sequence[Standing], metric: str) -> FirstTwo | None:
    older, newer = sorted(rows[:2])
    found = Comparison.objects.filter(first=older, second=newer, metric=metric)
    for units, difference, error in found.values_list("units", "difference", "error"):
        differ = standings[1].group != standings[0].group
        return FirstTwo(units=units, difference=difference, error=error, differ=differ)
    return None
