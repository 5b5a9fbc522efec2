"""Results that teams confirm or contest before they are called official."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT, READ, SIGN_IN, TOO_MANY
from citeboard.teams.access import team_for_lead
from citeboard.teams.api import person
from scoring.api.organise import phase_to_organise
from scoring.api.own_runs import CHANGED, own_runs
from scoring.api.teams import CHANGES, CONFLICT
from scoring.board.confirming import Result, official_since, results_of
from scoring.models import ResultConfirmation
from scoring.runs.confirming import (
    MAX_MESSAGE,
    MAX_REASON,
    confirm_result,
    contest_result,
    end_confirmation,
    reopen_confirmation,
)
from tasks.models import Phase, Submission


class ConfirmForm(serializers.Serializer[Any]):
    """The numbers as they are now, or those that were read."""

    seen = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=64,
        help_text="The `numbers` of an answer; refused where the scores are others by now.",
    )


class ContestForm(ConfirmForm):
    """What is wrong with them."""

    message = serializers.CharField(max_length=MAX_MESSAGE, help_text="Organisers read it.")


class EndConfirmationForm(serializers.Serializer[Any]):
    """Why the results are official without every team's word."""

    reason = serializers.CharField(max_length=MAX_REASON)


class ConfirmedResultSerializer(serializers.Serializer[Any]):
    """What a team says of the result of a run that counts."""

    submission = serializers.IntegerField()
    team = serializers.CharField()
    gold = serializers.IntegerField(help_text="The version that the run was scored against.")
    numbers = serializers.CharField(help_text="A digest of its scores, which changes where one does.")
    state = serializers.ChoiceField(
        choices=["missing", *ResultConfirmation.State.values],
        help_text="Missing too where it was said of other numbers.",
    )
    message = serializers.CharField(allow_blank=True, help_text="Why it is contested.")
    said_at = serializers.DateTimeField(allow_null=True)


class ConfirmedResultsSerializer(serializers.Serializer[Any]):
    """What teams say of the results of a phase."""

    confirms_results = serializers.BooleanField(help_text="Whether teams are asked.")
    official_since = serializers.DateTimeField(allow_null=True, help_text="Null while they are preliminary.")
    ended_because = serializers.CharField(allow_blank=True, help_text="Why organisers ended it.")
    results = ConfirmedResultSerializer(many=True)


RESULTS = {200: ConfirmedResultsSerializer, **CHANGES, 404: ABSENT, 409: CONFLICT}
ANSWERED = {**CHANGED, 200: ConfirmedResultSerializer}


@extend_schema(
    operation_id="confirm",
    summary="Confirm the result of a run that counts; for the lead of its team, once the phase has closed",
    request={"multipart/form-data": ConfirmForm},
    responses=ANSWERED,
)
@api_view(["POST"])
def confirm(request: Request, pk: int) -> Response:
    run = _of_lead(request, pk)
    form = ConfirmForm(data=request.data)
    form.is_valid(raise_exception=True)
    result = confirm_result(submission=run, by=person(request), **form.validated_data)
    return Response(_described(result))


@extend_schema(
    operation_id="contest",
    summary="Contest the result of a run that counts; for the lead of its team, once the phase has closed",
    request={"multipart/form-data": ContestForm},
    responses=ANSWERED,
)
@api_view(["POST"])
def contest(request: Request, pk: int) -> Response:
    run = _of_lead(request, pk)
    form = ContestForm(data=request.data)
    form.is_valid(raise_exception=True)
    result = contest_result(submission=run, by=person(request), **form.validated_data)
    return Response(_described(result))


@extend_schema(
    operation_id="confirmation",
    summary="What each team says of the results of a phase; for organisers",
    responses={200: ConfirmedResultsSerializer, 401: SIGN_IN, 404: ABSENT, 429: TOO_MANY},
)
@api_view(READ)
def confirmation(request: Request, pk: int) -> Response:
    return _results(phase_to_organise(request, pk))


@extend_schema(
    operation_id="end_confirmation",
    summary="Call the results of a phase official, whatever teams have said; for organisers",
    request={"multipart/form-data": EndConfirmationForm},
    responses=RESULTS,
)
@api_view(["POST"])
def end(request: Request, pk: int) -> Response:
    phase = phase_to_organise(request, pk)
    form = EndConfirmationForm(data=request.data)
    form.is_valid(raise_exception=True)
    ended = end_confirmation(phase=phase, by=person(request), **form.validated_data)
    return _results(ended)


@extend_schema(
    operation_id="reopen_confirmation",
    summary="Let teams confirm their results again; for organisers",
    request=None,
    responses=RESULTS,
)
@api_view(["POST"])
def reopen(request: Request, pk: int) -> Response:
    phase = phase_to_organise(request, pk)
    reopened = reopen_confirmation(phase=phase, by=person(request))
    return _results(reopened)


def _of_lead(request: Request, pk: int) -> Submission:
    """Raises Http404 for whoever is not in its team, and PermissionDenied for whoever does not lead it."""
    user = person(request)
    run = get_object_or_404(own_runs(user), pk=pk)
    team_for_lead(user, run.team.slug if run.team else "")
    return run


def _results(phase: Phase) -> Response:
    results = results_of(phase)
    found = {
        "confirms_results": phase.confirms_results,
        "official_since": official_since(phase, results),
        "ended_because": phase.confirmation_ended_because,
        "results": [_described(result) for result in results],
    }
    return Response(ConfirmedResultsSerializer(found).data)


def _described(result: Result) -> dict[str, Any]:
    said = result.said
    found = {
        "submission": result.run.submission,
        "team": result.run.team_slug,
        "gold": result.gold.number,
        "numbers": result.numbers,
        "state": said.state if said else "missing",
        "message": said.message if said else "",
        "said_at": said.at if said else None,
    }
    return dict(ConfirmedResultSerializer(found).data)
