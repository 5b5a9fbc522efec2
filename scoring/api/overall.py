"""A season's teams over all its tasks."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import READ
from scoring.api.seasons import READING
from scoring.board.exports import overall_values
from scoring.board.overall import overall as overall_table
from tasks.seasons.access import season_for


class OverallBoardSerializer(serializers.Serializer[Any]):
    """A board that contributes."""

    phase = serializers.IntegerField()
    task = serializers.SlugField()
    title = serializers.CharField()
    teams = serializers.IntegerField(help_text="How many are ranked on it.")


class OverallPlaceSerializer(serializers.Serializer[Any]):
    """A rank, and the ranks that the paired tests of the board leave open."""

    phase = serializers.IntegerField()
    rank = serializers.IntegerField()
    rank_low = serializers.IntegerField()
    rank_high = serializers.IntegerField()


class OverallRowSerializer(serializers.Serializer[Any]):
    """A team; boards that it is not on are left out and give no points."""

    rank = serializers.IntegerField()
    team = serializers.SlugField()
    team_name = serializers.CharField()
    has_organiser = serializers.BooleanField(help_text="Whether somebody who runs the season is in the team.")
    boards = serializers.IntegerField()
    mean_rank = serializers.FloatField()
    borda = serializers.IntegerField(help_text="A point for each place above the last of a board.")
    borda_low = serializers.IntegerField()
    borda_high = serializers.IntegerField()
    places = OverallPlaceSerializer(many=True)


class OverallSerializer(serializers.Serializer[Any]):
    """Best first."""

    boards = OverallBoardSerializer(many=True)
    rows = OverallRowSerializer(many=True)


@extend_schema(
    operation_id="overall",
    summary="A season's teams over all its tasks, where its organisers want that",
    responses={200: OverallSerializer, **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def overall(request: Request, slug: str) -> Response:
    season = season_for(request.user, slug)
    if not season.shows_overall:
        raise Http404("This season does not rank teams over its tasks.")
    return Response(overall_values(overall_table(season)))
