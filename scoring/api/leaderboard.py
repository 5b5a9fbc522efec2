"""A phase's board: the rows of the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.utils.cache import patch_vary_headers
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from citeboard.core.api import INVALID, JSON, READ, readable_anywhere
from scoring.api.score_serializers import ColumnSerializer, LeaderboardSerializer
from scoring.api.seasons import READING, phase_for_reader
from scoring.api.serializers import leader
from scoring.board.cache import phase_page
from scoring.board.comparisons import VALUE, WAYS
from scoring.board.confirming import confirmation_of
from scoring.board.manual_scores import figures_of
from scoring.board.power import Separation
from scoring.board.public_results import first_places
from scoring.board.standings import Board, Cell, Row, UnknownRules, standings
from scoring.board.visibility import Audience, Visibility, audience_of


@readable_anywhere
@extend_schema(
    operation_id="leaderboard",
    summary="The board of a phase, best first",
    parameters=[
        OpenApiParameter("rules", str, description="A rule set; the ranking one unless said."),
        OpenApiParameter(
            "rank",
            str,
            enum=WAYS,
            description="What ranks go by; a group of rows that do not differ shares one.",
        ),
        OpenApiParameter(
            "as", str, enum=["others"], description="As those see it who do not run the season."
        ),
    ],
    responses={200: LeaderboardSerializer, 400: INVALID, **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def leaderboard(request: Request, pk: int) -> HttpResponse:
    phase = phase_for_reader(request.user, pk)
    audience = audience_of(phase, request.user)
    others = request.query_params.get("as") == "others"
    rules, by = request.query_params.get("rules") or None, request.query_params.get("rank") or VALUE

    def body() -> str:
        if by not in WAYS:
            raise exceptions.ValidationError({"rank": [f"Ranks go by {' or '.join(WAYS)}."]})
        viewer, seen_as = (None, Audience.PUBLIC) if others else (request.user, audience)
        board = standings(phase, viewer, rules, audience=seen_as, by=by)
        return JSONRenderer().render(described(board)).decode()

    try:
        response = phase_page(request, phase, audience, (rules, by, others), body, content_type=JSON)
    except UnknownRules as unknown:
        raise exceptions.ValidationError({"rules": [f"{unknown}."]}) from unknown
    patch_vary_headers(response, ["Authorization"])
    return response


def described(board: Board) -> dict[str, Any]:
    figures = figures_of(board.rows) if board.visibility == Visibility.SCORES else {}
    return {
        "phase": board.phase.pk,
        "version": board.phase.version,
        "rules": board.rules,
        "shows": str(board.visibility),
        "frozen_at": board.frozen_at and board.frozen_at.isoformat().replace("+00:00", "Z"),
        "confirmation": (found := confirmation_of(board)) and found.as_dict(),
        "ranked_by": board.by,
        "compared": board.is_compared,
        "leader": leader(first_places(board)),
        "separation": _separation(board.separation),
        "columns": ColumnSerializer(board.columns, many=True).data,
        "rows": [_row(row, figures.get(row.submission, {})) for row in board.rows],
    }


def _separation(found: Separation | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "unit": found.unit,
        "units": found.units,
        "comparisons": found.comparisons,
        "smallest_p": found.smallest_p,
        "can_differ": found.can_differ,
        "more_units": found.more_units,
        "words": found.sentences,
    }


def _row(row: Row, team_reported: Mapping[str, float]) -> dict[str, Any]:
    """Written out, since a serializer would take longer over a large board than everything else."""
    return {
        "rank": row.rank,
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "group": row.group,
        "team": row.team_slug,
        "team_name": row.team,
        "has_organiser": row.has_organiser,
        "system": row.system,
        "submission": row.submission,
        "kind": row.kind,
        "scores": {name: _cell(cell) for name, cell in row.scores.items()},
        "team_reported": team_reported,
        "card": row.card,
    }


def _cell(cell: Cell) -> dict[str, Any]:
    infinite = {"infinite": True} if cell.is_infinite else {}
    return {"value": cell.value, **infinite, "low": cell.low, "high": cell.high}
