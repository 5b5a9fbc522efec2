"""What is asked, and when: open to everybody who may see the season."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Prefetch, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import (
    ABSENT,
    PAGE_PARAMETERS,
    READ,
    SIGN_IN,
    TOO_MANY,
    paged,
    paged_answer,
    readable_anywhere,
)
from scoring.api.serializers import PhaseDetail, SeasonDetail, SeasonSerializer, TaskSerializer
from scoring.models import Evaluation
from tasks.models import Gold, Phase, Season, Task
from tasks.seasons.access import entered_teams, may_have_inputs
from tasks.submissions.submit import quota

READING = {401: SIGN_IN, 404: ABSENT, 429: TOO_MANY}


@readable_anywhere
@extend_schema(
    operation_id="seasons",
    summary="The seasons, newest first",
    parameters=PAGE_PARAMETERS,
    responses={200: paged(SeasonSerializer), **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def seasons(request: Request) -> Response:
    return paged_answer(request, Season.objects.visible_to(request.user), SeasonSerializer)


@readable_anywhere
@extend_schema(
    operation_id="season",
    summary="A season with its tasks and phases",
    responses={200: SeasonDetail, **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def season(request: Request, slug: str) -> Response:
    visible = Season.objects.visible_to(request.user).prefetch_related(Prefetch("tasks", _tasks()))
    found = get_object_or_404(visible, slug=slug)
    return Response(SeasonDetail(found, context={"request": request}).data)


@readable_anywhere
@extend_schema(
    operation_id="task", summary="A task with its phases", responses={200: TaskSerializer, **READING}
)
@api_view(READ)
@permission_classes([AllowAny])
def task(request: Request, pk: int) -> Response:
    visible = _tasks().filter(season__in=Season.objects.visible_to(request.user).values("pk"))
    return Response(TaskSerializer(get_object_or_404(visible, pk=pk), context={"request": request}).data)


@readable_anywhere
@extend_schema(
    operation_id="phase",
    summary="A phase, and what your teams may still send",
    responses={200: PhaseDetail, **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def phase(request: Request, pk: int) -> Response:
    found = phase_for_reader(request.user, pk)
    has_inputs = may_have_inputs(request.user, found)
    found.current_gold = Gold.objects.current(found) if has_inputs else None  # type: ignore[attr-defined]
    found.quotas = _quotas(found, request.user)  # type: ignore[attr-defined]
    return Response(PhaseDetail(found, context={"request": request}).data)


def phase_for_reader(user: object, pk: int) -> Phase:
    """A phase of a season that the user may see; any other looks absent."""
    return get_object_or_404(_read(Phase.objects.visible_to(user)), pk=pk)


def _tasks() -> QuerySet[Task]:
    return Task.objects.select_related("season").prefetch_related(
        Prefetch("phases", _read(Phase.objects.all()))
    )


def _read(phases: QuerySet[Phase]) -> QuerySet[Phase]:
    """``has_scores`` spares looking for the leader of a phase that has none."""
    scored = Evaluation.objects.filter(phase=OuterRef("pk"))
    return phases.select_related("task__season").annotate(has_scores=Exists(scored))


def _quotas(phase: Phase, user: object) -> list[dict[str, object]]:
    quotas = [(team, quota(phase, team)) for team in entered_teams(user, phase.task.season)]
    return [
        {
            "team": team.slug,
            "left": now.left,
            "left_today": now.left_today,
            "left_in_total": now.left_in_total,
            "renews_at": now.renews_at,
            "extra": now.extra,
        }
        for team, now in quotas
    ]
