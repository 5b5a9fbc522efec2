"""Sending one file to every task of a season whose format it carries."""

from __future__ import annotations

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.decorators import api_view, throttle_classes
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import RequestThrottle, UploadThrottle, require_length
from citeboard.teams.api import person
from scoring.api.forms import IDEMPOTENCY_KEY, AcceptedBundle, BundleForm, Closed
from scoring.api.runs import REFUSED, given_card, given_figures, team_of_sender
from scoring.api.serializers import address
from scoring.runs.team_view import as_told
from tasks.models import Bundle, Season
from tasks.submissions.bundles import runs_of, submit_bundle
from tasks.submissions.run_card import checked_details
from tasks.submissions.uploads import received, received_if_any


@extend_schema(
    operation_id="bundle",
    summary="Submit one file to every task of a season whose format it carries",
    request={"multipart/form-data": BundleForm},
    parameters=[IDEMPOTENCY_KEY],
    responses={
        201: OpenApiResponse(AcceptedBundle, "All runs of the file are taken and wait to be scored."),
        **REFUSED,
        409: OpenApiResponse(Closed, "A task that is named or carried accepts no runs now."),
    },
)
@api_view(["POST"])
@throttle_classes([RequestThrottle, UploadThrottle])
def submissions(request: Request, slug: str) -> Response:
    """All of its runs are taken, or none is and nothing counts."""
    require_length(request)
    season = get_object_or_404(Season.objects.visible_to(request.user), slug=slug)
    form = BundleForm(data=request.data)
    form.is_valid(raise_exception=True)
    given = form.validated_data
    team = team_of_sender(request.user, season, given.get("team", ""))
    with (
        received(given["run"]) as upload,
        received_if_any(given.get("metadata")) as metadata,
    ):
        bundle = submit_bundle(
            season=season,
            team=team,
            user=person(request),
            upload=upload,
            details=checked_details(
                system=given["system"],
                description=given["description"],
                kind=given["kind"],
                idempotency_key=request.headers.get("Idempotency-Key", ""),
            ),
            card=given_card(given),
            metadata=metadata,
            team_figures=given_figures(given),
            phase=given["phase"],
            tasks=[slug.strip() for slug in given["tasks"].split(",") if slug.strip()],
        )
    page = address(request, "bundle", bundle.pk)
    return Response(_described(request, bundle, page), status=201, headers={"Location": page})


def _described(request: Request, bundle: Bundle, page: str) -> dict[str, object]:
    parts = [
        {
            "id": run.pk,
            "number": run.number,
            "status": as_told(run, request.user).status,
            "url": address(request, "api:submission", run.pk),
            "warnings": run.warnings,
            "task": run.phase.task.slug,
            "phase": run.phase_id,
        }
        for run in runs_of(bundle)
    ]
    answer: dict[str, object] = AcceptedBundle({"id": bundle.pk, "page": page, "submissions": parts}).data
    return answer
