"""Answers for probes, and the page for an error of ours."""

import logging
import sys

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django.views.defaults import bad_request as bad_request_page

from citeboard.core import health
from citeboard.core.api_errors import is_for_programs, json_error
from citeboard.core.outage_log import note_outage, note_recovery
from citeboard.core.outages import outage_of
from citeboard.core.words import listed, one_line

log = logging.getLogger(__name__)


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """The process answers; it says nothing of what the process needs."""
    return JsonResponse({"status": "live"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Whether requests may be sent here, with `?for=worker` whether runs are scored; and what is missing."""
    asked = request.GET.get("for", health.WEB)
    if asked not in health.PARTS:
        return JsonResponse({"detail": f"There are {listed(health.PARTS)}."}, status=400)
    clock = health.clock_skew()
    missing = health.missing(clock)
    told: dict[str, object] = {
        part: "waiting" if any(part in found.stops for found in missing) else "ready" for part in health.PARTS
    }
    status = told[asked]
    told |= {"clock_seconds": clock, "missing": [found.as_dict() for found in missing]}
    # Probes come every few seconds.
    for found in missing:
        note_outage(found.what, found.reason)
    for what in health.PARTS_ASKED - {found.what for found in missing}:
        note_recovery(what)
    reason = (
        {"reason": next(found.reason for found in missing if asked in found.stops)}
        if status != "ready"
        else {}
    )
    response = JsonResponse({"status": status, **reason, **told}, status=200 if status == "ready" else 503)
    _mark_logged(response)
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """Says what is away, or names the request, so that a report of the error can be traced.

    Whatever failed, a middleware or a view, comes by here while its exception is handled. Asks neither
    database nor session.
    """
    outage = outage_of(sys.exception())
    status, detail = 500, "Something went wrong on our side; the error is in our log."
    if outage is not None:
        status, detail = outage.status, outage.sentence(request)
    response: HttpResponse
    if is_for_programs(request):
        response = json_error(request, detail, status)
    else:
        context = {"request_id": getattr(request, "id", "-"), "outage": outage and detail}
        response = HttpResponse(render_to_string("500.html", context), status=status)
    if outage is not None:
        response["Retry-After"] = str(outage.seconds)
        response["Cache-Control"] = "no-store"
        reason = one_line(sys.exception())
        log.error("%s %s was answered %s: %s", request.method, request.path, status, reason)
        # In the place of Django's own line, which has a traceback for each request.
        _mark_logged(response)
    return response


def _mark_logged(response: HttpResponse) -> None:
    """Django writes no line of its own about the answer."""
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """A request that is refused before any view has seen it, such as one for another host."""
    if is_for_programs(request):
        return json_error(request, "The request cannot be answered as it was sent.", 400)
    return bad_request_page(request, exception)
