"""Facts in Django's admin: shown, and never changed there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest

from citeboard.core import audit, undelete

if TYPE_CHECKING:
    RowsAdmin = admin.ModelAdmin[Any]
    PartsInline = admin.TabularInline[Any, Any]
else:
    # At run time Django's classes take no parameters.
    RowsAdmin, PartsInline = admin.ModelAdmin, admin.TabularInline


class CreatedElsewhere(RowsAdmin):
    """Rows that services create; here they are looked up, and changed where that is allowed."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


class NotedAdmin(CreatedElsewhere):
    """Rows that may be changed and deleted here; the history says by whom, and what they were."""

    def place_of(self, row: Any) -> Model:
        assert isinstance(row, Model)
        return row

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        with transaction.atomic():
            before = type(obj)._default_manager.select_for_update().get(pk=obj.pk)  # noqa: SLF001
            super().save_model(request, obj, form, change)
            changes = [
                audit.Change(name, getattr(before, name), getattr(obj, name)) for name in form.changed_data
            ]
            if changes:
                audit.record(
                    "changed-in-admin",
                    actor=request.user,
                    subject=obj,
                    place=self.place_of(obj),
                    facts={"name": obj, "fields": ", ".join(form.changed_data)},
                    changes=changes,
                )

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        undelete.delete(row=obj, place=self.place_of(obj), by=request.user)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        for row in queryset:
            self.delete_model(request, row)


class FactsAdmin(CreatedElsewhere):
    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
