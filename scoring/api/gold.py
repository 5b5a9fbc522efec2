"""The gold of a task: its versions, and a new one; for organisers."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import exceptions, serializers
from rest_framework.decorators import api_view, throttle_classes
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import (
    ABSENT,
    INVALID,
    PAGE_PARAMETERS,
    READ,
    SIGN_IN,
    TOO_LARGE,
    TOO_MANY,
    RequestThrottle,
    UploadThrottle,
    paged,
    paged_answer,
    require_length,
)
from citeboard.teams.api import person
from scoring.api.forms import RejectedRun
from scoring.api.teams import CONFLICT
from scoring.worker.rescoring import publish_gold
from tasks.models import Gold, Phase, Task
from tasks.seasons.access import may_organise
from tasks.submissions.uploads import received

MAX_REASON = 500
MAX_SPLIT = 100


class GoldVersionSerializer(serializers.ModelSerializer[Gold]):
    """A version of a split's gold; a version never changes."""

    sha256 = serializers.CharField(source="digest")

    class Meta:
        model = Gold
        fields = ["number", "split", "sha256", "instances", "reason", "created_at"]


class GoldQuery(serializers.Serializer[Any]):
    split = serializers.CharField(required=False, allow_blank=True, help_text="This split's alone.")


class GoldForm(serializers.Serializer[Any]):
    """Gold to be published."""

    file = serializers.FileField(help_text="The gold as the task type reads it: a file, or a zip of files.")
    reason = serializers.CharField(
        max_length=MAX_REASON, help_text="What is new or was corrected; teams read it."
    )
    split = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=MAX_SPLIT,
        help_text="Needed where the task's phases have several.",
    )
    also = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text="Slugs of other tasks of the season with commas between: the file is their gold too, of "
        "the split of the same name.",
    )
    again = serializers.BooleanField(
        required=False, default=False, help_text="Publish what an earlier version holds once more."
    )


@extend_schema(
    methods=["GET"],
    operation_id="gold",
    summary="The versions of a task's gold, newest first; for organisers",
    parameters=[GoldQuery, *PAGE_PARAMETERS],
    responses={200: paged(GoldVersionSerializer), 400: INVALID, 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@extend_schema(
    methods=["POST"],
    operation_id="publish_gold",
    summary="Publish a new version of the gold; every run is scored against it",
    request={"multipart/form-data": GoldForm},
    responses={
        200: OpenApiResponse(GoldVersionSerializer, "This is the newest version already; nothing changes."),
        201: OpenApiResponse(GoldVersionSerializer, "The new version; runs are being scored against it."),
        400: INVALID,
        401: SIGN_IN,
        404: ABSENT,
        409: CONFLICT,
        413: TOO_LARGE,
        422: OpenApiResponse(RejectedRun, "The file is no gold of this task; nothing was kept."),
        429: TOO_MANY,
    },
)
@api_view([*READ, "POST"])
@throttle_classes([RequestThrottle, UploadThrottle])
def gold(request: Request, pk: int) -> Response:
    task = get_object_or_404(Task.objects.select_related("season"), pk=pk)
    if not may_organise(request.user, task.season):
        raise Http404("You do not organise the season of this task.")
    if request.method != "POST":
        versions = Gold.objects.filter(task=task).order_by("-created_at", "-pk")
        query = GoldQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        if split := query.validated_data.get("split"):
            versions = versions.filter(split=split)
        return paged_answer(request, versions, GoldVersionSerializer)
    require_length(request)
    form = GoldForm(data=request.data)
    form.is_valid(raise_exception=True)
    given = form.validated_data
    split = _split(task, given["split"])
    splits = [(task, split), *((other, _split(other, split)) for other in _others(task, given["also"]))]
    with received(given["file"]) as upload:
        made = publish_gold(
            splits=splits, upload=upload, reason=given["reason"], by=person(request), again=given["again"]
        )
    is_new = any(new.is_new for new in made)
    return Response(GoldVersionSerializer(made[0].gold).data, status=201 if is_new else 200)


def _others(task: Task, named: str) -> list[Task]:
    slugs = list(dict.fromkeys(slug.strip() for slug in named.split(",") if slug.strip()))
    found = {other.slug: other for other in Task.objects.filter(season=task.season).exclude(pk=task.pk)}
    if unknown := [slug for slug in slugs if slug not in found]:
        raise exceptions.ValidationError({"also": [f"The season has no other task {', '.join(unknown)}."]})
    return [found[slug] for slug in slugs]


def _split(task: Task, named: str) -> str:
    """The split that is named, or the only one that a phase of the task scores with."""
    splits = sorted(set(Phase.objects.filter(task=task).values_list("split", flat=True)))
    if not named and len(splits) == 1:
        return splits[0]
    if named not in splits:
        raise exceptions.ValidationError(
            {"split": [f"Phases of this task have {', '.join(splits) or 'none'}."]}
        )
    return named
