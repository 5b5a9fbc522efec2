"""API operations for organisers, with the people, history, runs, failures and webhooks
of a season.
"""

import datetime as dt
from typing import Any

from django.db.models import QuerySet
from django.http import FileResponse, StreamingHttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from citeboard.acts.declared import build_nested_row_lookup
from citeboard.acts.failures import ACKNOWLEDGE_FAILURE, WITHDRAW_ACKNOWLEDGEMENT
from citeboard.acts.organisers import ASSIGN_SEASON_ROLE
from citeboard.acts.undoing import UNDO_RECENT_CHANGE
from citeboard.acts.webhooks import (
    CREATE_WEBHOOK,
    REMOVE_WEBHOOK,
    RENEW_WEBHOOK_SECRET,
    REPEAT_WEBHOOK_DELIVERY,
)
from citeboard.api.operations import (
    get,
    register_action_operation,
    register_creating_action,
    register_deleting_action,
)
from citeboard.api.seasons import organised_phase_or_404
from citeboard.api.serializers import (
    build_dataclass_serializer,
    build_model_serializer,
    build_serializer,
)
from citeboard.core.actions import MAX_SENTENCE_LENGTH
from citeboard.core.api import INVALID_FIELDS_RESPONSE
from citeboard.core.models import AuditEntry
from citeboard.ops import season_progress
from citeboard.ops.season_progress import (
    describe_why_run_waits,
    find_acknowledged_failures,
    find_failed_rescoring_jobs,
    find_failed_runs,
    find_runs_lacking_software,
)
from scoring.exchange.season_runs import (
    build_archive_of_runs_on_board,
    iterate_runs_as_csv,
)
from scoring.results.board.standings import compute_board
from tasks.delivery.webhooks.services import derive_webhook_secret
from tasks.models import (
    Acknowledgement,
    Delivery,
    Organiser,
    Phase,
    Season,
    Submission,
    Webhook,
)
from tasks.seasons.access import (
    get_helped_season_or_404,
    get_organised_season_or_404,
    get_visible_season_or_404,
)
from tasks.seasons.history import list_readable_history

#: The API lists at most MAX_FAILURES_LISTED failures of each kind, and the page lists all.
MAX_FAILURES_LISTED = 200
SettingChangeSerializer = build_serializer(
    "Change",
    "What turned into what.",
    key=(str, "A setting is named as in the season file."),
    before=serializers.JSONField(
        allow_null=True, help_text="Of `closes` null says that there is no end."
    ),
    after=serializers.JSONField(allow_null=True),
)
HistoryEntrySerializer = build_model_serializer(
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
    changes=SettingChangeSerializer(many=True, source="told_changes"),
)


@get(
    "seasons/<slug:slug>/history/",
    role=get_visible_season_or_404,
    pages=HistoryEntrySerializer,
    responses={400: INVALID_FIELDS_RESPONSE},
)
def history(request: Request, season: Season) -> Any:
    """List the history of a season, newest first. Organisers see all entries of the
    history, and teams see their own entries.
    """
    return list_readable_history(season, request.user)


UndoneActionSerializer = build_serializer(
    "Undone", "What was taken back, and what of it stays.", detail=str
)
register_action_operation(
    UNDO_RECENT_CHANGE,
    "seasons/<slug:slug>/history/<int:change>/undo/",
    "undo",
    gives=lambda request, said: {"detail": said},
    answers=UndoneActionSerializer,
)
OrganiserSerializer = build_model_serializer(
    Organiser,
    "Somebody who runs the season.",
    "name address role",
    "Person",
    name=serializers.CharField(source="user"),
    address=serializers.EmailField(source="user.email"),
)


@get(
    "seasons/<slug:slug>/people/",
    role=get_organised_season_or_404,
    answers=[OrganiserSerializer],
)
def people(request: Request, season: Season) -> QuerySet[Organiser]:
    """List the organisers and helpers of a season, for organisers."""
    return (
        Organiser.objects.filter(season=season)
        .select_related("user")
        .order_by("-role", "pk")
    )


register_action_operation(
    ASSIGN_SEASON_ROLE,
    "seasons/<slug:slug>/people/",
    "give_role",
    gives=lambda request, made: people(request, made.season),
    answers=[OrganiserSerializer],
)
build_dataclass_serializer(
    season_progress.Day,
    "Runs that teams sent on one day, by what has become of them.",
    day="UTC.",
    moving="On the way.",
    not_scored="Failed, refused or cancelled.",
    sent=serializers.IntegerField(),
)
build_dataclass_serializer(
    season_progress.Waiting,
    "The season's jobs in one queue.",
    "SeasonQueue",
    oldest="When the first of the queued was made.",
)
build_dataclass_serializer(
    season_progress.Times,
    "Of the newest scorings within a week, in seconds; medians, and the longest of all.",
    "ScoringTimes",
    waited="From the queue to a worker.",
    took="From the worker to the score.",
    longest="From the queue to the score.",
)
SeasonProgressSerializer = build_dataclass_serializer(
    season_progress.Progress,
    "How the season goes.",
    runs="Baselines included.",
    run_bytes="In their files.",
    days="The newest 30 on which teams sent runs, the oldest first.",
)


@get(
    "seasons/<slug:slug>/progress/",
    role=get_helped_season_or_404,
    answers=SeasonProgressSerializer,
    responses={400: INVALID_FIELDS_RESPONSE},
)
def progress(request: Request, season: Season) -> season_progress.Progress:
    """Return the number of a season's runs by day, their waiting times and their disk
    space, for organisers.
    """
    return season_progress.compute_season_progress(season)


@get("seasons/<slug:slug>/runs/", role=get_helped_season_or_404, files=["text/csv"])
def season_runs(request: Request, season: Season) -> StreamingHttpResponse:
    """Return every run of a season as CSV, with the score that ranks the run, for
    organisers and helpers.
    """
    runs = Submission.objects.filter(phase__task__season=season).select_related(
        "phase__task", "team"
    )
    response = StreamingHttpResponse(
        iterate_runs_as_csv(runs), content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{season.slug}-runs.csv"'
    return response


@get(
    "phases/<int:pk>/counting-runs/",
    role=organised_phase_or_404,
    files=["application/zip"],
)
def counting_runs(request: Request, phase: Phase) -> FileResponse:
    """Return the files of the runs on a phase's board as a zip archive, for organisers."""
    name = f"{phase.task.season.slug}-{phase.task.slug}-{phase.slug}-runs.zip"
    archive = build_archive_of_runs_on_board(compute_board(phase, request.user))
    return FileResponse(
        archive, as_attachment=True, filename=name, content_type="application/zip"
    )


FailureAcknowledgementSerializer = build_serializer(
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
    acknowledged=FailureAcknowledgementSerializer(allow_null=True),
)


@get(
    "seasons/<slug:slug>/failures/",
    role=get_helped_season_or_404,
    answers=[SeasonFailureSerializer],
)
def failures(request: Request, season: Season) -> list[dict[str, Any]]:
    """List the runs that failed or wait for a package or model, including acknowledged
    runs, for organisers and helpers.
    """
    notes = {
        (note.submission_id, note.job_id): note
        for note in find_acknowledged_failures(season)
    }
    runs = [
        _serialize_failed_run(run, notes.get((run.pk, None)))
        for run in find_failed_runs(season)[:MAX_FAILURES_LISTED]
    ]
    jobs = [
        _serialize_failed_run(job.submission, notes.get((job.submission.pk, job.pk)))
        | {
            "job": job.pk,
            "rules": job.rules,
            "reason": job.reason,
            "failed_at": job.finished_at,
        }
        for job in find_failed_rescoring_jobs(season)[:MAX_FAILURES_LISTED]
    ]
    waiting = [
        _serialize_failed_run(run, None)
        | {"reason": describe_why_run_waits(run), "failed_at": run.submitted_at}
        for run in find_runs_lacking_software(season)[:MAX_FAILURES_LISTED]
    ]
    return [*runs, *waiting, *jobs]


def _serialize_failed_run(
    run: Submission, note: Acknowledgement | None
) -> dict[str, Any]:
    return {
        "submission": run.pk,
        "system": run.system,
        "team": run.team.slug if run.team else None,
        "job": None,
        "rules": None,
        "reason": run.reason,
        "failed_at": run.status_since,
        "acknowledged": note and _serialize_acknowledgement(note),
    }


def _serialize_acknowledgement(note: Acknowledgement) -> dict[str, Any]:
    return {"id": note.pk, "note": note.note, "by": str(note.by or ""), "at": note.at}


register_creating_action(
    ACKNOWLEDGE_FAILURE,
    "seasons/<slug:slug>/failures/",
    gives=lambda request, note: _serialize_acknowledgement(note),
    answers=FailureAcknowledgementSerializer,
)
register_deleting_action(
    WITHDRAW_ACKNOWLEDGEMENT,
    "seasons/<slug:slug>/failures/<int:acknowledgement>/",
    name="failure",
)


WebhookSerializer = build_model_serializer(
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
        return derive_webhook_secret(webhook)


WebhookDeliverySerializer = build_model_serializer(
    Delivery,
    "One event for one webhook, and what was answered last.",
    "id kind event created_at state attempts response_code error answered_at",
    state=serializers.ChoiceField(Delivery.State.choices, read_only=True),
    attempts=serializers.IntegerField(read_only=True),
)


@get(
    "seasons/<slug:slug>/webhooks/",
    role=get_organised_season_or_404,
    pages=WebhookSerializer,
)
def webhooks(request: Request, season: Season) -> QuerySet[Webhook]:
    """List the webhooks of a season, for organisers."""
    return Webhook.objects.filter(season=season)


register_creating_action(
    CREATE_WEBHOOK, "seasons/<slug:slug>/webhooks/", answers=MadeWebhookSerializer
)
register_deleting_action(
    REMOVE_WEBHOOK, "seasons/<slug:slug>/webhooks/<int:webhook>/", name="webhook"
)
register_action_operation(
    RENEW_WEBHOOK_SECRET,
    "seasons/<slug:slug>/webhooks/<int:webhook>/secret/",
    answers=MadeWebhookSerializer,
    name="webhook-secret",
)


@get(
    "seasons/<slug:slug>/webhooks/<int:webhook>/deliveries/",
    role=build_nested_row_lookup("webhook", get_organised_season_or_404),
    pages=WebhookDeliverySerializer,
)
def deliveries(request: Request, webhook: Webhook) -> QuerySet[Delivery]:
    """List the deliveries of a webhook, newest first, for organisers."""
    return webhook.deliveries.select_related("job")


register_action_operation(
    REPEAT_WEBHOOK_DELIVERY,
    "seasons/<slug:slug>/deliveries/<int:delivery>/repeat/",
    answers=WebhookDeliverySerializer,
    name="delivery-repeat",
)
