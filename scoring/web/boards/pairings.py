"""Charts of one metric against another, and the numbers behind them."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from scoring.board.charts import one_against_another
from scoring.board.pairings import pairings_of
from scoring.board.query import BoardQuery
from scoring.board.standings import Board
from scoring.web.boards.sections import PAIRINGS, section_page
from tasks.seasons.access import phase_for


@require_safe
def pairings(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    found = phase_for(request.user, season, task, phase)
    return section_page(request, found, PAIRINGS, BoardQuery.of(request.GET), _context)


def _context(board: Board) -> dict[str, Any]:
    found = pairings_of(board)
    return {
        "pairings": found,
        "figures": {
            f"pairing-{place}": one_against_another(pairing) for place, pairing in enumerate(found, start=1)
        },
    }
