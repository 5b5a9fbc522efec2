"""What an evaluation outside of this site measured, in the order of the board."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from scoring.board.outside import outside_of
from scoring.board.query import BoardQuery, chosen_rows
from scoring.board.standings import Board
from scoring.board.team_reported import written
from scoring.web.boards.sections import OUTSIDE, section_page
from tasks.seasons.access import phase_for


@require_safe
def outside(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    found = phase_for(request.user, season, task, phase)
    query = BoardQuery.of(request.GET)
    return section_page(request, found, OUTSIDE, query, lambda board: _context(board, query))


def _context(board: Board, query: BoardQuery) -> dict[str, Any]:
    rows = chosen_rows(board, query)
    found = outside_of(board, rows)
    return {
        "measures": found.measures,
        "rows": [
            {
                "rank": row.rank,
                "system": row.system,
                "name": row.marked_name,
                "values": [written(found.value(measure, row.submission)) for measure in found.measures],
            }
            for row in rows
            if found.of(row.submission)
        ],
    }
