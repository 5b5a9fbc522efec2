"""Scores that organisers enter by hand."""

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
from scoring.board.manual_scores import MAX_NAME, MAX_SOURCE, MAX_TEXT, Outside, enter_measure, outside_of
from scoring.board.standings import standings
from tasks.models import Phase


class OutsideForm(serializers.Serializer[Any]):
    """A measure with all of its values; without values the one of this name is taken away."""

    name = serializers.CharField(max_length=MAX_NAME)
    higher_is_better = serializers.BooleanField(default=True)
    source = serializers.CharField(  # type: ignore[assignment]
        required=False, allow_blank=True, default="", max_length=MAX_SOURCE,
        help_text="Who measured it, how, and where that is written.",
    )  # fmt: skip
    values = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=MAX_TEXT, trim_whitespace=False,
        help_text="The number of a run and its value on each line.",
    )  # fmt: skip


class OutsideSerializer(serializers.Serializer[Any]):
    """What was measured elsewhere of the runs on the board."""

    name = serializers.CharField()
    higher_is_better = serializers.BooleanField()
    source = serializers.CharField()  # type: ignore[assignment]
    entered_at = serializers.DateTimeField()
    signature = serializers.CharField()
    values = serializers.DictField(child=serializers.FloatField(), help_text="By the number of the run.")


@extend_schema(
    methods=["GET"],
    operation_id="outside_scores",
    summary="What was measured elsewhere of the runs on a board; nothing where you see no scores",
    responses={200: OutsideSerializer(many=True), **READING},
)
@extend_schema(
    methods=["POST"],
    operation_id="enter_outside_scores",
    summary="Enter what was measured elsewhere, in the place of a measure of the same name; for organisers",
    request={"multipart/form-data": OutsideForm},
    responses={200: OutsideSerializer(many=True), **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view([*READ, "POST"])
@permission_classes([AllowAny])
def outside(request: Request, pk: int) -> Response:
    if request.method != "POST":
        return _told(phase_for_reader(request.user, pk), request.user)
    if not request.user.is_authenticated:
        raise exceptions.NotAuthenticated
    phase = phase_to_organise(request, pk)
    form = OutsideForm(data=request.data)
    form.is_valid(raise_exception=True)
    enter_measure(phase=phase, by=person(request), **form.validated_data)
    return _told(phase, request.user)


def _told(phase: Phase, viewer: object) -> Response:
    board = standings(phase, viewer)
    found: Outside = outside_of(board, board.rows)
    return Response(
        OutsideSerializer(
            [
                {
                    "name": one.name,
                    "higher_is_better": one.higher_is_better,
                    "source": one.source,
                    "entered_at": one.entered_at,
                    "signature": one.signature,
                    "values": {str(run): value for run, value in found.values[one.pk].items()},
                }
                for one in found.measures
            ],
            many=True,
        ).data
    )
