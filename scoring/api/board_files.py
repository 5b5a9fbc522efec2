"""The board of a phase as a file in the formats of others, by token."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from citeboard.core.api import READ
from scoring.api.seasons import READING, phase_for_reader
from scoring.board.query import BoardQuery, TableChoice, board_with_scores, chosen_rows
from scoring.board.visibility import audience_of
from scoring.exchange.formats import FORMATS, JSON, board_file
from scoring.exchange.results import Results

KINDS = sorted({known.content_type.partition(";")[0] for known in FORMATS.values()})


@extend_schema(
    operation_id="export",
    summary="The board as a file, where you may see its scores",
    parameters=[
        OpenApiParameter("name", str, OpenApiParameter.PATH, enum=list(FORMATS), description="Its format."),
        OpenApiParameter("rules", str, description="A rule set; the ranking one unless said."),
        OpenApiParameter("column", str, many=True, description="Of `tex`: its columns; all unless said."),
        OpenApiParameter("caption", str, description="Of `tex`: in the place of the site's own."),
        OpenApiParameter("marks", str, enum=["no"], description="Of `tex`: no marks of significance."),
        OpenApiParameter("intervals", str, enum=["no"], description="Of `tex`: no intervals."),
    ],
    responses={
        **{(200, kind): OpenApiTypes.ANY if kind == JSON else OpenApiTypes.BINARY for kind in KINDS},
        **READING,
    },
)
@api_view(READ)
@permission_classes([AllowAny])
def export(request: Request, pk: int, name: str) -> HttpResponse:
    phase = phase_for_reader(request.user, pk)
    if name not in FORMATS:
        raise Http404(f"A board is written as {', '.join(FORMATS)}.")
    query = BoardQuery.of(request.query_params)
    board = board_with_scores(phase, request.user, query, audience_of(phase, request.user))
    return board_file(Results(board, chosen_rows(board, query), TableChoice.of(request.query_params)), name)
