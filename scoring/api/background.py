"""Background jobs for programs, asked for with 202 and followed at their own address; the overview paper."""

from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.core import storage
from citeboard.core.api import CONFLICT
from citeboard.core.refusals import Refused
from citeboard.core.storage.downloads import download
from citeboard.teams.api import person
from scoring.acts.runs import JudgementsForm
from scoring.api.operations import get, post
from scoring.api.seasons import phase_to_organise
from scoring.api.serializers import ProblemSerializer, address, form_of, optional_text
from scoring.background.access import job_for, outcome_of, run_to_judge, waits_for
from scoring.background.kinds import (
    ask_for_judgements,
    ask_for_labels,
    ask_for_paper,
    ask_for_sheet,
    kept_paper,
)
from scoring.exchange.formats import ZIP
from scoring.exchange.overview_paper import CONTENT, OverviewPaper, PaperQuery
from scoring.human.sheets import MAX_INSTANCES, MAX_SYSTEMS, judged_phases, runs_on_board
from scoring.models import BackgroundJob
from scoring.worker.background import State
from scoring.worker.entailment_labels import models_of_season
from tasks.models import Phase, Season, Submission
from tasks.seasons.access import season_for, season_to_organise
from tasks.submissions.uploads import received

AS_EVERYBODY = OpenApiParameter(
    "as", str, enum=["everybody"], description="For who runs the season: what everybody may read alone."
)


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


ASKED = {202: OpenApiResponse(BackgroundJobSerializer, "It is queued, or the same is under way.")}


@get("jobs/<int:pk>/", of=job_for, answers=BackgroundJobSerializer, is_open=True)
def background_job(request: Request, job: BackgroundJob) -> Response:
    """How far a background job is, and what has become of it."""
    return Response(_described(request, job))


def phase_to_judge(user: object, pk: int) -> Phase:
    phase: Phase = phase_to_organise(user, pk)
    if not judged_phases([phase]):
        raise serializers.ValidationError({"instances": ["The runs of this phase are no texts to judge."]})
    return phase


class SheetForm(serializers.Serializer[Any]):
    """A sheet for human evaluation."""

    instances = serializers.IntegerField(min_value=1, max_value=MAX_INSTANCES)
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=0)
    runs = optional_text(
        None,
        "Runs on the board, their ids with commas between; without any the first ones, at most "
        f"{MAX_SYSTEMS}.",
    )


@post(
    "phases/<int:pk>/sheets/",
    of=phase_to_judge,
    form=SheetForm,
    answers=BackgroundJobSerializer,
    status=202,
    responses=ASKED,
    name="sheets",
)
def make_sheet(request: Request, phase: Phase, form: dict[str, Any]) -> Response:
    """Make a sheet for human evaluation; for organisers."""
    on_board = {str(run.pk): run for run in runs_on_board(phase, person(request))}
    names = [name.strip() for name in form["runs"].split(",") if name.strip()]
    if unknown := [name for name in names if name not in on_board]:
        words = f"No run “{unknown[0][:40]}” stands on the board; there are {', '.join(on_board) or 'none'}."
        raise serializers.ValidationError({"runs": [words]})
    runs = [on_board[name] for name in dict.fromkeys(names)] or list(on_board.values())[:MAX_SYSTEMS]
    job = ask_for_sheet(
        phase=phase, runs=runs, instances=form["instances"], seed=form["seed"], by=person(request)
    )
    return _accepted(request, job)


class LabelsForm(serializers.Serializer[Any]):
    """A file of labels of one of the models that the season's tasks ask for."""

    model = serializers.CharField()
    file = serializers.FileField(help_text="JSON lines as `python -m scoring decide` writes them.")


@post(
    "seasons/<slug:slug>/labels/",
    of=season_to_organise,
    form=LabelsForm,
    answers=BackgroundJobSerializer,
    status=202,
    responses=ASKED,
    is_upload=True,
    name="labels",
)
def import_labels(request: Request, season: Season, form: dict[str, Any]) -> Response:
    """Import entailment labels; for organisers."""
    model, models = form["model"], models_of_season(season)
    if model not in models:
        names = " and ".join(models) or "none"
        words = f"No task of the season asks for labels of “{model[:80]}”, but of {names}."
        raise serializers.ValidationError({"model": [words]})
    with received(form["file"]) as upload:
        job = ask_for_labels(season=season, model=model, upload=upload, by=person(request))
    return _accepted(request, job)


@post(
    "submissions/<int:pk>/judgements/",
    of=run_to_judge,
    form=form_of(JudgementsForm),
    answers=BackgroundJobSerializer,
    status=202,
    responses=ASKED,
    is_upload=True,
    name="judgements",
)
def import_judgements(request: Request, run: Submission, form: dict[str, Any]) -> Response:
    """Import people's judgements of a run, in the place of earlier ones; for organisers."""
    with received(form["file"]) as upload:
        job = ask_for_judgements(submission=run, upload=upload, by=person(request))
    return _accepted(request, job)


def _accepted(request: Request, job: BackgroundJob) -> Response:
    described = _described(request, job)
    status = 202 if job.is_moving else 200
    return Response(described, status=status, headers={"Location": described["url"]})


def _described(request: Request, job: BackgroundJob) -> dict[str, Any]:
    words, path = outcome_of(job) if job.state == State.DONE else (job.reason, "")
    return {
        "id": job.pk,
        "url": address(request, "api:background-job", job.pk),
        "page": address(request, "background-job", job.pk),
        "kind": job.kind,
        "state": job.state,
        "progress": job.job.progress,
        "doing": job.doing,
        "waits_for": waits_for(job),
        "detail": words if job.state in (State.DONE, State.FAILED) else "",
        "outcome": request.build_absolute_uri(path) if path else None,
        "problems": job.problems,
        "more": job.more,
        "asked_at": job.created_at,
        "finished_at": job.finished_at,
    }


class PaperFileSerializer(serializers.Serializer[Any]):
    """A file; `name` is its path in the archive."""

    name = serializers.CharField()
    part = serializers.CharField(help_text="The board that it shows, or the season.")
    content_type = serializers.CharField()
    is_hidden = serializers.BooleanField(help_text="Whether others do not see what it shows.")


class PaperFilesSerializer(serializers.Serializer[Any]):
    """All of them; `files/` answers with one, or with all as a zip."""

    files = PaperFileSerializer(many=True)


def _paper(request: Request, season: Season) -> OverviewPaper:
    return OverviewPaper.of(season, request.user, PaperQuery.of(request.query_params))


@get(
    "seasons/<slug:slug>/overview-paper/",
    of=season_for,
    answers=PaperFilesSerializer,
    parameters=[AS_EVERYBODY],
    is_open=True,
)
def overview_paper(request: Request, season: Season) -> dict[str, Any]:
    """What an overview paper of the season is written from, as far as you may see it."""
    files = [
        {
            "name": file.name,
            "part": part.title,
            "content_type": file.content_type.partition(";")[0],
            "is_hidden": part.is_hidden,
        }
        for part in _paper(request, season).parts
        for file in part.every
    ]
    return {"files": files}


@get(
    "seasons/<slug:slug>/overview-paper/files/",
    of=season_for,
    files=sorted({kind.partition(";")[0] for kind in CONTENT.values()} | {ZIP}),
    parameters=[AS_EVERYBODY, OpenApiParameter("name", str, description="Its path in the archive.")],
    responses={409: CONFLICT},
    is_open=True,
)
def overview_paper_files(request: Request, season: Season) -> HttpResponseBase:
    """One of these files by its name, or all of them as the zip that was made."""
    paper = _paper(request, season)
    if name := request.query_params.get("name"):
        file = paper.files.get(name)
        if file is None:
            raise Http404("There is no such file for this season's overview paper.")
        return HttpResponse(file.written(), content_type=file.content_type)
    made = kept_paper(paper)
    if made is None:
        raise Refused("No zip of what the season shows is kept; a POST to ../archive/ has it made.")
    return download(
        request._request,  # noqa: SLF001  (the framework's own way)
        storage.statistics,
        made.file,
        filename=f"{season.slug}-overview-paper.zip",
        content_type=ZIP,
    )


@post(
    "seasons/<slug:slug>/overview-paper/archive/",
    of=season_for,
    answers=BackgroundJobSerializer,
    responses={200: OpenApiResponse(BackgroundJobSerializer, "It is kept."), **ASKED},
    without=400,
    parameters=[AS_EVERYBODY],
    is_open=True,
    name="overview-paper-archive",
)
def make_overview_paper(request: Request, season: Season) -> Response:
    """Make the zip for an overview paper, unless one of what the season shows now is kept."""
    return _accepted(request, ask_for_paper(_paper(request, season)))
