"""More tries for one team in one phase; for organisers."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT, READ, SIGN_IN, TOO_MANY
from citeboard.teams.api import person
from citeboard.teams.models import Team
from scoring.api.organise import phase_to_organise
from scoring.api.serializers import ExtraTriesSerializer
from scoring.api.teams import CHANGES, CONFLICT
from tasks.models import ExtraTries
from tasks.submissions.run_acts import MAX_REASON, MAX_TRIES, give_tries, take_tries_back


class ExtraTriesForm(serializers.Serializer[Any]):
    """Which team gets how many, and why."""

    team = serializers.CharField(help_text="The slug of a team that takes part.")
    tries = serializers.IntegerField(min_value=1, max_value=MAX_TRIES)
    reason = serializers.CharField(max_length=MAX_REASON, help_text="The team reads it.")


@extend_schema(
    methods=["GET"],
    operation_id="extra_tries",
    summary="Tries that single teams were given in a phase; for organisers",
    responses={200: ExtraTriesSerializer(many=True), 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@extend_schema(
    methods=["POST"],
    operation_id="give_tries",
    summary="Give one team more tries in a phase; for organisers",
    request={"multipart/form-data": ExtraTriesForm},
    responses={201: ExtraTriesSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view([*READ, "POST"])
def extra_tries(request: Request, pk: int) -> Response:
    phase = phase_to_organise(request, pk)
    if request.method != "POST":
        given = phase.extra_tries.select_related("team")
        return Response(ExtraTriesSerializer(given, many=True).data)
    form = ExtraTriesForm(data=request.data)
    form.is_valid(raise_exception=True)
    team = get_object_or_404(
        Team, slug=form.validated_data["team"], registrations__season=phase.task.season_id
    )
    made = give_tries(
        phase=phase,
        team=team,
        tries=form.validated_data["tries"],
        reason=form.validated_data["reason"],
        by=person(request),
    )
    return Response(ExtraTriesSerializer(made).data, status=201)


@extend_schema(
    operation_id="take_tries_back",
    summary="Take tries back that a team was given; runs that were sent with them stay; for organisers",
    request=None,
    responses={204: None, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["DELETE"])
def take_back(request: Request, pk: int, given: int) -> Response:
    phase = phase_to_organise(request, pk)
    found = get_object_or_404(
        ExtraTries.objects.select_related("phase__task__season", "team"), pk=given, phase=phase
    )
    take_tries_back(given=found, by=person(request))
    return Response(status=204)
