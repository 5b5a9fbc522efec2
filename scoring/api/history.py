"""What was done in a season: for its organisers all of it, for a team what concerns it."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.actions import MAX_WORDS
from citeboard.core.api import ABSENT, PAGE_PARAMETERS, READ, paged, paged_answer
from citeboard.core.models import AuditEntry
from scoring.api.teams import CHANGES
from tasks.seasons.access import season_for
from tasks.seasons.history import readable_history


class ChangeSerializer(serializers.Serializer[Any]):
    """What turned into what."""

    key = serializers.CharField(help_text="A setting is named as in the season file.")
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)


class HistorySerializer(serializers.ModelSerializer[AuditEntry]):
    """One act."""

    actor = serializers.CharField(source="actor_name", help_text="What the person was called then.")
    words = serializers.CharField(
        max_length=MAX_WORDS, help_text="What was done, after the name of who did it."
    )
    changes = ChangeSerializer(many=True)

    class Meta:
        model = AuditEntry
        fields = ["id", "at", "actor", "action", "words", "subject", "changes"]


@extend_schema(
    operation_id="history",
    summary="What was done in a season, newest first: to organisers all, to a team what concerns it",
    parameters=PAGE_PARAMETERS,
    responses={200: paged(HistorySerializer), **CHANGES, 404: ABSENT},
)
@api_view(READ)
def history(request: Request, slug: str) -> Response:
    season = season_for(request.user, slug)
    return paged_answer(request, readable_history(season, request.user), HistorySerializer)
