"""Middleware for request ids, start times, languages, compression and security headers."""

import datetime as dt
import gzip
import re
import uuid
from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from citeboard.core.confined.turns import SandboxPoolFull
from citeboard.core.logs import request_id

GetResponse = Callable[[HttpRequest], HttpResponse]

# A proxy's request id may contain only characters that cannot forge log lines.
PROXY_REQUEST_ID_PATTERN = re.compile(r"[A-Za-z0-9._-]{8,64}")

PERMISSIONS_POLICY = (
    "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"
)


class BaseMiddleware:
    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response


class RequestIdMiddleware(BaseMiddleware):
    """Assign an id to each request, for the log, the header `X-Request-ID` and
    `request.id`.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        sent = request.headers.get("X-Request-ID", "")
        name = sent if PROXY_REQUEST_ID_PATTERN.fullmatch(sent) else uuid.uuid4().hex
        request.id = name  # type: ignore[attr-defined]
        token = request_id.set(name)
        try:
            response = self.get_response(request)
        finally:
            request_id.reset(token)
        response["X-Request-ID"] = name
        return response


class PrivateByDefaultMiddleware(BaseMiddleware):
    """Keep responses to signed-in users out of caches, unless the view sets another policy."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if (
            "Authorization" in request.headers
            or settings.SESSION_COOKIE_NAME in request.COOKIES
        ):
            response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class SecurityHeadersMiddleware(BaseMiddleware):
    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        self.policy = "; ".join(
            f"{name} {' '.join(sources)}"
            for name, sources in settings.CONTENT_SECURITY_POLICY.items()
        )

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        policy = self.policy
        if getattr(response, "xframe_options_exempt", False):
            policy = policy.replace("frame-ancestors 'none'", "frame-ancestors *")
        response.headers.setdefault("Content-Security-Policy", policy)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        return response


class FullSandboxPoolMiddleware(BaseMiddleware):
    """Respond with status 503 or 429 if the site reads too many files at once.

    The site neither stores nor counts the rejected upload.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(
        self, request: HttpRequest, error: Exception
    ) -> HttpResponse | None:
        if not isinstance(error, SandboxPoolFull):
            return None
        response = render(request, "503.html", {"reason": error}, status=error.status)
        response["Retry-After"] = str(error.retry_after)
        return response


#: Responses of fewer than MIN_COMPRESSED_BYTES do not become smaller by compression.
MIN_COMPRESSED_BYTES = 500
COMPRESSED_CONTENT_TYPES = (
    "text/",
    "application/json",
    "application/x-tex",
    "application/vnd.oai.openapi",
    "image/svg+xml",
)
COMPRESSED_CACHE_SECONDS = 3600
#: With gzip level 2 instead of 6, a board of 200 kB takes 30 % of the time to compress.
#: At gzip level 2, the compressed board is 15 % larger than at level 6.
GZIP_LEVEL = 2


class CompressionMiddleware(BaseMiddleware):
    """Compress responses. The middleware compresses a response with an ETag once, and
    caches the compressed response.

    Responses to clients with a session or a CSRF token stay uncompressed, because their
    compressed size could reveal secrets.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        has_secret = (
            settings.SESSION_COOKIE_NAME in request.COOKIES
            or "CSRF_COOKIE" in request.META
        )
        if has_secret or response.streaming or response.has_header("Content-Encoding"):
            return response
        if len(response.content) < MIN_COMPRESSED_BYTES or not response.get(
            "Content-Type", ""
        ).startswith(COMPRESSED_CONTENT_TYPES):
            return response
        patch_vary_headers(response, ["Accept-Encoding"])
        if "gzip" not in request.headers.get("Accept-Encoding", ""):
            return response
        tag = response.get("ETag", "")
        content: bytes | None = caches["pages"].get(f"gzip:{tag}") if tag else None
        if content is None:
            content = gzip.compress(response.content, GZIP_LEVEL, mtime=0)
            if tag:
                caches["pages"].set(f"gzip:{tag}", content, COMPRESSED_CACHE_SECONDS)
        response.content = content
        response["Content-Encoding"] = "gzip"
        response["Content-Length"] = str(len(response.content))
        if tag.startswith('"'):
            response["ETag"] = f"W/{tag}"
        return response


class MethodNotAllowedMiddleware(BaseMiddleware):
    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        has_content = response.streaming or bool(response.content)
        if (
            response.status_code != 405
            or request.method not in ("GET", "HEAD")
            or has_content
        ):
            return response
        page = render(
            request,
            "405.html",
            {"back": find_nearest_parent_page(request.path)},
            status=405,
        )
        page["Allow"] = response["Allow"]
        return page


def find_nearest_parent_page(path: str) -> str:
    """Return the URL of the nearest existing page above a path.

    The nearest existing page is a parent page, the season's page or the home page.
    """
    parts = path.strip("/").split("/")
    for candidate in [
        "/".join(["", *parts[:length], ""]) for length in range(len(parts) - 1, 0, -1)
    ]:
        try:
            view = resolve(candidate).func
        except Resolver404:
            continue
        methods = _find_allowed_methods(view)
        if methods is None or "GET" in methods:
            return candidate
    try:
        season = resolve(path).kwargs.get("season")
    except Resolver404:
        season = None
    return reverse("season", args=[season]) if season else reverse("home")


def _find_allowed_methods(view: Callable[..., Any] | None) -> Collection[str] | None:
    while view is not None:
        for cell in getattr(view, "__closure__", None) or ():
            if isinstance(cell.cell_contents, list) and "POST" in cell.cell_contents:
                return cell.cell_contents
        view = getattr(view, "__wrapped__", None)
    return None


#: No upload takes longer than MAX_REQUEST_AGE, so older start times from proxies are ignored.
MAX_REQUEST_AGE = dt.timedelta(hours=6)
_REQUEST_START_HEADER_PATTERN = re.compile(r"(?:t=)?(\d{10,16}(?:\.\d{1,9})?)")


class RequestStartMiddleware(BaseMiddleware):
    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.begun_at = find_request_start_time(request, timezone.now())  # type: ignore[attr-defined]
        return self.get_response(request)


def find_request_start_time(request: HttpRequest, now: dt.datetime) -> dt.datetime:
    name = settings.REQUEST_START_HEADER
    stated = parse_start_header(request.headers.get(name, "")) if name else None
    return now if stated is None or stated < now - MAX_REQUEST_AGE else min(stated, now)


def parse_start_header(text: str) -> dt.datetime | None:
    match = _REQUEST_START_HEADER_PATTERN.fullmatch(text.strip())
    if not match:
        return None
    number = float(match[1])
    number /= 1e6 if number >= 1e14 else 1e3 if number >= 1e11 else 1
    try:
        return dt.datetime.fromtimestamp(number, tz=dt.UTC)
    except (OverflowError, ValueError):
        return None


ENGLISH_LANGUAGE_CODE = "en"
#: Responses of the API, the admin, probes, metrics and files are always in English.
#: The parameter `?figure=` of a page's URL requests a figure of the page as a file.
_ENGLISH_ONLY_PATHS = re.compile(r"/(api|admin|health|metrics)(/|$)|.*\.[a-z]+$")
YEAR_SECONDS = 365 * 24 * 3600  # seconds


class LanguageMiddleware(BaseMiddleware):
    """Set the language of a page, and the header `Vary` by which caches distinguish
    languages.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if _ENGLISH_ONLY_PATHS.match(request.path) or request.GET.get("figure"):
            with translation.override(ENGLISH_LANGUAGE_CODE):
                return self.get_response(request)
        language = translation.get_language_from_request(request)
        with translation.override(language):
            response = self.get_response(request)
        is_page = response.get("Content-Type", "").startswith("text/html")
        if is_page:
            response.headers.setdefault("Content-Language", language)
        # A 304 response gets the same header `Vary` as the page.
        if is_page or response.status_code == HTTPStatus.NOT_MODIFIED:
            patch_vary_headers(response, ["Accept-Language", "Cookie"])
        return response


def set_persistent_cookie(response: HttpResponseBase, name: str, value: str) -> None:
    """Store a value for a year in a cookie that scripts cannot read."""
    response.set_cookie(
        name,
        value,
        max_age=YEAR_SECONDS,
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )


@never_cache
@require_safe
def choose_language(request: HttpRequest, code: str) -> HttpResponse:
    """Store the reader's language in a cookie, and return to the previous page."""
    if code not in dict(settings.LANGUAGES):
        raise Http404
    back = request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(
        back, {request.get_host()}, require_https=request.is_secure()
    )
    response = redirect(back if is_ours else "home")
    set_persistent_cookie(response, settings.LANGUAGE_COOKIE_NAME, code)
    return response
