"""Base classes of Django's admin, and the admin of the history, which can restore
deleted rows.
"""

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import PAGE_VAR
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from citeboard.core import audit, words
from citeboard.core.audit import RowsNotRestored, restore_deleted_rows
from citeboard.core.models import AuditEntry
from citeboard.core.query import parse_whole_number

if TYPE_CHECKING:
    AnyModelAdmin = admin.ModelAdmin[Any]
    AnyTabularInline = admin.TabularInline[Any, Any]
else:
    # Django's admin classes accept no type parameters at run time.
    AnyModelAdmin, AnyTabularInline = admin.ModelAdmin, admin.TabularInline


class NoAddPermissionAdmin(AnyModelAdmin):
    """Admin of models whose rows only services create."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


class AuditedAdmin(NoAddPermissionAdmin):
    def find_audited_place(self, row: Any) -> Model:
        assert isinstance(row, Model)
        return row

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        with transaction.atomic():
            old = type(obj)._default_manager.select_for_update().get(pk=obj.pk)  # noqa: SLF001
            super().save_model(request, obj, form, change)
            changes = [
                audit.SettingChange(key, getattr(old, key), getattr(obj, key))
                for key in form.changed_data
            ]
            if changes:
                facts = {"name": obj, "fields": ", ".join(form.changed_data)}
                by, place = request.user, self.find_audited_place(obj)
                audit.record_action(
                    "changed-in-admin",
                    actor=by,
                    subject=obj,
                    place=place,
                    facts=facts,
                    changes=changes,
                )

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        audit.delete_row_and_record(
            row=obj, place=self.find_audited_place(obj), by=request.user
        )

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        for row in queryset:
            self.delete_model(request, row)


class LowerBoundCount(int):
    def __str__(self) -> str:
        return f"{int(self)}+"


class ReadOnlyAdmin(NoAddPermissionAdmin):
    show_full_result_count = False

    def get_paginator(
        self,
        request: HttpRequest,
        queryset: Any,
        per_page: int,
        *args: Any,
        **options: Any,
    ) -> Any:
        """Return a paginator that counts at most the rows up to nine pages after the
        current page.
        """
        most = per_page * (
            max(parse_whole_number(request.GET.get(PAGE_VAR, "")), 1) + 9
        )
        number = queryset.order_by()[: most + 1].count()
        paginator = super().get_paginator(request, queryset, per_page, *args, **options)
        paginator.count = number if number <= most else LowerBoundCount(most)
        return paginator

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    list_display = ["at", "actor_name", "words", "subject", "place_type", "place_id"]
    list_filter = ["action", "place_type"]
    search_fields = ["actor_name", "text", "facts", "subject"]
    exclude, readonly_fields = ["changes"], ["told_changes"]
    date_hierarchy = "at"
    actions = ["bring_back"]

    def restore_deleted_rows(self, entry: AuditEntry, by: Any) -> None:
        restore_deleted_rows(entry=entry, by=by)

    @admin.action(description="Bring back what was deleted", permissions=["view"])
    def bring_back(self, request: HttpRequest, entries: QuerySet[AuditEntry]) -> None:
        for entry in entries:
            try:
                self.restore_deleted_rows(entry, request.user)
            except RowsNotRestored as refused:
                self.message_user(
                    request, words.format_as_sentence(refused), messages.ERROR
                )
