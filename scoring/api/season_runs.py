"""The runs of a season to take away: all of them as CSV, the counting ones of a phase as files."""

from __future__ import annotations

from django.http import FileResponse, HttpResponse, HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request

from citeboard.core.api import ABSENT, READ, SIGN_IN, TOO_MANY
from scoring.api.organise import phase_to_organise
from scoring.board.standings import standings
from scoring.exchange.season_runs import counting_runs_archive, runs_csv
from tasks.models import Submission
from tasks.seasons.access import season_to_help

OTHERS = {401: SIGN_IN, 404: ABSENT, 429: TOO_MANY}


@extend_schema(
    operation_id="season_runs",
    summary="Every run of a season as CSV, with the number that ranks it; for organisers and helpers",
    responses={(200, "text/csv"): OpenApiTypes.BINARY, **OTHERS},
)
@api_view(READ)
def season_runs(request: Request, slug: str) -> HttpResponse:
    season = season_to_help(request.user, slug)
    runs = Submission.objects.filter(phase__task__season=season).select_related("phase__task", "team")
    content = runs_csv(runs.order_by("-submitted_at", "-id"))
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{season.slug}-runs.csv"'
    return response


@extend_schema(
    operation_id="counting_runs",
    summary="The files of the runs that stand on a phase's board, as a zip; for organisers",
    responses={(200, "application/zip"): OpenApiTypes.BINARY, **OTHERS},
)
@api_view(READ)
def counting_runs(request: Request, pk: int) -> HttpResponseBase:
    phase = phase_to_organise(request, pk)
    name = f"{phase.task.season.slug}-{phase.task.slug}-{phase.slug}-runs.zip"
    archive = counting_runs_archive(standings(phase, request.user))
    return FileResponse(archive, as_attachment=True, filename=name, content_type="application/zip")
