"""What a season's overview paper is written from, for programs."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core import storage
from citeboard.core.api import READ
from citeboard.core.refusals import Refused
from citeboard.core.storage.downloads import download
from scoring.api.seasons import READING
from scoring.api.teams import CONFLICT
from scoring.background.kinds import kept_paper
from scoring.exchange.formats import ZIP
from scoring.exchange.overview_paper import CONTENT, OverviewPaper, PaperQuery
from tasks.seasons.access import season_for

KINDS = sorted({kind.partition(";")[0] for kind in CONTENT.values()} | {ZIP})
AS_EVERYBODY = OpenApiParameter(
    "as", str, enum=["everybody"], description="For who runs the season: what everybody may read alone."
)


class PaperFileSerializer(serializers.Serializer[Any]):
    """A file; `name` is its path in the archive."""

    name = serializers.CharField()
    part = serializers.CharField(help_text="The board that it shows, or the season.")
    content_type = serializers.CharField()
    is_hidden = serializers.BooleanField(help_text="Whether others do not see what it shows.")


class PaperFilesSerializer(serializers.Serializer[Any]):
    """All of them; `files/` answers with one, or with all as a zip."""

    files = PaperFileSerializer(many=True)


@extend_schema(
    operation_id="overview_paper",
    summary="What an overview paper of the season is written from, as far as you may see it",
    parameters=[AS_EVERYBODY],
    responses={200: PaperFilesSerializer, **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def overview_paper(request: Request, slug: str) -> Response:
    files = [
        {
            "name": file.name,
            "part": part.title,
            "content_type": file.content_type.partition(";")[0],
            "is_hidden": part.is_hidden,
        }
        for part in paper_for(request, slug).parts
        for file in part.every
    ]
    return Response({"files": files})


@extend_schema(
    operation_id="overview_paper_files",
    summary="One of these files by its name, or all of them as the zip that was made",
    parameters=[AS_EVERYBODY, OpenApiParameter("name", str, description="Its path in the archive.")],
    responses={
        **{(200, kind): OpenApiTypes.BINARY for kind in KINDS},
        **READING,
        409: CONFLICT,
    },
)
@api_view(READ)
@permission_classes([AllowAny])
def files(request: Request, slug: str) -> HttpResponseBase:
    paper = paper_for(request, slug)
    name = request.query_params.get("name")
    if not name:
        return _archive(request, paper)
    found = paper.files.get(name)
    if found is None:
        raise Http404("There is no such file for this season's overview paper.")
    return HttpResponse(found.written(), content_type=found.content_type)


def _archive(request: Request, paper: OverviewPaper) -> HttpResponseBase:
    made = kept_paper(paper)
    if made is None:
        raise Refused("No zip of what the season shows is kept; a POST to ../archive/ has it made.")
    asked: HttpRequest = request._request  # noqa: SLF001  (the framework's own way)
    name = f"{paper.season.slug}-overview-paper.zip"
    return download(asked, storage.statistics, made.file, filename=name, content_type=ZIP)


def paper_for(request: Request, slug: str) -> OverviewPaper:
    season = season_for(request.user, slug)
    return OverviewPaper.of(season, request.user, PaperQuery.of(request.query_params))
