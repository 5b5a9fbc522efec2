"""What a board says to those whose run stands on it: how far the next above is, and whether it differs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.utils.translation import gettext as _

from citeboard.core.words import in_decimals
from scoring.board.numbers import shown
from scoring.board.standings import Board, Row
from scoring.models import Comparison
from scoring.stats.groups import ALPHA


@dataclass(frozen=True, kw_only=True)
class OwnRun:
    """A row of the viewer's team, its place as in `rank 2–4 of 18`, and the ranked row above it.

    ``gap`` and ``p`` are empty where the numbers are not shown, or the two have not been compared yet; ``p``
    is that of this single comparison.
    """

    row: Row
    place: str
    above: Row | None = None
    gap: str = ""
    p: float | None = None

    @property
    def differs(self) -> bool:
        return self.p is not None and self.p <= ALPHA

    @property
    def verdict(self) -> str:
        """What the test of the two says; nothing where there is none."""
        if self.p is None:
            return ""
        p = "p < " + in_decimals("0.001") if self.p < 0.001 else "p = " + in_decimals(f"{self.p:.3f}")
        if self.differs:
            return _("%(p)s for these two alone: they differ") % {"p": p}
        return _("%(p)s for these two alone: chance can explain it") % {"p": p}


def own_runs(board: Board, teams: Collection[str]) -> list[OwnRun]:
    """The ranked rows of these teams, which are given by their slugs."""
    ranked = [row for row in board.rows if row.rank is not None]
    return [
        _own_run(
            board, row, next((other for other in reversed(ranked[:place]) if other.rank != row.rank), None)
        )
        for place, row in enumerate(ranked)
        if row.team_slug in teams
    ]


def _own_run(board: Board, row: Row, above: Row | None) -> OwnRun:
    ranking = board.ranking
    if above is None or ranking is None or row.value is None or above.value is None:
        return OwnRun(row=row, place=board.place_of(row), above=above)
    first, second = sorted((row.evaluation, above.evaluation))
    found = Comparison.objects.filter(first=first, second=second, metric=ranking.metric)
    p = found.values_list("p", flat=True).first()
    gap = shown(above.value - row.value, ranking.scale)
    return OwnRun(row=row, place=board.place_of(row), above=above, gap=gap, p=p)
