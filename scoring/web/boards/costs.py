"""Quality against cost: the scores of a board against what teams report of their runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from citeboard.core.query import text_from
from scoring.board.charts import quality_against
from scoring.board.names import metric_label
from scoring.board.numbers import shown
from scoring.board.query import BoardQuery
from scoring.board.standings import Board
from scoring.board.team_reported import TeamReported, team_reported, written
from scoring.web.boards.sections import COSTS, section_page
from tasks.seasons.access import phase_for


@dataclass(frozen=True, kw_only=True)
class CostQuery(BoardQuery):
    """``cost`` is the measure that scores are drawn against."""

    cost: str = text_from("cost")


@require_safe
def costs(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    found = phase_for(request.user, season, task, phase)
    query = CostQuery.of(request.GET)
    return section_page(request, found, COSTS, query, lambda board: _context(board, query))


def _context(board: Board, query: CostQuery) -> dict[str, Any]:
    reported = team_reported(board)
    measure = next(
        (cost for cost in reported.costs if cost.name == query.cost), next(iter(reported.costs), None)
    )
    ranking = board.ranking
    labels = {cost.name: cost.label for cost in reported.costs}
    return {
        "metric_label": metric_label(ranking.metric) if ranking else "",
        "measures": reported.measures,
        "measure": measure,
        "choices": query.choices("cost", labels, measure.name if measure else "", labels.__getitem__),
        "figures": {"costs-chart": quality_against(board, ranking, reported, measure)}
        if measure and ranking
        else {},
        "rows": [_line(board, reported, place) for place in range(len(reported.rows))],
    }


def _line(board: Board, reported: TeamReported, place: int) -> dict[str, Any]:
    row, ranking = reported.rows[place], board.ranking
    cell = row.scores.get(ranking.name) if ranking else None
    return {
        "rank": row.rank,
        "system": row.system,
        "team": row.team,
        "score": shown(cell.value, ranking.scale) if cell and ranking else "",
        "figures": [written(reported.value(row, measure)) for measure in reported.measures],
    }
