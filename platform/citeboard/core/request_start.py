"""When a request began: the instant its first byte came, as a proxy of ours states it or as we see it."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

#: No upload takes longer; a statement that is older than that is a mistake.
MAX_AGE = dt.timedelta(hours=6)
_STATED = re.compile(r"(?:t=)?(\d{10,16}(?:\.\d{1,9})?)")


class RequestStartMiddleware:
    """Notes it as `request.begun_at`, before anything else looks at the request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.begun_at = begun_at(request, timezone.now())  # type: ignore[attr-defined]
        return self.get_response(request)


def begun_at(request: HttpRequest, now: dt.datetime) -> dt.datetime:
    """What the proxy's header says, where the site is told to trust one; never later than now."""
    name = settings.REQUEST_START_HEADER
    stated = stated_start(request.headers.get(name, "")) if name else None
    if stated is None or stated < now - MAX_AGE:
        return now
    return min(stated, now)


def stated_start(text: str) -> dt.datetime | None:
    """The instant in `t=1790000000.123`: seconds since 1970, milli- or microseconds; None for else."""
    found = _STATED.fullmatch(text.strip())
    if not found:
        return None
    number = float(found[1])
    for unit in (1e14, 1e11):
        if number >= unit:
            number /= 1e6 if unit == 1e14 else 1e3
            break
    try:
        return dt.datetime.fromtimestamp(number, tz=dt.UTC)
    except (OverflowError, ValueError):
        return None
