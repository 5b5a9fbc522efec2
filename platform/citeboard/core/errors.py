"""Responses of the site to requests that fail.

URLs of the API respond to errors with a JSON object whose `detail` is a sentence. All
other URLs respond with a page.
"""

import logging
import math
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import (
    BadRequest,
    RequestDataTooBig,
    SuspiciousOperation,
    ValidationError,
)
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    JsonResponse,
    UnreadablePostError,
)
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers
from django.views.defaults import bad_request as bad_request_page
from rest_framework import exceptions, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import (
    exception_handler as rest_exception_handler,
    set_rollback,
)

from citeboard.core import outages, refusals
from citeboard.core.confined.turns import SandboxPoolFull
from citeboard.core.query import InvalidParameters
from citeboard.core.words import format_as_sentence, join_lines

log = logging.getLogger(__name__)

API_PATH_PREFIX = "/api/"


class ApiErrorResponse(exceptions.APIException):
    #: REST framework copies `wait` to the response header `Retry-After`, in seconds.
    wait: float | None = None

    def __init__(self, detail: str, code: int, **members: object) -> None:
        super().__init__(detail)
        self.status_code, self.members = code, members


def handle_api_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    if isinstance(error, refusals.ActionRefused):
        set_rollback()
        return _convert_to_problem_response(
            Response(error.answer(), status=error.status), context["request"]
        )
    if isinstance(error, SandboxPoolFull):
        busy = ApiErrorResponse(
            format_as_sentence(error), error.status, retry_after=error.retry_after
        )
        busy.wait, error = error.retry_after, busy
    elif isinstance(error, RequestDataTooBig):
        error = ApiErrorResponse(str(error), status.HTTP_413_REQUEST_ENTITY_TOO_LARGE)
    elif isinstance(error, InvalidParameters):
        error = exceptions.ValidationError(
            {name: [words] for name, words in error.errors.items()}
        )
    elif isinstance(
        error,
        SuspiciousOperation | BadRequest | MultiPartParserError | UnreadablePostError,
    ):
        error = exceptions.ParseError(f"The request cannot be read: {error}")
    elif isinstance(error, ValidationError) and hasattr(error, "error_dict"):
        error = exceptions.ValidationError(error.message_dict)
    response = rest_exception_handler(error, context)
    if response is None:
        return None
    response.data = _build_error_body(error, response.data)
    return _convert_to_problem_response(response, context["request"])


PROBLEM_CONTENT_TYPE = "application/problem+json"


def _convert_to_problem_response(response: Response, request: Request) -> Response:
    if _accepts_problem_json(request._request):  # noqa: SLF001  # what Django reads
        response.data = _build_problem_members(response.data, response.status_code)
        response.content_type = PROBLEM_CONTENT_TYPE
    patch_vary_headers(response, ["Accept"])
    return response


def _accepts_problem_json(request: HttpRequest) -> bool:
    return any(
        f"{accepted.main_type}/{accepted.sub_type}" == PROBLEM_CONTENT_TYPE
        and accepted.quality
        for accepted in request.accepted_types
    )


def _build_problem_members(members: Mapping[str, Any], code: int) -> dict[str, Any]:
    return {
        "type": "about:blank",
        "title": HTTPStatus(code).phrase,
        "status": code,
        **members,
    }


def _build_error_body(error: Exception, data: Any) -> dict[str, Any]:
    if isinstance(error, exceptions.ValidationError):
        errors = (
            {name: _flatten_error_messages(row) for name, row in data.items()}
            if isinstance(data, Mapping)
            else data
        )
        return {
            "detail": _add_full_stop(_find_first_error_message(data)),
            "errors": errors,
        }
    if isinstance(error, Http404 | exceptions.NotFound) or not isinstance(
        data, Mapping
    ):
        return {"detail": "There is nothing here, or nothing that you may see."}
    if isinstance(error, exceptions.Throttled):
        return {
            "detail": "Too many requests; the next are answered when the minute is over.",
            "retry_after": math.ceil(getattr(error, "wait", None) or 0),
        }
    return {
        "detail": _add_full_stop(str(data["detail"])),
        **getattr(error, "members", {}),
    }


def _flatten_error_messages(errors: Any) -> list[str]:
    if isinstance(errors, Mapping):
        return [
            f"{place}: {words}"
            for place, below in errors.items()
            for words in _flatten_error_messages(below)
        ]
    if isinstance(errors, list):
        return [words for below in errors for words in _flatten_error_messages(below)]
    return [str(errors)]


def _find_first_error_message(errors: Any) -> str:
    if isinstance(errors, Mapping):
        field, below = next(iter(errors.items()))
        return f"{field}: {_find_first_error_message(below)}"
    return (
        _find_first_error_message(errors[0])
        if isinstance(errors, list)
        else str(errors)
    )


def _add_full_stop(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def is_api_request(request: HttpRequest) -> bool:
    return request.path.startswith(API_PATH_PREFIX)


def build_json_error_response(
    request: HttpRequest, detail: str, code: int
) -> JsonResponse:
    members: dict[str, Any] = {
        "detail": detail,
        "request_id": getattr(request, "id", "-"),
    }
    if _accepts_problem_json(request):
        return JsonResponse(
            _build_problem_members(members, code),
            status=code,
            content_type=PROBLEM_CONTENT_TYPE,
        )
    return JsonResponse(members, status=code)


def server_error(request: HttpRequest) -> HttpResponse:
    """Respond to an unexpected exception of a view. The response contains the name of
    the outage, or the request id by which operators find the error in the log.
    """
    outage = outages.find_outage(sys.exception())
    status, detail = 500, "Something went wrong on our side; the error is in our log."
    if outage is not None:
        status, detail = outage.status, outage.sentence(request)
    response: HttpResponse
    if is_api_request(request):
        response = build_json_error_response(request, detail, status)
    else:
        context = {
            "request_id": getattr(request, "id", "-"),
            "outage": outage and detail,
        }
        response = HttpResponse(render_to_string("500.html", context), status=status)
    if outage is not None:
        response["Retry-After"] = str(outage.seconds)
        response["Cache-Control"] = "no-store"
        message = f"{outage.reason} ({join_lines(sys.exception())})"
        if outage.is_busy:
            log.info("A request is answered %s: %s", status, message)
        else:
            outages.log_outage(outages.FAILED_REQUESTS_OUTAGE_NAME, message)
        # `_has_been_logged` suppresses Django's log message about the response.
        response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_api_request(request):
        return build_json_error_response(
            request, "The request cannot be answered as it was sent.", 400
        )
    if isinstance(exception, InvalidParameters):
        return render(
            request, "400.html", {"reasons": exception.errors.values()}, status=400
        )
    return bad_request_page(request, exception)
