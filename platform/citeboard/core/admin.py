from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from citeboard.core.admin_facts import FactsAdmin
from citeboard.core.models import AuditEntry
from citeboard.core.undelete import NotRestored, restore
from citeboard.core.words import sentence


@admin.register(AuditEntry)
class AuditEntryAdmin(FactsAdmin):
    list_display = ["at", "actor_name", "words", "subject", "place_type", "place_id"]
    list_filter = ["action", "place_type"]
    search_fields = ["actor_name", "text", "facts", "subject"]
    date_hierarchy = "at"
    actions = ["bring_back"]

    @admin.action(description="Bring back what was deleted", permissions=["view"])
    def bring_back(self, request: HttpRequest, entries: QuerySet[AuditEntry]) -> None:
        for entry in entries:
            try:
                restore(entry=entry, by=request.user)
            except NotRestored as refused:
                self.message_user(request, sentence(refused), messages.ERROR)
