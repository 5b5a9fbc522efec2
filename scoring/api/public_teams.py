"""What everybody may read of a team and of its systems, and what its members say of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT, READ
from citeboard.core.plain_text import MAX_DESCRIPTION
from citeboard.teams.access import team_for_member
from citeboard.teams.api import person
from citeboard.teams.describing import describe_team
from scoring.api.seasons import READING
from scoring.api.serializers import address
from scoring.api.teams import CHANGES, CONFLICT, TeamSerializer, described
from scoring.board.public_results import Result, public_system, public_team
from scoring.exchange.results import place


class PlacingSerializer(serializers.Serializer[Any]):
    """A row of a public board; numbers are null where ranks alone are shown, ranks where it has none."""

    season = serializers.SlugField(source="season.slug")
    task = serializers.SlugField(source="phase.task.slug")
    phase = serializers.IntegerField(source="phase.pk")
    board = serializers.SerializerMethodField(help_text="The board's page.")
    system = serializers.CharField(source="placing.system")
    system_slug = serializers.SlugField(source="placing.system_slug", help_text="Names it in addresses.")
    submission = serializers.IntegerField(source="placing.submission")
    kind = serializers.CharField(source="placing.kind")
    submitted_at = serializers.DateTimeField(source="placing.submitted_at")
    rank = serializers.IntegerField(source="placing.rank", allow_null=True)
    rank_low = serializers.IntegerField(source="placing.rank_low", allow_null=True)
    rank_high = serializers.IntegerField(source="placing.rank_high", allow_null=True)
    ranked = serializers.IntegerField(source="placing.ranked", help_text="How many rows of the board are.")
    metric = serializers.CharField(source="placing.metric_name", allow_null=True)
    value = serializers.FloatField(source="placing.value", allow_null=True)
    low = serializers.FloatField(source="placing.low", allow_null=True)
    high = serializers.FloatField(source="placing.high", allow_null=True)

    def get_board(self, result: Result) -> str:
        return address(self.context["request"], "board", *place(result.phase))


class TeamResultsSerializer(serializers.Serializer[Any]):
    """A team as everybody may read of it."""

    slug = serializers.SlugField()
    name = serializers.CharField()
    description = serializers.CharField()
    links = serializers.ListField(child=serializers.URLField())
    seasons = serializers.ListField(child=serializers.SlugField(), help_text="Those whose lists name it.")
    results = PlacingSerializer(many=True, help_text="Newest phases first.")
    page = serializers.URLField()


class SystemResultsSerializer(serializers.Serializer[Any]):
    """A system of a team: what its newest run on a board says of it, and its rows."""

    slug = serializers.SlugField()
    name = serializers.CharField()
    team = serializers.SlugField()
    team_name = serializers.CharField()
    description = serializers.CharField()
    links = serializers.ListField(child=serializers.URLField())
    results = PlacingSerializer(many=True, help_text="Newest phases first.")
    page = serializers.URLField()


class TeamDescriptionForm(serializers.Serializer[Any]):
    """What a team says of itself; what is left out stays as it is."""

    description = serializers.CharField(required=False, allow_blank=True, max_length=MAX_DESCRIPTION)
    links = serializers.CharField(
        required=False, allow_blank=True, help_text="Addresses, one a line; at most five."
    )


@extend_schema(
    operation_id="team_results",
    summary="A team as everybody may read of it, with its results over seasons",
    responses={200: TeamResultsSerializer, **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def team_results(request: Request, slug: str) -> Response:
    found = public_team(request.user, slug)
    return Response(
        {
            "slug": found.team.slug,
            "name": found.team.name,
            "description": found.team.description,
            "links": found.team.links,
            "seasons": [season.slug for season in found.seasons],
            "results": _results(request, found.results),
            "page": address(request, "team-results", slug),
        }
    )


@extend_schema(
    operation_id="team_system",
    summary="A system of a team with its results over seasons",
    responses={200: SystemResultsSerializer, **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def team_system(request: Request, slug: str, system: str) -> Response:
    found, results, newest = public_system(slug, system)
    return Response(
        {
            "slug": system,
            "name": newest.system,
            "team": found.team.slug,
            "team_name": found.team.name,
            "description": newest.description,
            "links": newest.links,
            "results": _results(request, results),
            "page": address(request, "team-system", slug, system),
        }
    )


@extend_schema(
    operation_id="describe_team",
    summary="Change what a team of yours says of itself on its public page",
    request={"multipart/form-data": TeamDescriptionForm},
    responses={200: TeamSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST"])
def description(request: Request, slug: str) -> Response:
    own = team_for_member(request.user, slug)
    form = TeamDescriptionForm(data=request.data)
    form.is_valid(raise_exception=True)
    said = form.validated_data
    describe_team(
        team=own,
        description=said.get("description", own.description),
        links=said["links"].splitlines() if "links" in said else own.links,
        by=person(request),
    )
    return Response(described(request, own))


def _results(request: Request, results: Iterable[Result]) -> Any:
    return PlacingSerializer(list(results), many=True, context={"request": request}).data
