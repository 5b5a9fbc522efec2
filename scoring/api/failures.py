"""Failures of a season, and acknowledging them; for organisers and helpers."""

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
from scoring.api.teams import CHANGES, CONFLICT
from scoring.ops.season_progress import acknowledged, failed_rescorings, failed_runs
from tasks.jobs.acknowledging import acknowledge, take_acknowledgement_back
from tasks.models import Acknowledgement, Job, Submission
from tasks.models.jobs import MAX_NOTE
from tasks.seasons.access import season_to_help

#: The newest of each kind; the page of runs has all.
MAX_LISTED = 200


class AcknowledgementSerializer(serializers.Serializer[Any]):
    """That somebody has seen to it."""

    id = serializers.IntegerField()
    note = serializers.CharField()
    by = serializers.CharField(help_text="Empty where the account is deleted.")
    at = serializers.DateTimeField()


class SeasonFailureSerializer(serializers.Serializer[Any]):
    """A run that failed, or with a `job` a scored run that could not be scored again."""

    submission = serializers.IntegerField()
    system = serializers.CharField()
    team = serializers.CharField(allow_null=True, help_text="Its slug.")
    job = serializers.IntegerField(allow_null=True)
    rules = serializers.CharField(allow_null=True)
    reason = serializers.CharField()
    failed_at = serializers.DateTimeField()
    acknowledged = AcknowledgementSerializer(allow_null=True)


class AcknowledgeForm(serializers.Serializer[Any]):
    """Which failure, and what there is to say of it."""

    submission = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    job = serializers.IntegerField(min_value=1, max_value=2**63 - 1, required=False)
    note = serializers.CharField(required=False, allow_blank=True, default="", max_length=MAX_NOTE)


@extend_schema(
    methods=["GET"],
    operation_id="failures",
    summary="What failed in a season and is not made good, acknowledged or not; for organisers and helpers",
    responses={200: SeasonFailureSerializer(many=True), 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@extend_schema(
    methods=["POST"],
    operation_id="acknowledge",
    summary="Acknowledge a failure; it comes back if it fails again",
    request={"multipart/form-data": AcknowledgeForm},
    responses={201: AcknowledgementSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view([*READ, "POST"])
def failures(request: Request, slug: str) -> Response:
    season = season_to_help(request.user, slug)
    if request.method != "POST":
        known = {(own.submission_id, own.job_id): own for own in acknowledged(season)}
        runs = [_of_run(run, known) for run in failed_runs(season)[:MAX_LISTED]]
        jobs = [_of_job(job, known) for job in failed_rescorings(season)[:MAX_LISTED]]
        return Response(SeasonFailureSerializer([*runs, *jobs], many=True).data)
    form = AcknowledgeForm(data=request.data)
    form.is_valid(raise_exception=True)
    given = form.validated_data
    run = get_object_or_404(Submission, pk=given["submission"], phase__task__season=season)
    job = get_object_or_404(Job, pk=given["job"], submission=run) if "job" in given else None
    made = acknowledge(run=run, job=job, note=given["note"], by=person(request))
    return Response(AcknowledgementSerializer(_said(made)).data, status=201)


@extend_schema(
    operation_id="take_acknowledgement_back",
    summary="Let a failure need attention again",
    request=None,
    responses={204: None, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["DELETE"])
def take_back(request: Request, slug: str, acknowledgement: int) -> Response:
    season = season_to_help(request.user, slug)
    found = get_object_or_404(Acknowledgement, pk=acknowledgement, submission__phase__task__season=season)
    take_acknowledgement_back(acknowledgement=found, by=person(request))
    return Response(status=204)


_Known = dict[tuple[int, int | None], Acknowledgement]


def _of_run(run: Submission, known: _Known) -> dict[str, Any]:
    return {
        "submission": run.pk,
        "system": run.system,
        "team": run.team.slug if run.team else None,
        "job": None,
        "rules": None,
        "reason": run.reason,
        "failed_at": run.status_since,
        "acknowledged": _said(known.get((run.pk, None))),
    }


def _of_job(job: Job, known: _Known) -> dict[str, Any]:
    return _of_run(job.submission, {}) | {
        "job": job.pk,
        "rules": job.rules,
        "reason": job.reason,
        "failed_at": job.finished_at,
        "acknowledged": _said(known.get((job.submission_id, job.pk))),
    }


def _said(own: Acknowledgement | None) -> dict[str, Any] | None:
    if own is None:
        return None
    return {"id": own.pk, "note": own.note, "by": str(own.by or ""), "at": own.at}
