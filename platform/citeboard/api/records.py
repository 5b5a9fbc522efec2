"""API operations for organisers, with the people, history, runs, failures and webhooks
of a season.
"""

import datetime as dt
from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse, StreamingHttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from citeboard.acts.declared import within
from citeboard.acts.failures import ACKNOWLEDGE, TAKE_ACKNOWLEDGEMENT_BACK
from citeboard.acts.organisers import GIVE_ROLE
from citeboard.acts.undoing import UNDO
from citeboard.acts.webhooks import (
    MAKE_WEBHOOK,
    REMOVE_WEBHOOK,
    RENEW_SECRET,
    REPEAT_DELIVERY,
)
from citeboard.api.operations import deletes, get, makes, register_act_operation
from citeboard.api.seasons import phase_to_organise
from citeboard.api.serializers import (
    build_serializer,
    serializer_for_dataclass,
    serializer_for_model,
)
from citeboard.core.actions import MAX_SENTENCE_LENGTH
from citeboard.core.api import INVALID_FIELDS_RESPONSE
from citeboard.core.models import AuditEntry
from citeboard.ops import season_progress
from citeboard.ops.season_progress import (
    acknowledged_failures,
    failed_rescorings,
    failed_runs,
    unsupplied_runs,
    waiting_reason,
)
from scoring.exchange.season_runs import counting_runs_archive, runs_csv
from scoring.results.board.standings import compute_board
from tasks.delivery.webhooks.services import secret_of
from tasks.models import (
    Acknowledgement,
    Delivery,
    Organiser,
    Phase,
    Season,
    Submission,
    Webhook,
)
from tasks.seasons.access import season_for, season_to_help, season_to_organise
from tasks.seasons.history import readable_history

#: The API lists at most MAX_FAILURES_LISTED failures of each kind, and the page lists all.
MAX_FAILURES_LISTED = 200
ChangeSerializer = build_serializer(
    "Change",
    "What turned into what.",
    key=(str, "A setting is named as in the season file."),
    before=serializers.JSONField(
        allow_null=True, help_text="Of `closes` null says that there is no end."
    ),
    after=serializers.JSONField(allow_null=True),
)
HistorySerializer = serializer_for_model(
    AuditEntry,
    "One act.",
    "id at actor action words subject changes",
    "History",
    actor=serializers.CharField(
        source="actor_name", help_text="What the person was called then."
    ),
    words=serializers.CharField(
        max_length=MAX_SENTENCE_LENGTH,
        help_text="What was done, after the name of who did it.",
    ),
    changes=ChangeSerializer(many=True, source="told_changes"),
)


@get(
    "seasons/<slug:slug>/history/",
    role=season_for,
    pages=HistorySerializer,
    responses={400: INVALID_FIELDS_RESPONSE},
)
def history(request: Request, season: Season) -> Any:
    """List the history of a season, newest first. Organisers see all entries of the
    history, and teams see their own entries.
    """
    return readable_history(season, request.user)


UndoneSerializer = build_serializer(
    "Undone", "What was taken back, and what of it stays.", detail=str
)
register_act_operation(
    UNDO,
    "seasons/<slug:slug>/history/<int:change>/undo/",
    "undo",
    gives=lambda request, said: {"detail": said},
    answers=UndoneSerializer,
)
PersonSerializer = serializer_for_model(
    Organiser,
    "Somebody who runs the season.",
    "name address role",
    "Person",
    name=serializers.CharField(source="user"),
    address=serializers.EmailField(source="user.email"),
)


@get("seasons/<slug:slug>/people/", role=season_to_organise, answers=[PersonSerializer])
def people(request: Request, season: Season) -> QuerySet[Organiser]:
    """List the organisers and helpers of a season, for organisers."""
    return (
        Organiser.objects.filter(season=season)
        .select_related("user")
        .order_by("-role", "pk")
    )


register_act_operation(
    GIVE_ROLE,
    "seasons/<slug:slug>/people/",
    "give_role",
    gives=lambda request, made: people(request, made.season),
    answers=[PersonSerializer],
)
serializer_for_dataclass(
    season_progress.Day,
    "Runs that teams sent on one day, by what has become of them.",
    day="UTC.",
    moving="On the way.",
    not_scored="Failed, refused or cancelled.",
    sent=serializers.IntegerField(),
)
serializer_for_dataclass(
    season_progress.Waiting,
    "The season's jobs in one queue.",
    "SeasonQueue",
    oldest="When the first of the queued was made.",
)
serializer_for_dataclass(
    season_progress.Times,
    "Of the newest scorings within a week, in seconds; medians, and the longest of all.",
    "ScoringTimes",
    waited="From the queue to a worker.",
    took="From the worker to the score.",
    longest="From the queue to the score.",
)
ProgressSerializer = serializer_for_dataclass(
    season_progress.Progress,
    "How the season goes.",
    runs="Baselines included.",
    run_bytes="In their files.",
    days="The newest 30 on which teams sent runs, the oldest first.",
)


@get(
    "seasons/<slug:slug>/progress/",
    role=season_to_help,
    answers=ProgressSerializer,
    responses={400: INVALID_FIELDS_RESPONSE},
)
def progress(request: Request, season: Season) -> season_progress.Progress:
    """Return the number of a season's runs by day, their waiting times and their disk
    space, for organisers.
    """
    return season_progress.progress_of(season)


@get("seasons/<slug:slug>/runs/", role=season_to_help, files=["text/csv"])
def season_runs(request: Request, season: Season) -> StreamingHttpResponse:
    """Return every run of a season as CSV, with the score that ranks the run, for
    organisers and helpers.
    """
    runs = Submission.objects.filter(phase__task__season=season).select_related(
        "phase__task", "team"
    )
    response = StreamingHttpResponse(
        runs_csv(runs), content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{season.slug}-runs.csv"'
    return response


@get(
    "phases/<int:pk>/counting-runs/", role=phase_to_organise, files=["application/zip"]
)
def counting_runs(request: Request, phase: Phase) -> FileResponse:
    """Return the files of the runs on a phase's board as a zip archive, for organisers."""
    name = f"{phase.task.season.slug}-{phase.task.slug}-{phase.slug}-runs.zip"
    archive = counting_runs_archive(compute_board(phase, request.user))
    return FileResponse(
        archive, as_attachment=True, filename=name, content_type="application/zip"
    )


AcknowledgementSerializer = build_serializer(
    "Acknowledgement",
    "That somebody has seen to it.",
    id=int,
    note=str,
    by=(str, "Empty where the account is deleted."),
    at=dt.datetime,
)
SeasonFailureSerializer = build_serializer(
    "SeasonFailure",
    "A run that failed or that waits for a package or model; with a `job` a scored run that could not be "
    "scored again.",
    submission=int,
    system=str,
    team=(str | None, "Its slug."),
    job=int | None,
    rules=str | None,
    reason=str,
    failed_at=(dt.datetime, "Of a run that waits the time when it was sent."),
    acknowledged=AcknowledgementSerializer(allow_null=True),
)


@get(
    "seasons/<slug:slug>/failures/",
    role=season_to_help,
    answers=[SeasonFailureSerializer],
)
def failures(request: Request, season: Season) -> list[dict[str, Any]]:
    """List the runs that failed or wait for a package or model, including acknowledged
    runs, for organisers and helpers.
    """
    notes = {
        (note.submission_id, note.job_id): note
        for note in acknowledged_failures(season)
    }
    runs = [
        _failure_as_json(run, notes.get((run.pk, None)))
        for run in failed_runs(season)[:MAX_FAILURES_LISTED]
    ]
    jobs = [
        _failure_as_json(job.submission, notes.get((job.submission.pk, job.pk)))
        | {
            "job": job.pk,
            "rules": job.rules,
            "reason": job.reason,
            "failed_at": job.finished_at,
        }
        for job in failed_rescorings(season)[:MAX_FAILURES_LISTED]
    ]
    waiting = [
        _failure_as_json(run, None)
        | {"reason": waiting_reason(run), "failed_at": run.submitted_at}
        for run in unsupplied_runs(season)[:MAX_FAILURES_LISTED]
    ]
    return [*runs, *waiting, *jobs]


def _failure_as_json(run: Submission, note: Acknowledgement | None) -> dict[str, Any]:
    return {
        "submission": run.pk,
        "system": run.system,
        "team": run.team.slug if run.team else None,
        "job": None,
        "rules": None,
        "reason": run.reason,
        "failed_at": run.status_since,
        "acknowledged": note and _acknowledgement_as_json(note),
    }


def _acknowledgement_as_json(note: Acknowledgement) -> dict[str, Any]:
    return {"id": note.pk, "note": note.note, "by": str(note.by or ""), "at": note.at}


makes(
    ACKNOWLEDGE,
    "seasons/<slug:slug>/failures/",
    gives=lambda request, note: _acknowledgement_as_json(note),
    answers=AcknowledgementSerializer,
)
deletes(
    TAKE_ACKNOWLEDGEMENT_BACK,
    "seasons/<slug:slug>/failures/<int:acknowledgement>/",
    name="failure",
)


WebhookSerializer = serializer_for_model(
    Webhook,
    "An address that is posted to; its secret was shown when it was made.",
    "id url created_at",
)


class MadeWebhookSerializer(serializers.ModelSerializer[Webhook]):
    """A new webhook with its secret, which only this response contains."""

    secret = serializers.SerializerMethodField()

    class Meta:
        model = Webhook
        fields = ["id", "url", "created_at", "secret"]

    def get_secret(self, webhook: Webhook) -> str:
        return secret_of(webhook)


DeliverySerializer = serializer_for_model(
    Delivery,
    "One event for one webhook, and what was answered last.",
    "id kind event created_at state attempts response_code error answered_at",
    state=serializers.ChoiceField(Delivery.State.choices, read_only=True),
    attempts=serializers.IntegerField(read_only=True),
)


@get("seasons/<slug:slug>/webhooks/", role=season_to_organise, pages=WebhookSerializer)
def webhooks(request: Request, season: Season) -> QuerySet[Webhook]:
    """List the webhooks of a season, for organisers."""
    return Webhook.objects.filter(season=season)


makes(MAKE_WEBHOOK, "seasons/<slug:slug>/webhooks/", answers=MadeWebhookSerializer)
deletes(REMOVE_WEBHOOK, "seasons/<slug:slug>/webhooks/<int:webhook>/", name="webhook")
register_act_operation(
    RENEW_SECRET,
    "seasons/<slug:slug>/webhooks/<int:webhook>/secret/",
    answers=MadeWebhookSerializer,
    name="webhook-secret",
)


@get(
    "seasons/<slug:slug>/webhooks/<int:webhook>/deliveries/",
    role=within("webhook", season_to_organise),
    pages=DeliverySerializer,
)
def deliveries(request: Request, webhook: Webhook) -> QuerySet[Delivery]:
    """List the deliveries of a webhook, newest first, for organisers."""
    return webhook.deliveries.select_related("job")


register_act_operation(
    REPEAT_DELIVERY,
    "seasons/<slug:slug>/deliveries/<int:delivery>/repeat/",
    answers=DeliverySerializer,
    name="delivery-repeat",
)
