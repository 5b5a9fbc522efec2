"""`/metrics`: what Prometheus reads, for whoever has the token or asks on this very machine."""

from __future__ import annotations

from ipaddress import ip_address

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from scoring.ops.metrics import exposition

#: What proxies add to a request that they pass on.
FORWARDED = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP")
OWN_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Queues, runs, requests and cached pages in figures, by token or on the site's own machine."""
    if not (_has_token(request) or _is_local(request)):
        raise Http404(_("There is nothing for you to read at this address."))
    return HttpResponse(exposition(), content_type=CONTENT_TYPE_LATEST)


def _has_token(request: HttpRequest) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    token = settings.METRICS_TOKEN
    return bool(token) and scheme.lower() == "bearer" and constant_time_compare(given.strip(), token)


def _is_local(request: HttpRequest) -> bool:
    """A proxy on this machine makes the whole world look local, so what one has passed on is not."""
    if settings.PROXIES or any(name in request.headers for name in FORWARDED):
        return False
    if split_domain_port(request.get_host())[0] not in OWN_NAMES:
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
