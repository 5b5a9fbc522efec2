"""What organisers do by program to freeze a board and to reveal it."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT
from citeboard.teams.api import person
from scoring.api.moments import MomentField
from scoring.api.organise import phase_to_organise
from scoring.api.teams import CHANGES, CONFLICT
from scoring.board.snapshots import save_frozen_board
from tasks.models import Phase
from tasks.seasons.phase_acts import FREEZE_FIELDS, freeze_board, freeze_now, reveal_frozen


class FreezeForm(serializers.Serializer[Any]):
    """From when the board is frozen, and until when; what is left out stays as it is."""

    frozen_from = MomentField(required=False, allow_null=True)
    frozen_until = MomentField(required=False, allow_null=True)


class FreezeSerializer(serializers.ModelSerializer[Phase]):
    """When others than organisers see the board as it stood at `frozen_from`."""

    is_frozen = serializers.BooleanField(help_text="Whether it is frozen now.")

    class Meta:
        model = Phase
        fields = ["id", *FREEZE_FIELDS, "is_frozen"]


FROZEN = {200: FreezeSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT}


@extend_schema(
    operation_id="freeze",
    summary="Freeze a phase's board for others, at the instants given or now; for organisers",
    request={"multipart/form-data": FreezeForm},
    responses=FROZEN,
)
@api_view(["POST"])
def freeze(request: Request, pk: int) -> Response:
    phase = phase_to_organise(request, pk)
    form = FreezeForm(data=request.data)
    form.is_valid(raise_exception=True)
    wanted = {name: getattr(phase, name) for name in FREEZE_FIELDS} | form.validated_data
    if form.validated_data:
        frozen = freeze_board(phase=phase, by=person(request), **wanted)
    else:
        frozen = freeze_now(phase=phase, by=person(request))
        save_frozen_board(frozen)
    return Response(FreezeSerializer(frozen).data)


@extend_schema(
    operation_id="unfreeze",
    summary="Reveal a frozen board as it stands now; for organisers",
    request=None,
    responses=FROZEN,
)
@api_view(["POST"])
def unfreeze(request: Request, pk: int) -> Response:
    phase = phase_to_organise(request, pk)
    revealed = reveal_frozen(phase=phase, by=person(request))
    return Response(FreezeSerializer(revealed).data)
