"""How a season goes, for programs of its organisers; their page shows the same."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT, READ
from scoring.api.teams import CHANGES
from scoring.ops.season_progress import progress_of
from tasks.seasons.access import season_to_help


class DaySerializer(serializers.Serializer[Any]):
    """Runs that teams sent on one day, by what has become of them."""

    day = serializers.DateField(help_text="UTC.")
    sent = serializers.IntegerField()
    scored = serializers.IntegerField()
    moving = serializers.IntegerField(help_text="On the way.")
    not_scored = serializers.IntegerField(help_text="Failed, refused or cancelled.")


class SeasonQueueSerializer(serializers.Serializer[Any]):
    """The season's jobs in one queue."""

    queue = serializers.CharField()
    queued = serializers.IntegerField()
    running = serializers.IntegerField()
    oldest = serializers.DateTimeField(allow_null=True, help_text="When the first of the queued was made.")


class ScoringTimesSerializer(serializers.Serializer[Any]):
    """Of the newest scorings within a week, in seconds; medians, and the longest of all."""

    jobs = serializers.IntegerField()
    waited = serializers.FloatField(help_text="From the queue to a worker.")
    took = serializers.FloatField(help_text="From the worker to the score.")
    longest = serializers.FloatField(help_text="From the queue to the score.")


class ProgressSerializer(serializers.Serializer[Any]):
    """How the season goes."""

    runs = serializers.IntegerField(help_text="Baselines included.")
    run_bytes = serializers.IntegerField(help_text="In their files.")
    times = ScoringTimesSerializer(allow_null=True)
    queues = SeasonQueueSerializer(many=True)
    days = DaySerializer(many=True, help_text="The newest 30 on which teams sent runs, the oldest first.")


@extend_schema(
    operation_id="progress",
    summary="Runs by day, how long they wait and what they take on the disk; for organisers",
    responses={200: ProgressSerializer, **CHANGES, 404: ABSENT},
)
@api_view(READ)
def progress(request: Request, slug: str) -> Response:
    return Response(ProgressSerializer(progress_of(season_to_help(request.user, slug))).data)
