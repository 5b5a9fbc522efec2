"""The log of receipts, for everybody."""

import datetime as dt

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from scoring.models import LogEntry, SigningKey
from scoring.receipts import log
from scoring.receipts.keys import why_lost
from scoring.web.pages import leaf


@require_safe
def receipt_log(request: HttpRequest) -> HttpResponse:
    """Newest entries first."""
    head = log.head()
    context = {
        "head": head and {**head, "signed": dt.datetime.fromisoformat(head["at"])},
        "lost": why_lost(),
        "keys": SigningKey.objects.all(),
        "page": leaf(request, LogEntry.objects.exclude(index=None).select_related("key").order_by("-index")),
        "site": settings.BASE_URL,
    }
    return render(request, "log.html", context)
