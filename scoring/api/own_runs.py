"""One's own runs: listed, taken back, and their files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import exceptions, serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core import storage
from citeboard.core.api import (
    ABSENT,
    FORBIDDEN,
    INVALID,
    PAGE_PARAMETERS,
    READ,
    SIGN_IN,
    TOO_MANY,
    paged,
    paged_answer,
)
from citeboard.core.plain_text import MAX_DESCRIPTION
from citeboard.core.storage.downloads import download
from citeboard.teams.access import teams_of
from citeboard.teams.api import person
from citeboard.teams.models import User
from scoring.api.forms import CardForm, Closed, SubmissionsQuery
from scoring.api.runs import given_card
from scoring.api.serializers import SubmissionSerializer
from scoring.runs.events import events
from scoring.runs.team_view import hides_outcome
from tasks.jobs.queue_choice import with_progress
from tasks.models import Season, Submission
from tasks.seasons.access import may_organise
from tasks.submissions import run_acts
from tasks.submissions.run_acts import (
    accept_late,
    delete_file,
    describe_run,
    select_run,
    set_priority,
    take_back,
)
from tasks.submissions.run_acts import cancel as cancel_run
from tasks.submissions.run_acts import withdraw as withdraw_run

Change = Callable[[Submission, User, str], Submission]


class ReasonForm(serializers.Serializer[Any]):
    """Why organisers change what stands for a team; a team gives no reason for its own acts."""

    reason = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=500, help_text="The team reads it."
    )


class PriorityForm(ReasonForm):
    """Another place among the team's runs."""

    priority = serializers.IntegerField(min_value=1, max_value=1000, help_text="1 comes first.")


#: What organisers do and teams do not.
BY_ORGANISERS = (accept_late, run_acts.disqualify, run_acts.hide, run_acts.reinstate)
OWN = {401: SIGN_IN, 404: ABSENT, 429: TOO_MANY}
CHANGED = {
    200: SubmissionSerializer,
    400: INVALID,
    **OWN,
    403: OpenApiResponse(FORBIDDEN.response, "The run is another team's, or the act one of organisers."),
    409: OpenApiResponse(Closed, "The run is past the state in which this can be done."),
}


@extend_schema(
    operation_id="submissions",
    summary="The runs of your teams, and of the seasons you organise, newest first",
    parameters=[SubmissionsQuery, *PAGE_PARAMETERS],
    responses={200: paged(SubmissionSerializer), 400: INVALID, **OWN},
)
@api_view(READ)
def submissions(request: Request) -> Response:
    query = SubmissionsQuery(data=request.query_params)
    query.is_valid(raise_exception=True)
    runs = own_runs(request.user)
    if "phase" in query.validated_data:
        runs = runs.filter(phase=query.validated_data["phase"])
    if "team" in query.validated_data:
        runs = runs.filter(team__slug=query.validated_data["team"])
    return paged_answer(request, runs, SubmissionSerializer)


@extend_schema(
    operation_id="cancel",
    summary="Cancel a run that is not scored yet; it no longer counts",
    request={"multipart/form-data": ReasonForm},
    responses=CHANGED,
)
@api_view(["POST"])
def cancel(request: Request, pk: int) -> Response:
    return _changed(request, pk, cancel_run)


@extend_schema(
    operation_id="withdraw",
    summary="Withdraw a scored run from the board; it still counts",
    request={"multipart/form-data": ReasonForm},
    responses=CHANGED,
)
@api_view(["POST"])
def withdraw(request: Request, pk: int) -> Response:
    return _changed(request, pk, withdraw_run)


@extend_schema(
    operation_id="select",
    summary="Let a run count for its team, where the phase leaves it the choice",
    request={"multipart/form-data": ReasonForm},
    responses=CHANGED,
)
@api_view(["POST"])
def select(request: Request, pk: int) -> Response:
    return _changed(request, pk, select_run)


@extend_schema(
    operation_id="set_priority",
    summary="Move a run to another place among its team's, where the first ones by priority count",
    request={"multipart/form-data": PriorityForm},
    responses=CHANGED,
)
@api_view(["POST"])
def priority(request: Request, pk: int) -> Response:
    submission = get_object_or_404(own_runs(person(request)), pk=pk)
    if submission.team not in teams_of(request.user):
        _require_organising(submission, person(request))
    form = PriorityForm(data=request.data)
    form.is_valid(raise_exception=True)
    return _changed(request, pk, partial(set_priority, place=form.validated_data["priority"]))


@extend_schema(
    operation_id="accept",
    summary="Let a late run count as if it had come in time; for organisers",
    request={"multipart/form-data": ReasonForm},
    responses=CHANGED,
)
@api_view(["POST"])
def accept(request: Request, pk: int) -> Response:
    return _changed(request, pk, accept_late)


@extend_schema(
    operation_id="disqualify",
    summary="Keep a run off every board and comparison; for organisers",
    request={"multipart/form-data": ReasonForm},
    responses=CHANGED,
)
@api_view(["POST"])
def disqualify(request: Request, pk: int) -> Response:
    return _changed(request, pk, run_acts.disqualify)


@extend_schema(
    operation_id="hide",
    summary="Keep a run off every board; for organisers",
    request={"multipart/form-data": ReasonForm},
    responses=CHANGED,
)
@api_view(["POST"])
def hide(request: Request, pk: int) -> Response:
    return _changed(request, pk, run_acts.hide)


@extend_schema(
    operation_id="reinstate",
    summary="Let a run that was disqualified or hidden stand on the board again; for organisers",
    request={"multipart/form-data": ReasonForm},
    responses=CHANGED,
)
@api_view(["POST"])
def reinstate(request: Request, pk: int) -> Response:
    return _changed(request, pk, run_acts.reinstate)


class DescriptionForm(CardForm):
    """What a team says of its run; what is left out stays as it is."""

    description = serializers.CharField(required=False, allow_blank=True, max_length=MAX_DESCRIPTION)
    links = serializers.CharField(
        required=False, allow_blank=True, help_text="Addresses, one a line; at most five."
    )


@extend_schema(
    operation_id="describe",
    summary="Change the description, the links and the card of a run; for its team",
    request={"multipart/form-data": DescriptionForm},
    responses=CHANGED,
)
@api_view(["POST"])
def description(request: Request, pk: int) -> Response:
    user = person(request)
    submission = _of_own_team(user, pk)
    form = DescriptionForm(data=request.data)
    form.is_valid(raise_exception=True)
    said = form.validated_data
    links = said["links"].splitlines() if "links" in said else submission.links
    describe_run(
        submission=submission,
        description=said.get("description", submission.description),
        links=links,
        card={**submission.card, **given_card(said)},
        by=user,
    )
    return Response(SubmissionSerializer(submission, context={"request": request}).data)


class EventSerializer(serializers.Serializer[Any]):
    """One step on the way of a run."""

    at = serializers.DateTimeField()
    by = serializers.CharField(help_text="Empty for what the site did itself.")
    words = serializers.CharField()


@extend_schema(
    operation_id="run_history",
    summary="What happened to a run, step by step",
    responses={200: EventSerializer(many=True), **OWN},
)
@api_view(READ)
def history(request: Request, pk: int) -> Response:
    submission = get_object_or_404(own_runs(request.user), pk=pk)
    return Response(EventSerializer(events(submission, request.user), many=True).data)


def _of_own_team(user: User, pk: int) -> Submission:
    """Raises Http404, or PermissionDenied for a run of another team."""
    submission = get_object_or_404(own_runs(user), pk=pk)
    if submission.team not in teams_of(user):
        raise exceptions.PermissionDenied("This is for the run's own team.")
    return submission


@extend_schema(
    methods=["GET"],
    operation_id="run",
    summary="The file of a run, as it was sent",
    responses={(200, "application/octet-stream"): OpenApiTypes.BINARY, **OWN},
)
@extend_schema(
    methods=["DELETE"],
    operation_id="delete_run_file",
    summary="Delete the file of a withdrawn run; its digest and its numbers stay; for its team",
    responses={204: None, **OWN, 403: FORBIDDEN, 409: CHANGED[409]},
)
@api_view([*READ, "DELETE"])
def run(request: Request, pk: int) -> HttpResponseBase:
    if request.method == "DELETE":
        user = person(request)
        delete_file(submission=_of_own_team(user, pk), by=user)
        return Response(status=204)
    submission = get_object_or_404(own_runs(request.user).exclude(file=""), pk=pk)
    return download(
        request,
        storage.runs,
        submission.file,
        filename=submission.filename,
        content_type="application/octet-stream",
    )


def own_runs(user: object) -> QuerySet[Submission]:
    """The runs that the user may see one by one: of own teams and of seasons that one runs."""
    organised = Season.objects.helped_by(user).order_by().values("pk")
    runs = Submission.objects.filter(
        Q(team__in=teams_of(user).values("pk")) | Q(phase__task__season__in=organised)
    )
    return with_progress(runs.select_related("team", "phase__task__season").prefetch_related("team_figures"))


def _changed(request: Request, pk: int, change: Change) -> Response:
    """By the run's own team; by organisers of its season with a reason, which the team reads."""
    user = person(request)
    submission = get_object_or_404(own_runs(user), pk=pk)
    form = ReasonForm(data=request.data)
    form.is_valid(raise_exception=True)
    reason = form.validated_data["reason"].strip()
    is_own = submission.team in teams_of(user)
    organises = bool(reason) and may_organise(user, submission.phase.task.season)
    if change in BY_ORGANISERS or organises or not is_own:
        _require_organiser(submission, user, reason)
    else:
        # By a reason alone nobody acts as an organiser, whom the end of a phase does not bind.
        reason = ""
        if change in (cancel_run, withdraw_run) and hides_outcome(submission, user):
            change = take_back
    change(submission, user, reason)
    after = own_runs(user).get(pk=pk)
    return Response(SubmissionSerializer(after, context={"request": request}).data)


def _require_organiser(submission: Submission, user: User, reason: str) -> None:
    """Raises PermissionDenied, or ValidationError where the reason is missing."""
    _require_organising(submission, user)
    if not reason:
        raise exceptions.ValidationError({"reason": ["Say why: the team reads it."]})


def _require_organising(submission: Submission, user: User) -> None:
    """Raises PermissionDenied."""
    if submission.team is None or not may_organise(user, submission.phase.task.season):
        raise exceptions.PermissionDenied(
            "A run is changed by its own team, and with a reason by organisers."
        )
