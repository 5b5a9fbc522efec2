"""A run with its scores."""

from __future__ import annotations

import hashlib
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_vary_headers
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.decorators import api_view
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from citeboard.core.api import JSON, READ
from scoring.api.own_runs import OWN, own_runs
from scoring.api.printed import printed
from scoring.api.score_serializers import SubmissionDetail
from scoring.api.serializers import SubmissionSerializer
from scoring.board.visibility import audience_of, may_see_scores
from scoring.runs.progress import expected_wait
from scoring.runs.team_view import hides_outcome
from tasks.jobs.queue_choice import place_in_queue
from tasks.models import Submission

#: The least and the most seconds after which a run that moves is worth another look.
MIN_PAUSE, MAX_PAUSE = 1, 15


@extend_schema(
    operation_id="submission",
    summary="A run: what became of it, and its scores",
    parameters=[
        OpenApiParameter(
            "If-None-Match", str, OpenApiParameter.HEADER, description="The ETag of the answer you have."
        )
    ],
    responses={
        200: OpenApiResponse(
            SubmissionDetail, "While the run moves, `Retry-After` says in how many seconds to ask again."
        ),
        304: OpenApiResponse(description="Nothing has changed since the answer with this ETag."),
        **OWN,
    },
)
@api_view(READ)
def submission(request: Request, pk: int) -> HttpResponseBase:
    found = get_object_or_404(own_runs(request.user), pk=pk)
    is_veiled = hides_outcome(found, request.user)
    place = None if is_veiled else place_in_queue(found)
    is_seen = may_see_scores(found, request.user)
    evaluations = (
        printed(found, audience_of(found.phase, request.user))
        if is_seen and found.status in WITH_SCORES
        else []
    )
    ranking = [
        evaluation for evaluation in evaluations if evaluation["rules"] == found.phase.task.ranking_rules
    ]
    return _unless_unchanged(
        request,
        {
            **SubmissionSerializer(found, context={"request": request}).data,
            "place": place,
            "expected_seconds": None if is_veiled else expected_wait(found, place),
            "problems": found.problems,
            "warnings": found.warnings,
            "scores_hidden": not is_seen,
            "scores": ranking[0] if ranking else None,
            "evaluations": evaluations,
        },
        again_in(found) if found.is_moving and not is_veiled else None,
    )


def again_in(run: Submission) -> int:
    """Seconds after which it is worth asking again: soon after it was sent, and then more and more rarely."""
    age = (timezone.now() - run.submitted_at).total_seconds()
    return round(min(max(age / 10, MIN_PAUSE), MAX_PAUSE))


def _unless_unchanged(request: Request, body: dict[str, Any], again: int | None) -> HttpResponseBase:
    """304 to who has this answer already; while the run moves, it says when to ask again."""
    content = JSONRenderer().render(body)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    response = get_conditional_response(request._request, etag=tag)  # noqa: SLF001  # what Django reads
    if response is None:
        response = HttpResponse(content, content_type=JSON)
        response["ETag"] = tag
    if again is not None:
        response["Retry-After"] = str(again)
    patch_vary_headers(response, ["Authorization", "Cookie"])
    return response


#: A withdrawn run keeps its numbers for its team; they are off the board alone.
WITH_SCORES = (Submission.Status.SCORED, Submission.Status.WITHDRAWN)
