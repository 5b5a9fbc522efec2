"""API operations for background jobs and the overview paper.

Requests that start a job return status 202 and the URL of the job.
"""

import datetime as dt
from functools import partial
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from citeboard.acts import human
from citeboard.acts.archives import MAKE_ARCHIVE
from citeboard.acts.judgements import (
    IMPORT_JUDGEMENTS,
    PUBLISH_JUDGEMENTS,
    UNPUBLISH_JUDGEMENTS,
)
from citeboard.acts.judging import (
    CONSENT_TO_JUDGE,
    DISMISS_JUDGE,
    ESTIMATE_JUDGE_COST,
    EXCLUDE_UNLABELLED_PAIRS,
    QUEUE_JUDGE_QUESTIONS,
)
from citeboard.acts.labels import IMPORT_LABELS, SHARE_JUDGE_LABELS_SITEWIDE
from citeboard.acts.ledger import IMPORT_JUDGEMENTS_TO_LEDGER, WITHDRAW_LEDGER_IMPORT
from citeboard.acts.old_runs import RESCORE_RUNS_OF_OTHER_PLATFORM
from citeboard.acts.sheets import (
    CREATE_RATING_SHEET,
    PUBLISH_RATINGS,
    REOPEN_RATING_SHEET,
    UNPUBLISH_RATINGS,
)
from citeboard.api.operations import (
    get,
    post,
    register_action_operation,
    register_creating_action,
    register_deleting_action,
)
from citeboard.api.seasons import organised_phase_or_404
from citeboard.api.serializers import (
    ProblemSerializer,
    RejectedRun,
    build_absolute_address,
    build_model_serializer,
    build_serializer,
    split_comma_separated_names,
)
from citeboard.background.kinds import (
    describe_job_result,
    describe_why_job_waits,
    find_finished_archives,
    find_or_queue_overview_paper,
    find_stored_paper_job,
    visible_job_or_404,
)
from citeboard.core import storage
from citeboard.core.api import CONFLICT_RESPONSE, FORBIDDEN_RESPONSE
from citeboard.core.refusals import ActionRefused
from citeboard.core.storage.downloads import serve_stored_file
from scoring.exchange.overview_paper import (
    PAPER_FILE_FORMATS,
    OverviewPaper,
    OverviewPaperQuery,
)
from scoring.exchange.results import (
    ZIP_CONTENT_TYPE,
    find_content_type,
    make_safe_file_name,
)
from scoring.human.ratings import build_rating_form_csv
from scoring.human.sheets import list_phases_with_human_evaluation
from scoring.models import Annotator, BackgroundJob, Sheet
from scoring.worker.background import BackgroundJobState
from tasks.models import Phase, Season
from tasks.seasons.access import get_organised_season_or_404, get_visible_season_or_404

VIEW_AS_EVERYBODY_PARAMETER = OpenApiParameter(
    "as",
    str,
    enum=["everybody"],
    description="For who runs the season: what everybody may read alone.",
)
BackgroundJobSerializer = build_serializer(
    "BackgroundJob",
    "Return the progress and the result of a background job.",
    id=int,
    url=(serializers.URLField, "Where to follow it."),
    page=(serializers.URLField, "The same, for people."),
    kind=serializers.ChoiceField(choices=BackgroundJob.Kind.choices),
    state=serializers.ChoiceField(choices=BackgroundJob.State.choices),
    progress=(float, "Share that is done, 0 to 1."),
    doing=(str, "The step that is under way."),
    waits_for=(str, "Why it has not begun, where it is queued."),
    detail=(str, "What came of it, or why it failed."),
    outcome=(serializers.URLField | None, "The page of what it made."),
    problems=ProblemSerializer(many=True),
    scores=serializers.ListField(
        child=serializers.DictField(),
        help_text="Of a dry run: each run's before and after, and why not.",
    ),
    runs=serializers.ListField(
        child=serializers.DictField(),
        help_text="Of runs of another site: number, team and system of each run that was queued.",
    ),
    more=(int, "Problems beyond those listed."),
    asked_at=dt.datetime,
    finished_at=dt.datetime | None,
)
JOB_QUEUED_RESPONSES = {
    202: OpenApiResponse(
        BackgroundJobSerializer, "It is queued, or the same is under way."
    )
}


@get(
    "jobs/<int:pk>/",
    role=visible_job_or_404,
    answers=BackgroundJobSerializer,
    is_open=True,
)
def background_job(request: Request, job: BackgroundJob) -> Response:
    """Return the progress and the result of a background job."""
    return Response(_serialize_job(request, job))


def judged_phase_or_http_error(user: object, pk: int) -> Phase:
    phase: Phase = organised_phase_or_404(user, pk)
    if not list_phases_with_human_evaluation([phase]):
        raise serializers.ValidationError(
            {"instances": ["The runs of this phase are no texts to judge."]}
        )
    return phase


def _build_job_response(request: Request, job: BackgroundJob) -> Response:
    described = _serialize_job(request, job)
    return Response(
        described,
        status=202 if job.is_moving else 200,
        headers={"Location": described["url"]},
    )


def _serialize_job(request: Request, job: BackgroundJob) -> dict[str, Any]:
    words, path = (
        describe_job_result(job)
        if job.state == BackgroundJobState.DONE
        else (job.reason, "")
    )
    own = ("kind", "state", "doing", "problems", "more", "finished_at")
    return {name: getattr(job, name) for name in own} | {
        "id": job.pk,
        "url": build_absolute_address(request, "api:background-job", job.pk),
        "page": build_absolute_address(request, "background-job", job.pk),
        "progress": job.job.progress,
        "waits_for": describe_why_job_waits(job),
        "detail": words
        if job.state in (BackgroundJobState.DONE, BackgroundJobState.FAILED)
        else "",
        "outcome": request.build_absolute_uri(path) if path else None,
        "asked_at": job.created_at,
        "scores": (job.result or {}).get("scores", []),
        "runs": _find_runs_queued_by_job(job),
    }


def _find_runs_queued_by_job(job: BackgroundJob) -> list[dict[str, Any]]:
    return job.result.get("runs", []) if job.kind == BackgroundJob.Kind.OLD_RUNS else []


register_job_action = partial(
    register_action_operation,
    gives=_build_job_response,
    answers=BackgroundJobSerializer,
    status=202,
    responses=JOB_QUEUED_RESPONSES,
)
register_job_action(
    CREATE_RATING_SHEET,
    "phases/<int:pk>/sheets/",
    "make_sheet",
    role=judged_phase_or_http_error,
    takes=lambda request, phase, sent: {
        **sent,
        "runs": split_comma_separated_names(sent["runs"]),
    },
    name="sheets",
    lets_out=False,
)
register_job_action(
    IMPORT_LABELS,
    "seasons/<slug:slug>/labels/",
    "import_labels",
    is_upload=True,
    name="labels",
)
register_job_action(
    IMPORT_JUDGEMENTS,
    "submissions/<int:pk>/judgements/",
    "import_judgements",
    is_upload=True,
    name="judgements",
)
register_job_action(
    IMPORT_JUDGEMENTS_TO_LEDGER,
    "seasons/<slug:slug>/ledger/",
    "import_ledger",
    is_upload=True,
    name="ledger",
)
register_job_action(
    RESCORE_RUNS_OF_OTHER_PLATFORM,
    "phases/<int:pk>/old-runs/",
    "score_old_runs",
    is_upload=True,
    name="old-runs",
)
register_action_operation(
    CONSENT_TO_JUDGE,
    "phases/<int:pk>/judge/",
    "agree_to_judge",
    role=organised_phase_or_404,
    gives=lambda request, row: {
        "judge": row.name,
        "kind": row.kind,
        "host": row.host,
        "digest": row.digest,
        "agreed_at": row.agreed_at,
    },
    answers=build_serializer(
        "PhaseJudge",
        "The judge that the site asks about runs of the phase.",
        judge=str,
        kind=(str, "Kind of labels."),
        host=(str, "Host that receives the texts; empty for none."),
        digest=(str, "Of the prompt, the model and its parameters."),
        agreed_at=dt.datetime,
    ),
    lets_out=False,
    name="phase-judge",
)
register_job_action(
    QUEUE_JUDGE_QUESTIONS,
    "phases/<int:pk>/judge/ask/",
    "ask_judge",
    role=organised_phase_or_404,
    lets_out=False,
    name="ask-judge",
)
register_job_action(
    ESTIMATE_JUDGE_COST,
    "phases/<int:pk>/judge/estimate/",
    "estimate_judge",
    role=organised_phase_or_404,
    lets_out=False,
    name="estimate-judge",
)
register_action_operation(
    EXCLUDE_UNLABELLED_PAIRS,
    "phases/<int:pk>/judge/leave-out/",
    "leave_pairs_out",
    role=organised_phase_or_404,
    gives=lambda request, pairs: {"pairs": pairs},
    answers=build_serializer(
        "LeftOutPairs",
        "The pairs that count neither way.",
        pairs=(int, "Distinct pairs that runs waited for."),
    ),
    lets_out=False,
    name="leave-pairs-out",
)
register_action_operation(
    DISMISS_JUDGE,
    "phases/<int:pk>/judge/dismiss/",
    "dismiss_judge",
    role=organised_phase_or_404,
    gives=lambda request, row: {"judge": row.name},
    answers=build_serializer(
        "DismissedJudge", "The judge that is not asked any more.", judge=str
    ),
    lets_out=False,
    name="dismiss-judge",
)
register_action_operation(
    WITHDRAW_LEDGER_IMPORT,
    "seasons/<slug:slug>/ledger/withdraw/",
    "withdraw_import",
    answers=build_serializer(
        "WithdrawnImport",
        "What rested on the import.",
        runs=(int, "Runs whose numbers rested on it."),
        frozen=(int, "Frozen boards that stay as they are."),
    ),
)
register_action_operation(
    SHARE_JUDGE_LABELS_SITEWIDE,
    "seasons/<slug:slug>/labels/share/",
    "share_labels",
    answers=build_serializer(
        "SharedLabels",
        "What was added for all seasons.",
        added=int,
        known=int,
        resumed=int,
    ),
)
register_job_action(
    MAKE_ARCHIVE, "seasons/<slug:slug>/archive/", "make_archive", lets_out=False
)
register_action_operation(PUBLISH_RATINGS, "sheets/<int:pk>/publish/", "publish_sheet")
register_action_operation(
    UNPUBLISH_RATINGS, "sheets/<int:pk>/take-back/", "take_sheet_back"
)
register_action_operation(
    REOPEN_RATING_SHEET, "sheets/<int:pk>/reopen/", "reopen_sheet"
)
register_action_operation(
    PUBLISH_JUDGEMENTS,
    "submissions/<int:pk>/judgements/publish/",
    "publish_judgements",
)
register_action_operation(
    UNPUBLISH_JUDGEMENTS,
    "submissions/<int:pk>/judgements/take-back/",
    "take_judgements_back",
)
AnnotatorSerializer = build_model_serializer(
    Annotator, "Who rates a sheet.", "id name is_adjudicator"
)
RatingSheetSerializer = build_model_serializer(
    Sheet,
    "A sheet for human evaluation.",
    "id created_at is_open has_references adjudicated_from annotators",
    is_open=bool,
    annotators=AnnotatorSerializer(many=True),
)


@get(
    "phases/<int:pk>/sheets/",
    role=organised_phase_or_404,
    answers=[RatingSheetSerializer],
    name="sheets",
)
def sheets(request: Request, phase: Phase) -> Any:
    """List the human evaluation sheets of a phase with their annotators, for
    organisers.
    """
    return (
        Sheet.objects.rating_sheets()
        .filter(phase=phase)
        .prefetch_related("annotators")
        .order_by("pk")
    )


register_creating_action(
    human.ADD_ANNOTATOR,
    "sheets/<int:pk>/annotators/",
    "add_annotator",
    answers=AnnotatorSerializer,
)
register_deleting_action(
    human.REMOVE_ANNOTATOR, "annotators/<int:pk>/", "remove_annotator"
)
register_action_operation(
    human.CHANGE_ADJUDICATION_DISTANCE,
    "sheets/<int:pk>/adjudication/",
    "change_adjudication",
)
register_action_operation(
    human.SHOW_GOLD_TEXTS_TO_ANNOTATORS,
    "sheets/<int:pk>/references/",
    "show_references",
)
register_action_operation(
    human.ANSWER_DATA_SHEET, "sheets/<int:pk>/data-sheet/", "answer_data_sheet"
)
register_rating_action = partial(
    register_action_operation,
    gives=lambda request, made: {"rated": made},
    answers=build_serializer("Rated", "How many texts were rated.", rated=int),
    responses={
        422: OpenApiResponse(RejectedRun, "The file cannot be read; nothing was kept.")
    },
    is_upload=True,
    lets_out=False,
)
register_rating_action(
    human.IMPORT_RATINGS, "sheets/<int:pk>/ratings/", "bring_ratings"
)
register_rating_action(human.IMPORT_OWN_RATINGS, "annotate/<int:sheet>/", "rate")


@get(
    "annotate/<int:sheet>/",
    role=human.annotator_or_404,
    files=["text/csv"],
    responses={403: FORBIDDEN_RESPONSE},
)
def sheet_to_rate(request: Request, annotator: Annotator) -> HttpResponse:
    """Return a human evaluation sheet that you annotate, with your ratings so far."""
    return HttpResponse(
        build_rating_form_csv(annotator), content_type="text/csv; charset=utf-8"
    )


@get(
    "seasons/<slug:slug>/archive/<int:job>/",
    role=get_organised_season_or_404,
    rest=["job"],
    files=[ZIP_CONTENT_TYPE],
    name="archive-zip",
)
def archive_zip(request: Request, season: Season, job: int) -> HttpResponseBase:
    """Return an archive of a season by the number of the archive's job, for organisers."""
    made = get_object_or_404(find_finished_archives(season), pk=job)
    name = f"{season.slug}-archive-{make_safe_file_name(made.given['version'])}.zip"
    # `_request` is the Django request that REST framework's request object wraps.
    return serve_stored_file(
        request._request,  # noqa: SLF001
        storage.statistics_file_storage,
        made.file,
        filename=name,
        content_type=ZIP_CONTENT_TYPE,
    )


OverviewPaperFileSerializer = build_serializer(
    "PaperFile",
    "A file; `name` is its path in the archive.",
    name=str,
    part=(str, "The board that it shows, or the season."),
    content_type=str,
    is_hidden=(bool, "Whether others do not see what it shows."),
)
OverviewPaperFilesSerializer = build_serializer(
    "PaperFiles",
    "All of them; `files/` answers with one, or with all as a zip.",
    files=OverviewPaperFileSerializer(many=True),
)


def _find_requested_paper(request: Request, season: Season) -> OverviewPaper:
    return OverviewPaper.of(
        season, request.user, OverviewPaperQuery.of(request.query_params)
    )


@get(
    "seasons/<slug:slug>/overview-paper/",
    role=get_visible_season_or_404,
    answers=OverviewPaperFilesSerializer,
    parameters=[VIEW_AS_EVERYBODY_PARAMETER],
    is_open=True,
)
def overview_paper(request: Request, season: Season) -> dict[str, Any]:
    """Return the material for an overview paper of the season, without data that you
    may not see.
    """
    files = [
        {
            "name": file.name,
            "part": part.title,
            "content_type": find_content_type(file.name).partition(";")[0],
            "is_hidden": part.is_hidden,
        }
        for part in _find_requested_paper(request, season).parts
        for file in part.all_files
    ]
    return {"files": files}


@get(
    "seasons/<slug:slug>/overview-paper/files/",
    role=get_visible_season_or_404,
    files=sorted(
        {
            find_content_type(form).partition(";")[0]
            for form in (*PAPER_FILE_FORMATS, "zip")
        }
    ),
    parameters=[
        VIEW_AS_EVERYBODY_PARAMETER,
        OpenApiParameter("name", str, description="Its path in the archive."),
    ],
    responses={409: CONFLICT_RESPONSE},
    is_open=True,
)
def overview_paper_files(request: Request, season: Season) -> HttpResponseBase:
    """Return a file for the overview paper by its name, or all the files as the stored
    zip archive.
    """
    paper = _find_requested_paper(request, season)
    if name := request.query_params.get("name"):
        if (file := paper.files.get(name)) is None:
            raise Http404("There is no such file for this season's overview paper.")
        return HttpResponse(file.written(), content_type=find_content_type(file.name))
    if (made := find_stored_paper_job(paper)) is None:
        raise ActionRefused(
            "No zip of what the season shows is kept; a POST to ../archive/ has it made."
        )
    return serve_stored_file(
        request._request,  # noqa: SLF001  (the framework's own way)
        storage.statistics_file_storage,
        made.file,
        filename=f"{season.slug}-overview-paper.zip",
        content_type=ZIP_CONTENT_TYPE,
    )


@post(
    "seasons/<slug:slug>/overview-paper/archive/",
    role=get_visible_season_or_404,
    answers=BackgroundJobSerializer,
    responses={
        200: OpenApiResponse(BackgroundJobSerializer, "It is kept."),
        **JOB_QUEUED_RESPONSES,
    },
    parameters=[VIEW_AS_EVERYBODY_PARAMETER],
    is_open=True,
    name="overview-paper-archive",
)
def make_overview_paper(request: Request, season: Season) -> Response:
    """Create the zip archive for an overview paper, unless a current archive is stored."""
    return _build_job_response(
        request, find_or_queue_overview_paper(_find_requested_paper(request, season))
    )
