"""Errors, pagination, throttling and CORS headers that all parts of the API share."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import wraps
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.core.cache import cache
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, inline_serializer
from rest_framework import exceptions, serializers, status
from rest_framework.metadata import BaseMetadata
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.pagination import PageNumberPagination
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.utils.urls import replace_query_param

if TYPE_CHECKING:
    # REST framework's views import this module, so a direct import would be circular.
    from rest_framework.views import APIView

from citeboard.core.query import CountedQueryset

#: A read-only view accepts GET and HEAD requests.
READ_METHODS = ["GET", "HEAD"]


class SingleFormatNegotiation(DefaultContentNegotiation):
    """Ignore the Accept header, and respond in the view's only format.

    Clients can therefore download files with any Accept header.
    """

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, str(renderer.media_type)


class AllowedMethodsMetadata(BaseMetadata):
    def determine_metadata(
        self, request: Request, view: "APIView"
    ) -> dict[str, list[str]]:
        return {"methods": sorted(view.allowed_methods)}


class LengthRequired(exceptions.APIException):
    status_code = status.HTTP_411_LENGTH_REQUIRED
    default_detail = "Send the length of the request in Content-Length; chunked requests are not read."


def require_length(request: Request) -> None:
    """Refuse a chunked request, because WSGI servers drop the body of such a request.

    Raises LengthRequired.
    """
    if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
        raise LengthRequired


JSON_CONTENT_TYPE = "application/json"


class Error(serializers.Serializer[Any]):
    """Any error."""

    detail = serializers.CharField(help_text="What is wrong, as a sentence.")


class InvalidFields(Error):
    """A request with missing, unknown or invalid fields."""

    errors = serializers.DictField(  # type: ignore[assignment]
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="What is wrong with each field.",
    )


class TooManyRequests(Error):
    """A request that exceeds a quota or the permitted rate of requests."""

    left = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="Runs that the team has left; only where a quota is used up.",
    )
    renews_at = serializers.DateTimeField(
        required=False,
        allow_null=True,
        help_text="When the team may submit again; null for never.",
    )
    retry_after = serializers.IntegerField(
        required=False, help_text="Seconds; only where requests come too fast."
    )


class Closed(serializers.Serializer[Any]):
    """A phase does not accept the run, because the phase is closed or the run exceeds a
    limit.
    """

    detail = serializers.CharField()
    opens = serializers.DateTimeField(required=False)
    closes = serializers.DateTimeField(
        required=False, allow_null=True, help_text="Null where it has no end."
    )
    late_by_seconds = serializers.FloatField(
        required=False,
        allow_null=True,
        help_text="How long after the end the upload began.",
    )


INVALID_FIELDS_RESPONSE = OpenApiResponse(
    InvalidFields, "The request cannot be read, or a field cannot be meant."
)
UNAUTHENTICATED_RESPONSE = OpenApiResponse(
    Error, "No token was sent, or one that is not known."
)
FORBIDDEN_RESPONSE = OpenApiResponse(Error, "This is not allowed to you.")
NOT_FOUND_RESPONSE = OpenApiResponse(
    Error, "There is no such thing, or you may not see it."
)
CONFLICT_RESPONSE = OpenApiResponse(
    Closed, "As things stand this cannot be done; the sentence says why."
)
TOO_LARGE_RESPONSE = OpenApiResponse(Error, "The file is larger than the site takes.")
TOO_MANY_REQUESTS_RESPONSE = OpenApiResponse(
    TooManyRequests, "Too many requests, or no runs are left."
)


class LinkedPagination(PageNumberPagination):
    """Paginate lists, and link to the first, previous, next and last page.

    The header `Link` of the response contains the URLs of the first, previous, next and
    last page.
    """

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 200

    def get_paginated_response(self, data: Any) -> Response:
        assert self.request is not None
        assert self.page is not None
        response = super().get_paginated_response(data)
        here = self.request.build_absolute_uri()
        pages = {
            "first": replace_query_param(here, self.page_query_param, 1),
            "prev": self.get_previous_link(),
            "next": self.get_next_link(),
            "last": replace_query_param(
                here, self.page_query_param, self.page.paginator.num_pages
            ),
        }
        response["Link"] = ", ".join(
            f'<{link}>; rel="{place}"' for place, link in pages.items() if link
        )
        return response


PAGE_PARAMETERS = [
    OpenApiParameter("page", int, description="The number of the page, from 1."),
    OpenApiParameter("page_size", int, description="How many to a page, at most 200."),
]


def build_page_serializer(
    serializer: type[serializers.BaseSerializer[Any]],
) -> serializers.Serializer[Any]:
    return inline_serializer(
        f"{serializer.__name__.removesuffix('Serializer')}Page",
        {
            "count": serializers.IntegerField(),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": serializer(many=True),
        },
    )


def build_paginated_response(
    request: Request,
    rows: QuerySet[Any] | CountedQueryset,
    serializer: type[serializers.BaseSerializer[Any]],
) -> Response:
    pages = LinkedPagination()
    page = pages.paginate_queryset(rows, request)  # type: ignore[arg-type]  # (Listed supports count() and slices)
    return pages.get_paginated_response(
        serializer(page, many=True, context={"request": request}).data
    )


def add_default_error_responses(
    result: dict[str, Any], **kwargs: Any
) -> dict[str, Any]:
    shape = {
        "content": {
            JSON_CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Error"}}
        }
    }
    for operations in result["paths"].values():
        for operation in operations.values():
            responses = operation["responses"]
            for response in responses.values():
                response["description"] = (
                    response["description"] or f"{operation['summary']}."
                )
            responses.setdefault(
                "default", {**shape, "description": "Any other error."}
            )
    return result


RATE_WINDOW_SECONDS = 60


class MinuteThrottle(BaseThrottle):
    """Limit the requests of a client in each minute of the clock, counted across all
    web processes.
    """

    scope: ClassVar[str]
    rest: float = 0

    def find_request_limit(self, request: Request) -> int:
        raise NotImplementedError

    def allow_request(self, request: Request, view: "APIView") -> bool:
        minute, passed = divmod(time.time(), RATE_WINDOW_SECONDS)
        self.rest = RATE_WINDOW_SECONDS - passed
        key = f"throttle:{self.scope}:{self.who(request)}:{int(minute)}"
        rate = self.find_request_limit(request)
        return (
            count_request(
                key,
                step=max(
                    1, rate // (COUNT_BATCHES_PER_RATE_LIMIT * settings.WEB_WORKERS)
                ),
            )
            <= rate
        )

    def wait(self) -> float:
        return self.rest

    def who(self, request: Request) -> str:
        if request.user.is_authenticated:
            return f"user-{request.user.pk}"
        return f"address-{self.get_ident(request)}"


class RequestThrottle(MinuteThrottle):
    scope = "requests"

    def find_request_limit(self, request: Request) -> int:
        if request.user.is_authenticated:
            return int(settings.API_REQUESTS_PER_MINUTE)
        return int(settings.API_ANONYMOUS_REQUESTS_PER_MINUTE)


class UploadThrottle(MinuteThrottle):
    scope = "uploads"

    def find_request_limit(self, request: Request) -> int:
        return int(settings.API_UPLOADS_PER_MINUTE)


#: _REQUEST_COUNTS caches the shared count of requests and this process's requests since then.
_REQUEST_COUNTS: OrderedDict[str, tuple[int, int]] = OrderedDict()
_REQUEST_COUNTS_LOCK = Lock()
MAX_CACHED_REQUEST_COUNTS = 10_000
#: A web process adds its share of a rate limit to the shared count in COUNT_BATCHES_PER_RATE_LIMIT steps.
COUNT_BATCHES_PER_RATE_LIMIT = 25


def count_request(key: str, *, step: int = 1) -> int:
    with _REQUEST_COUNTS_LOCK:
        shared_count, since = _REQUEST_COUNTS.pop(key, (0, 0))
        since += 1
        is_due = since >= step or not shared_count
        _REQUEST_COUNTS[key] = shared_count, 0 if is_due else since
        if len(_REQUEST_COUNTS) > MAX_CACHED_REQUEST_COUNTS:
            _REQUEST_COUNTS.popitem(last=False)
    if not is_due:
        return shared_count + since
    try:
        shared_count = cache.incr(key, since)
    except ValueError:
        shared_count = (
            since
            if cache.add(key, since, timeout=2 * RATE_WINDOW_SECONDS)
            else cache.incr(key, since)
        )
    with _REQUEST_COUNTS_LOCK:
        _REQUEST_COUNTS[key] = shared_count, _REQUEST_COUNTS.get(key, (0, 0))[1]
    return shared_count


P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)


def allow_any_origin(
    view: Callable[Concatenate[HttpRequest, P], R],
) -> Callable[Concatenate[HttpRequest, P], R]:
    """Add CORS headers to responses to anonymous GET and HEAD requests."""

    @wraps(view)
    def respond_with_cors_headers(
        request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        response = view(request, *args, **kwargs)
        has_credentials = (
            "Authorization" in request.headers
            or settings.SESSION_COOKIE_NAME in request.COOKIES
        )
        if request.method in ("GET", "HEAD") and not has_credentials:
            response["Access-Control-Allow-Origin"] = "*"
            response["Access-Control-Expose-Headers"] = (
                "Content-Disposition, ETag, Link, Retry-After"
            )
        return response

    return respond_with_cors_headers
