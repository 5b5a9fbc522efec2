"""Which answers scripts of other sites may read: what any visitor gets, and only where a view says so."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)


def readable_anywhere(
    view: Callable[Concatenate[HttpRequest, P], R],
) -> Callable[Concatenate[HttpRequest, P], R]:
    """Other origins may read what this view answers to a request that names nobody.

    A browser sends no cookie then, and asks before it sends a token or anything but a plain GET. That is not
    answered: a token is for programs and for this site's own pages.
    """

    @wraps(view)
    def answered(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> R:
        response = view(request, *args, **kwargs)
        names_somebody = "Authorization" in request.headers or settings.SESSION_COOKIE_NAME in request.COOKIES
        if request.method in ("GET", "HEAD") and not names_somebody:
            response["Access-Control-Allow-Origin"] = "*"
        return response

    return answered
