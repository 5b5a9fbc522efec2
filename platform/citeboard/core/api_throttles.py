"""How many requests somebody may make in a minute: against runaway programs, not against use."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.core.cache import cache
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

if TYPE_CHECKING:
    # The views read these throttles from the settings while they are imported themselves.
    from rest_framework.views import APIView

WINDOW = 60


class MinuteThrottle(BaseThrottle):
    """Counts minute by minute of the clock, over all processes."""

    scope: ClassVar[str]
    rest: float = 0

    def rate(self, request: Request) -> int:
        raise NotImplementedError

    def allow_request(self, request: Request, view: APIView) -> bool:
        minute, passed = divmod(time.time(), WINDOW)
        self.rest = WINDOW - passed
        key = f"throttle:{self.scope}:{self.who(request)}:{int(minute)}"
        return counted(key) <= self.rate(request)

    def wait(self) -> float:
        return self.rest

    def who(self, request: Request) -> str:
        if request.user.is_authenticated:
            return f"user-{request.user.pk}"
        return f"address-{self.get_ident(request)}"


class RequestThrottle(MinuteThrottle):
    """Every request."""

    scope = "requests"

    def rate(self, request: Request) -> int:
        if request.user.is_authenticated:
            return int(settings.API_REQUESTS_PER_MINUTE)
        return int(settings.API_ANONYMOUS_REQUESTS_PER_MINUTE)


class UploadThrottle(MinuteThrottle):
    """Requests that carry a run, each of which is read and checked."""

    scope = "uploads"

    def rate(self, request: Request) -> int:
        return int(settings.API_UPLOADS_PER_MINUTE)


def counted(key: str) -> int:
    """One more under the key, and how many that makes."""
    try:
        return cache.incr(key)
    except ValueError:
        return 1 if cache.add(key, 1, timeout=2 * WINDOW) else cache.incr(key)
