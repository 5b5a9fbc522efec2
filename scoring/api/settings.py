"""The settings of a season, its tasks and phases, by the keys of the season file; for organisers."""

from __future__ import annotations

import json
from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT, READ, SIGN_IN, TOO_MANY
from citeboard.teams.api import person
from scoring.api.season_files import DifferenceSerializer
from scoring.api.teams import CHANGES, CONFLICT
from scoring.ops.pruning import delete_season
from tasks.models import Phase, Season, Task
from tasks.seasons.access import may_create_seasons, season_to_organise
from tasks.seasons.file.entries import SEASON, rows_of
from tasks.seasons.file.load import change_settings
from tasks.seasons.file.plan import settings_now
from tasks.seasons.history import delete_phase, delete_task
from tasks.seasons.presets import PRESETS, season_from


class ObjectField(serializers.JSONField):
    """An object, of what can be written again."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        try:
            value = super().to_internal_value(data)
            json.dumps(value, ensure_ascii=False).encode()
        except (RecursionError, UnicodeEncodeError):
            self.fail("invalid")
        if not isinstance(value, dict):
            raise serializers.ValidationError("Give an object with keys and values.")
        return value


class SettingsForm(serializers.Serializer[Any]):
    """Settings by their keys; what is left out stays as it is."""

    settings = ObjectField(
        help_text="An object such as {“tasks.1a.phases.final.closes”: “2026-05-01 23:59 AoE”}. null takes a "
        "setting back to its default. Keys of a task or phase that is not there make one."
    )


class SettingsSerializer(serializers.Serializer[Any]):
    """All settings as they are now."""

    settings = serializers.DictField(child=serializers.JSONField())


class ChangedSerializer(serializers.Serializer[Any]):
    """What was changed."""

    changes = serializers.ListField(child=serializers.CharField())
    differences = DifferenceSerializer(many=True)


class FaultSerializer(serializers.Serializer[Any]):
    """What is wrong with a setting."""

    key = serializers.CharField(help_text="Empty where it is no single one.")
    message = serializers.CharField()
    expected = serializers.CharField()


class FaultsSerializer(serializers.Serializer[Any]):
    """Nothing was changed."""

    detail = serializers.CharField()
    faults = FaultSerializer(many=True)


class PresetForm(serializers.Serializer[Any]):
    """A season that is made from a preset."""

    title = serializers.CharField(max_length=120)
    slug = serializers.CharField(max_length=60, help_text="Small letters, digits and single hyphens.")
    task_type = serializers.CharField(help_text="A task type, such as clsumm-1a.")
    time_zone = serializers.CharField(required=False, default="UTC", help_text="Such as Europe/Rome or AoE.")
    dates = ObjectField(
        help_text="When it begins and ends, such as {“opens”: “2026-05-01 00:00”}; each preset says which."
    )

    def validate_dates(self, value: dict[str, Any]) -> dict[str, Any]:
        if not all(isinstance(text, str) for text in value.values()):
            raise serializers.ValidationError("Give an object with a date and time for each name.")
        return value


class MadeSerializer(serializers.ModelSerializer[Season]):
    """The draft."""

    class Meta:
        model = Season
        fields = ["slug", "title"]


REFUSED = OpenApiResponse(FaultsSerializer, "Refused, with every setting that is wrong; nothing has changed.")


@extend_schema(
    methods=["GET"],
    operation_id="settings",
    summary="The settings of a season; for its organisers",
    responses={200: SettingsSerializer, 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@extend_schema(
    methods=["POST"],
    operation_id="change_settings",
    summary="Change settings, or add a task or a phase; for organisers",
    request={"multipart/form-data": SettingsForm},
    responses={200: ChangedSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT, 422: REFUSED},
)
@api_view([*READ, "POST"])
def settings(request: Request, slug: str) -> Response:
    season = season_to_organise(request.user, slug)
    if request.method != "POST":
        return Response(SettingsSerializer({"settings": settings_now(season)}).data)
    form = SettingsForm(data=request.data)
    form.is_valid(raise_exception=True)
    loaded = change_settings(season=season, values=form.validated_data["settings"], by=person(request))
    found = {"changes": loaded.changes, "differences": [row.as_json() for row in loaded.differences]}
    return Response(ChangedSerializer(found).data)


@extend_schema(
    operation_id="delete_settings",
    summary="Delete a task, such as tasks.1a, or a phase without runs, or (season) a draft; for organisers",
    request=None,
    responses={204: None, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["DELETE"])
def row(request: Request, slug: str, prefix: str) -> Response:
    season = season_to_organise(request.user, slug)
    found = season if prefix == SEASON else rows_of_prefix(season, prefix)
    if isinstance(found, Season):
        delete_season(season=found, by=person(request))
    elif isinstance(found, Task):
        delete_task(task=found, by=person(request))
    elif isinstance(found, Phase):
        delete_phase(phase=found, by=person(request))
    return Response(status=204)


@extend_schema(
    operation_id="season_from_preset",
    summary="Create a season from a preset: semeval, trec or open; for staff",
    request={"multipart/form-data": PresetForm},
    responses={201: MadeSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT, 422: REFUSED},
)
@api_view(["POST"])
def from_preset(request: Request, preset: str) -> Response:
    if not may_create_seasons(request.user) or preset not in PRESETS:
        raise Http404("Seasons are created by staff of the site.")
    form = PresetForm(data=request.data)
    form.is_valid(raise_exception=True)
    made = season_from(preset=PRESETS[preset], by=person(request), **form.validated_data)
    return Response(MadeSerializer(made).data, status=201)


def rows_of_prefix(season: Season, prefix: str) -> Task | Phase:
    """Raises Http404."""
    found = rows_of(season, held=False).get(prefix)
    if isinstance(found, (Task, Phase)):
        return found
    raise Http404("The season has no task or phase of this name.")
