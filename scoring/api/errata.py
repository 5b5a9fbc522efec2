"""What organisers have corrected of a phase's results."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, serializers
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT, READ
from citeboard.teams.api import person
from scoring.api.organise import phase_to_organise
from scoring.api.seasons import READING, phase_for_reader
from scoring.api.teams import CHANGES, CONFLICT
from scoring.board.confirming import MAX_TEXT, errata_for, publish_erratum
from scoring.board.visibility import audience_of


class ErratumSerializer(serializers.Serializer[Any]):
    """What was wrong, and what holds now."""

    text = serializers.CharField(max_length=MAX_TEXT, help_text="Plain text.")
    published_at = serializers.DateTimeField(read_only=True)


@extend_schema(
    methods=["GET"],
    operation_id="errata",
    summary="Errata of a phase's results, newest first; none where you see nothing of its board",
    responses={200: ErratumSerializer(many=True), **READING},
)
@extend_schema(
    methods=["POST"],
    operation_id="publish_erratum",
    summary="Publish an erratum, which stands on the board and on every board kept before; for organisers",
    request={"multipart/form-data": ErratumSerializer},
    responses={201: ErratumSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view([*READ, "POST"])
@permission_classes([AllowAny])
def errata(request: Request, pk: int) -> Response:
    if request.method != "POST":
        phase = phase_for_reader(request.user, pk)
        own = errata_for(phase, audience_of(phase, request.user))
        return Response(ErratumSerializer(own, many=True).data)
    if not request.user.is_authenticated:
        raise exceptions.NotAuthenticated
    phase = phase_to_organise(request, pk)
    form = ErratumSerializer(data=request.data)
    form.is_valid(raise_exception=True)
    made = publish_erratum(phase=phase, text=form.validated_data["text"], by=person(request))
    return Response(ErratumSerializer(made).data, status=201)
