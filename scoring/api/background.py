"""Background jobs for programs: asked for with 202, and followed at their own address."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view, permission_classes, throttle_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core.api import ABSENT, READ, TOO_LARGE, RequestThrottle, UploadThrottle, require_length
from citeboard.teams.api import person
from scoring.api.organise import phase_to_organise
from scoring.api.overview_paper import AS_EVERYBODY, paper_for
from scoring.api.seasons import READING
from scoring.api.serializers import ProblemSerializer, address
from scoring.api.teams import CHANGES, CONFLICT
from scoring.background.access import job_for, outcome_of, run_to_judge, waits_for
from scoring.background.kinds import ask_for_judgements, ask_for_labels, ask_for_paper, ask_for_sheet
from scoring.human.sheets import MAX_INSTANCES, MAX_SYSTEMS, judged_phases, runs_on_board
from scoring.models import BackgroundJob
from scoring.worker.background import State
from scoring.worker.entailment_labels import models_of_season
from tasks.seasons.access import season_to_organise
from tasks.submissions.uploads import received


class BackgroundJobSerializer(serializers.Serializer[Any]):
    """How far a background job is, and what has become of it."""

    id = serializers.IntegerField()
    url = serializers.URLField(help_text="Where to follow it.")
    page = serializers.URLField(help_text="The same, for people.")
    kind = serializers.ChoiceField(choices=BackgroundJob.Kind.choices)
    state = serializers.ChoiceField(choices=BackgroundJob.State.choices)
    progress = serializers.FloatField(help_text="Share that is done, 0 to 1.")
    doing = serializers.CharField(help_text="The step that is under way.")
    waits_for = serializers.CharField(help_text="Why it has not begun, where it is queued.")
    detail = serializers.CharField(help_text="What came of it, or why it failed.")
    outcome = serializers.URLField(allow_null=True, help_text="The page of what it made.")
    problems = ProblemSerializer(many=True)
    more = serializers.IntegerField(help_text="Problems beyond those listed.")
    asked_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class SheetForm(serializers.Serializer[Any]):
    """A sheet for human evaluation."""

    instances = serializers.IntegerField(min_value=1, max_value=MAX_INSTANCES)
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=0)
    runs = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text="Runs on the board, their ids with commas between; without any the first ones, at most "
        f"{MAX_SYSTEMS}.",
    )


class LabelsForm(serializers.Serializer[Any]):
    """A file of labels of one of the models that the season's tasks ask for."""

    model = serializers.CharField()
    file = serializers.FileField(help_text="JSON lines as `python -m scoring decide` writes them.")


class JudgementsForm(serializers.Serializer[Any]):
    """The annotators' file."""

    file = serializers.FileField(help_text="JSON lines, as the guide on positional citations describes them.")


ASKED = OpenApiResponse(BackgroundJobSerializer, "It is queued, or the same is under way.")
SENT = {202: ASKED, **CHANGES, 404: ABSENT, 409: CONFLICT, 413: TOO_LARGE}


@extend_schema(
    operation_id="background_job",
    summary="How far a background job is, and what has become of it",
    responses={200: BackgroundJobSerializer, **READING},
)
@api_view(READ)
@permission_classes([AllowAny])
def job(request: Request, pk: int) -> Response:
    return Response(_described(request, job_for(request.user, pk)))


@extend_schema(
    operation_id="make_sheet",
    summary="Make a sheet for human evaluation; for organisers",
    request=SheetForm,
    responses={202: ASKED, **CHANGES, 404: ABSENT, 409: CONFLICT},
)
@api_view(["POST"])
def sheets(request: Request, pk: int) -> Response:
    phase = phase_to_organise(request, pk)
    if not judged_phases([phase]):
        raise serializers.ValidationError({"instances": ["The runs of this phase are no texts to judge."]})
    form = SheetForm(data=request.data)
    form.is_valid(raise_exception=True)
    given = form.validated_data
    on_board = {str(run.pk): run for run in runs_on_board(phase, person(request))}
    asked = [name.strip() for name in given["runs"].split(",") if name.strip()]
    if unknown := [name for name in asked if name not in on_board]:
        words = f"No run “{unknown[0][:40]}” stands on the board; there are {', '.join(on_board) or 'none'}."
        raise serializers.ValidationError({"runs": [words]})
    runs = [on_board[name] for name in dict.fromkeys(asked)] or list(on_board.values())[:MAX_SYSTEMS]
    made = ask_for_sheet(
        phase=phase,
        runs=runs,
        instances=given["instances"],
        seed=given["seed"],
        by=person(request),
    )
    return _accepted(request, made)


@extend_schema(
    operation_id="import_labels",
    summary="Import entailment labels; for organisers",
    request={"multipart/form-data": LabelsForm},
    responses=SENT,
)
@api_view(["POST"])
@throttle_classes([RequestThrottle, UploadThrottle])
def labels(request: Request, slug: str) -> Response:
    season = season_to_organise(request.user, slug)
    require_length(request)
    form = LabelsForm(data=request.data)
    form.is_valid(raise_exception=True)
    model, known = form.validated_data["model"], models_of_season(season)
    if model not in known:
        names = " and ".join(known) or "none"
        words = f"No task of the season asks for labels of “{model[:80]}”, but of {names}."
        raise serializers.ValidationError({"model": [words]})
    with received(form.validated_data["file"]) as upload:
        made = ask_for_labels(season=season, model=model, upload=upload, by=person(request))
    return _accepted(request, made)


@extend_schema(
    operation_id="import_judgements",
    summary="Import people's judgements of a run, in the place of earlier ones; for organisers",
    request={"multipart/form-data": JudgementsForm},
    responses=SENT,
)
@api_view(["POST"])
@throttle_classes([RequestThrottle, UploadThrottle])
def judgements(request: Request, pk: int) -> Response:
    run = run_to_judge(request.user, pk)
    require_length(request)
    form = JudgementsForm(data=request.data)
    form.is_valid(raise_exception=True)
    with received(form.validated_data["file"]) as upload:
        made = ask_for_judgements(submission=run, upload=upload, by=person(request))
    return _accepted(request, made)


@extend_schema(
    operation_id="make_overview_paper",
    summary="Make the zip for an overview paper, unless one of what the season shows now is kept",
    parameters=[AS_EVERYBODY],
    request=None,
    responses={
        200: OpenApiResponse(BackgroundJobSerializer, "It is kept."),
        202: ASKED,
        409: CONFLICT,
        **READING,
    },
)
@api_view(["POST"])
@permission_classes([AllowAny])
def paper(request: Request, slug: str) -> Response:
    return _accepted(request, ask_for_paper(paper_for(request, slug)))


def _accepted(request: Request, job: BackgroundJob) -> Response:
    told = _described(request, job)
    return Response(told, status=202 if job.is_moving else 200, headers={"Location": told["url"]})


def _described(request: Request, job: BackgroundJob) -> dict[str, Any]:
    words, path = outcome_of(job) if job.state == State.DONE else (job.reason, "")
    return {
        "id": job.pk,
        "url": address(request, "api:background-job", job.pk),
        "page": address(request, "background-job", job.pk),
        "kind": job.kind,
        "state": job.state,
        "progress": job.progress,
        "doing": job.doing,
        "waits_for": waits_for(job),
        "detail": words if job.state in (State.DONE, State.FAILED) else "",
        "outcome": request.build_absolute_uri(path) if path else None,
        "problems": job.problems,
        "more": job.more,
        "asked_at": job.created_at,
        "finished_at": job.finished_at,
    }
