"""Sending runs: checked, and taken or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import exceptions
from rest_framework.decorators import api_view, throttle_classes
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import (
    ABSENT,
    FORBIDDEN,
    INVALID,
    SIGN_IN,
    TOO_LARGE,
    TOO_MANY,
    RequestThrottle,
    UploadThrottle,
    require_length,
)
from citeboard.teams.access import team_for_member
from citeboard.teams.api import person
from citeboard.teams.models import Team
from scoring.api.forms import IDEMPOTENCY_KEY, Accepted, Checked, CheckForm, Closed, RejectedRun, RunForm
from scoring.api.seasons import phase_for_reader
from scoring.api.serializers import address
from scoring.runs.team_view import as_told
from tasks.models import Season
from tasks.models.run_cards import CARD
from tasks.seasons.access import entered_teams, require_inputs
from tasks.submissions.refusals import RunRejected
from tasks.submissions.run_card import EVERY
from tasks.submissions.submit import check_run, said_of, submit_run
from tasks.submissions.uploads import received, received_if_any

REFUSED = {
    400: INVALID,
    401: SIGN_IN,
    403: FORBIDDEN,
    404: ABSENT,
    413: TOO_LARGE,
    422: OpenApiResponse(RejectedRun, "The run was refused; it costs nothing."),
    429: TOO_MANY,
}


@extend_schema(
    operation_id="submit",
    summary="Submit a run",
    request={"multipart/form-data": RunForm},
    parameters=[IDEMPOTENCY_KEY],
    responses={
        201: OpenApiResponse(Accepted, "The run is taken and waits to be scored."),
        **REFUSED,
        409: OpenApiResponse(Closed, "The phase accepts no runs now."),
    },
)
@api_view(["POST"])
@throttle_classes([RequestThrottle, UploadThrottle])
def submissions(request: Request, pk: int) -> Response:
    require_length(request)
    phase = phase_for_reader(request.user, pk)
    form = RunForm(data=request.data)
    form.is_valid(raise_exception=True)
    given = form.validated_data
    team = team_of_sender(request.user, phase.task.season, given.get("team", ""))
    with (
        received(given["run"]) as upload,
        received_if_any(given.get("metadata")) as metadata,
    ):
        submission = submit_run(
            phase=phase,
            team=team,
            user=person(request),
            upload=upload,
            system=given["system"],
            description=given["description"],
            kind=given["kind"],
            team_figures=given_figures(given),
            card=given_card(given),
            metadata=metadata,
            priority=given.get("priority"),
            idempotency_key=request.headers.get("Idempotency-Key", ""),
        )
    url = address(request, "api:submission", submission.pk)
    answer = Accepted(
        {
            "id": submission.pk,
            "number": submission.number,
            "status": as_told(submission, request.user).status,
            "url": url,
            "warnings": submission.warnings,
        }
    )
    return Response(answer.data, status=201, headers={"Location": url})


@extend_schema(
    operation_id="check",
    summary="Check a run without submitting it",
    request={"multipart/form-data": CheckForm},
    responses={
        200: OpenApiResponse(Checked, "The run would be taken."),
        **REFUSED,
        409: OpenApiResponse(
            Closed, "The phase has no gold yet to check runs by, or its inputs are not released."
        ),
    },
)
@api_view(["POST"])
@throttle_classes([RequestThrottle, UploadThrottle])
def check(request: Request, pk: int) -> Response:
    """What submitting would say of the file; nothing is stored, and nothing counts."""
    require_length(request)
    phase = phase_for_reader(request.user, pk)
    form = CheckForm(data=request.data)
    form.is_valid(raise_exception=True)
    given = form.validated_data
    with (
        received(given["run"]) as upload,
        received_if_any(given.get("metadata")) as metadata,
    ):
        require_inputs(request.user, phase)
        said = said_of(
            phase.task.task_type,
            description=given["description"],
            card=given_card(given),
            figures=given_figures(given),
        )
        found = check_run(phase=phase, upload=upload, by=person(request), said=said, metadata=metadata)
        if found.errors:
            raise RunRejected.of(found.problems)
    return Response({"warnings": [problem.as_dict() for problem in found.problems]})


def given_card(given: Mapping[str, Any]) -> dict[str, str]:
    """The fields of the run card that a request has."""
    return {name: given[name] for name in CARD if name in given}


def given_figures(given: Mapping[str, Any]) -> dict[str, object]:
    return {name: given[name] for name in EVERY if name in given}


def team_of_sender(user: object, season: Season, slug: str) -> Team:
    """The team that is named, or the only one of the sender's that takes part in the season."""
    if slug:
        return team_for_member(user, slug)
    teams = list(entered_teams(user, season)[:10])
    if not teams:
        raise exceptions.PermissionDenied("You are in no team that takes part in this season.")
    if len(teams) > 1:
        names = ", ".join(team.slug for team in teams)
        raise exceptions.ValidationError({"team": [f"You are in several teams here; name one of {names}."]})
    return teams[0]
