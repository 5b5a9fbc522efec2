"""Read-only views of scores in Django's admin. Scores change only when a worker scores
a run again, so the admin has no forms for scores.
"""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from citeboard.core.admin import AnyTabularInline, AuditedAdmin, ReadOnlyAdmin
from scoring.models import Evaluation, Paper, Reported, ReportedTable, Score


class ScoreInline(AnyTabularInline):
    model = Score
    fields = ["metric", "value", "low", "high", "n", "signature"]
    readonly_fields = ["metric", "value", "low", "high", "n", "signature"]
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnlyAdmin):
    list_display = [
        "submission",
        "phase",
        "team",
        "rules",
        "gold",
        "rank_value",
        "created_at",
    ]
    list_filter = ["phase__task__season"]
    list_select_related = ["submission", "phase", "team", "gold__task"]
    search_fields = ["submission__system", "team__name", "run_sha256"]
    inlines = [ScoreInline]


@admin.register(Paper)
class PaperAdmin(AuditedAdmin):
    """The command `reported_results` loads papers with published results. Deleting a
    paper also deletes the paper's tables of published results.
    """

    list_display = ["key", "title", "year", "loaded_at"]
    search_fields = ["key", "title"]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyPartOfPaperAdmin(ReadOnlyAdmin):
    """A part of a paper can only be deleted together with the paper."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.resolver_match is not None and "paper" in str(
            request.resolver_match.url_name
        )


@admin.register(ReportedTable)
class ReportedTableAdmin(ReadOnlyPartOfPaperAdmin):
    list_display = ["paper", "name", "kind", "what"]
    list_filter = ["paper", "kind"]


@admin.register(Reported)
class ReportedAdmin(ReadOnlyPartOfPaperAdmin):
    list_display = [
        "table",
        "line",
        "system",
        "metric",
        "printed",
        "suspect",
        "is_inconsistent",
    ]
    list_filter = ["table__paper", "is_inconsistent"]
    list_select_related = ["table__paper"]
    search_fields = ["system", "key"]
