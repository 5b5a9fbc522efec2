"""What every answer carries: the request's id, and what a browser may do with the page."""

import re
import uuid
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from citeboard.core.confined.pool import PoolFull

from .logs import request_id

GetResponse = Callable[[HttpRequest], HttpResponse]

# A proxy may have numbered the request already; anything else could forge lines in the log.
GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")

PERMISSIONS = "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"


class RequestIdMiddleware:
    """Names the request in the log, on the answer as `X-Request-ID`, and to views as `request.id`."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-ID", "")
        name = given if GIVEN_ID.fullmatch(given) else uuid.uuid4().hex
        request.id = name  # type: ignore[attr-defined]
        token = request_id.set(name)
        try:
            response = self.get_response(request)
        finally:
            request_id.reset(token)
        response["X-Request-ID"] = name
        return response


class PrivateByDefaultMiddleware:
    """What is answered to somebody who has signed in stays in no cache, unless the view says otherwise."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if "Authorization" in request.headers or settings.SESSION_COOKIE_NAME in request.COOKIES:
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class SecurityHeadersMiddleware:
    """Sends the content security policy and the permissions policy with every answer.

    A view that needs less strictness sets the header itself, and that stands.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.policy = "; ".join(
            f"{name} {' '.join(sources)}" for name, sources in settings.CONTENT_SECURITY_POLICY.items()
        )

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", self.policy)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return response


class FullPoolMiddleware:
    """Answers 503 where a file cannot be read because too many are; nothing was stored or counted."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, PoolFull):
            return None
        response = render(request, "503.html", {"reason": error}, status=503)
        response["Retry-After"] = str(error.retry_after)
        return response
