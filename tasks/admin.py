"""Seasons in Django's admin. Organisers should change settings in the season file and
load it again.
"""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest
from django.shortcuts import redirect
from django.utils import timezone

from citeboard.core.admin import (
    AnyModelAdmin,
    AnyTabularInline,
    AuditedAdmin,
    AuditEntryAdmin,
    ReadOnlyAdmin,
)
from citeboard.core.models import AuditEntry
from citeboard.core.words import format_as_sentence
from citeboard.teams.admin import TeamAdmin
from citeboard.teams.models import Team, User
from tasks.delivery.notifications.events import (
    PhaseDeadlineAndLimits,
    notify_phase_changed,
)
from tasks.gold.early import (
    CONFIRMATION_FIELDS,
    EmbargoBreach,
    UnequalPublicParts,
    confirm_disclosure,
    refuse_early_disclosure,
    render_breach_confirmation,
)
from tasks.models import (
    Gold,
    Job,
    Organiser,
    Phase,
    Registration,
    Season,
    Submission,
    Task,
)
from tasks.models.seasons import increment_board_versions
from tasks.seasons.organisers import add_organiser, remove_organiser


class EmbargoConfirmingAdmin(AnyModelAdmin):
    """Asks for a confirmation before a change in the admin breaks an embargo."""

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return _call_view_or_ask_about_embargo(
            super().changeform_view, request, *args, **kwargs
        )

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return _call_view_or_ask_about_embargo(
            super().delete_view, request, *args, **kwargs
        )

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return _call_view_or_ask_about_embargo(
            super().changelist_view, request, *args, **kwargs
        )


class SeasonContentAdmin(EmbargoConfirmingAdmin, AuditedAdmin):
    """Records changes of seasons, tasks and phases in the season's history, and updates
    the boards of the season.
    """

    def find_audited_place(self, row: Any) -> Model:
        return get_season_of_row(row)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with (
            transaction.atomic(),
            refuse_early_disclosure(
                get_season_of_row(obj), by=_require_signed_in_user(request)
            ),
        ):
            super().delete_model(request, obj)

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        with (
            transaction.atomic(),
            refuse_early_disclosure(
                get_season_of_row(obj), by=_require_signed_in_user(request)
            ),
        ):
            if isinstance(obj, Season):
                before = Season.objects.filter(pk=obj.pk, is_public=True).exists()
                obj.was_public = obj.was_public or before or obj.is_public
            super().save_model(request, obj, form, change)
            increment_board_versions(get_season_of_row(obj))


def _require_signed_in_user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _call_view_or_ask_about_embargo(
    view: Callable[..., Any], request: HttpRequest, *args: Any, **kwargs: Any
) -> Any:
    try:
        # If the action on one of several selected rows is refused, no row changes.
        with (
            transaction.atomic(),
            confirm_disclosure(
                *(request.POST.get(name, "") for name in CONFIRMATION_FIELDS)
            ),
        ):
            return view(request, *args, **kwargs)
    except EmbargoBreach as refused:
        return render_breach_confirmation(request, refused)
    except UnequalPublicParts as refused:
        messages.error(request, format_as_sentence(refused))
        return redirect(request.path)


def get_season_of_row(row: Season | Task | Phase) -> Season:
    if isinstance(row, Season):
        return row
    return row.season if isinstance(row, Task) else row.task.season


admin.site.unregister(AuditEntry)


@admin.register(AuditEntry)
class SeasonAuditEntryAdmin(EmbargoConfirmingAdmin, AuditEntryAdmin):
    def restore_deleted_rows(self, entry: AuditEntry, by: Any) -> None:
        is_of_season = entry.place_type == "tasks.season"
        season = (
            Season.objects.filter(pk=entry.place_id).first() if is_of_season else None
        )
        if season is None:
            return super().restore_deleted_rows(entry, by)
        with transaction.atomic(), refuse_early_disclosure(season, by=by):
            increment_board_versions(season)
            return super().restore_deleted_rows(entry, by)


admin.site.unregister(Team)


@admin.register(Team)
class BoardUpdatingTeamAdmin(TeamAdmin):
    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        with transaction.atomic():
            super().save_model(request, obj, form, change)
            for season in Season.objects.filter(registrations__team=obj).order_by("pk"):
                increment_board_versions(season)


class OrganiserInline(AnyTabularInline):
    model = Organiser
    fields = ["user"]
    extra = 0
    raw_id_fields = ["user"]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Season)
class SeasonAdmin(SeasonContentAdmin):
    """In the admin, staff can add and remove the organisers of a season. Other settings
    of a season should be changed in the season file.
    """

    list_display = ["title", "slug", "is_public", "registration", "created_at"]
    list_filter = ["is_public", "registration"]
    search_fields = ["title", "slug"]
    readonly_fields = ["announcement", "announced_at", "created_at", "was_public"]
    inlines = [OrganiserInline]

    def save_formset(
        self, request: HttpRequest, form: Any, formset: Any, change: bool
    ) -> None:
        formset.save(commit=False)
        by = _require_signed_in_user(request)
        for organiser in formset.new_objects:
            add_organiser(
                season=organiser.season, user=organiser.user, role=organiser.role, by=by
            )
        for organiser in formset.deleted_objects:
            remove_organiser(organiser=organiser, by=by)


@admin.register(Task)
class TaskAdmin(SeasonContentAdmin):
    """In the admin, the type and the options of a task are read-only, because the
    scores of existing runs depend on them.
    """

    list_display = ["title", "season", "slug", "type", "is_reported_only"]
    list_filter = ["season", "type"]
    search_fields = ["title", "slug"]
    readonly_fields = [
        "season",
        "type",
        "rules",
        "options",
        "is_reported_only",
        "published",
    ]


@admin.register(Phase)
class PhaseAdmin(SeasonContentAdmin):
    """In the admin, the dates of a phase are read-only, because the organisers' page
    shows the consequences before it changes the dates.
    """

    list_display = ["title", "task", "split", "opens", "end", "board", "counting"]
    list_filter = ["task__season", "board"]
    search_fields = ["title", "slug"]
    exclude, readonly_fields = (
        ["closes"],
        ["task", "split", "opens", "end", "version", "updated_at"],
    )

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        with transaction.atomic():
            before = PhaseDeadlineAndLimits.of(
                Phase.objects.select_for_update().get(pk=obj.pk)
            )
            super().save_model(request, obj, form, change)
            notify_phase_changed(
                obj, before, at=timezone.now(), by=_require_signed_in_user(request)
            )


@admin.register(Registration)
class RegistrationAdmin(ReadOnlyAdmin):
    """In the admin, registrations are read-only, because the organisers' page for
    approving teams also shows if members of the team belong to other teams.
    """

    list_display = [
        "team",
        "season",
        "is_approved",
        "registered_at",
        "decided_at",
        "decided_by",
    ]
    list_filter = ["season", "is_approved"]
    search_fields = ["team__name"]


@admin.register(Gold)
class GoldAdmin(ReadOnlyAdmin):
    """In the admin, versions of gold are read-only, because a correction creates a new
    version with a reason.
    """

    list_display = ["task", "split", "number", "instances", "reason", "created_at"]
    list_filter = ["task__season"]
    search_fields = ["digest", "reason"]


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    list_display = [
        "system",
        "number",
        "team",
        "phase",
        "kind",
        "status",
        "submitted_at",
    ]
    list_filter = ["phase__task__season", "status", "kind"]
    list_select_related = ["team", "phase"]
    search_fields = ["system", "team__name", "sha256"]


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = [
        "kind",
        "submission",
        "gold",
        "rules",
        "state",
        "attempt",
        "created_at",
        "finished_at",
    ]
    list_filter = ["kind", "state"]
    list_select_related = ["submission", "gold__task"]
    search_fields = ["trace", "reason"]
    ordering = ["-id"]
