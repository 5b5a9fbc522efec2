"""What organisers do to a season that runs: open and close phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT
from citeboard.teams.api import person
from scoring.api.moments import MomentField
from scoring.api.seasons import phase_for_reader
from scoring.api.teams import CHANGES, CONFLICT
from tasks.models import Phase
from tasks.seasons.access import may_organise
from tasks.seasons.phase_acts import BOARD_FIELDS, change_board, close_now, move_phase, open_now, reveal_now


class TimesForm(serializers.Serializer[Any]):
    """When runs shall be accepted; what is left out stays as it is."""

    opens = MomentField(required=False)
    closes = MomentField(required=False)


class TimesSerializer(serializers.ModelSerializer[Phase]):
    """When runs are accepted."""

    class Meta:
        model = Phase
        fields = ["id", "opens", "closes"]


class BoardForm(serializers.Serializer[Any]):
    """Who shall see the board, and from when somebody else; what is left out stays as it is."""

    board = serializers.ChoiceField(choices=Phase.Audience.choices, required=False)
    board_from = MomentField(required=False, allow_null=True)
    board_then = serializers.ChoiceField(choices=Phase.Audience.choices, required=False, allow_blank=True)


class BoardSerializer(serializers.ModelSerializer[Phase]):
    """Who sees the board: until `board_from`, and from then on."""

    class Meta:
        model = Phase
        fields = ["id", "board", "board_from", "board_then"]


BOARD = {200: BoardSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT}
TIMES = {200: TimesSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT}


@extend_schema(
    operation_id="times",
    summary="Move when a phase opens and closes; for organisers",
    request={"multipart/form-data": TimesForm},
    responses=TIMES,
)
@api_view(["POST"])
def times(request: Request, pk: int) -> Response:
    phase = phase_to_organise(request, pk)
    form = TimesForm(data=request.data)
    form.is_valid(raise_exception=True)
    instants = {"opens": phase.opens, "closes": phase.closes, **form.validated_data}
    moved = move_phase(phase=phase, by=person(request), **instants)
    return Response(TimesSerializer(moved).data)


@extend_schema(
    operation_id="open",
    summary="Accept runs from now on; for organisers",
    request=None,
    responses=TIMES,
)
@api_view(["POST"])
def open_phase(request: Request, pk: int) -> Response:
    return _switched(request, pk, open_now)


@extend_schema(
    operation_id="close",
    summary="Accept no more runs from now on; for organisers",
    request=None,
    responses=TIMES,
)
@api_view(["POST"])
def close_phase(request: Request, pk: int) -> Response:
    return _switched(request, pk, close_now)


@extend_schema(
    operation_id="board",
    summary="Say who sees a phase's board, and from when somebody else; for organisers",
    request={"multipart/form-data": BoardForm},
    responses=BOARD,
)
@api_view(["POST"])
def board(request: Request, pk: int) -> Response:
    phase = phase_to_organise(request, pk)
    form = BoardForm(data=request.data)
    form.is_valid(raise_exception=True)
    wanted = {name: getattr(phase, name) for name in BOARD_FIELDS} | form.validated_data
    changed = change_board(phase=phase, by=person(request), **wanted)
    return Response(BoardSerializer(changed).data)


@extend_schema(
    operation_id="reveal",
    summary="Show a phase's board to everybody from now on; for organisers",
    request=None,
    responses=BOARD,
)
@api_view(["POST"])
def reveal(request: Request, pk: int) -> Response:
    phase = phase_to_organise(request, pk)
    return Response(BoardSerializer(reveal_now(phase=phase, by=person(request))).data)


def _switched(request: Request, pk: int, switch: Callable[..., Phase]) -> Response:
    phase = phase_to_organise(request, pk)
    changed = switch(phase=phase, by=person(request))
    return Response(TimesSerializer(changed).data)


def phase_to_organise(request: Request, pk: int) -> Phase:
    phase = phase_for_reader(request.user, pk)
    if not may_organise(request.user, phase.task.season):
        raise Http404("You do not organise the season of this phase.")
    return phase
