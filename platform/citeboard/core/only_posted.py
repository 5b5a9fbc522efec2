"""Addresses that take what a form sends: whoever opens one is told where the form is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve, reverse

GetResponse = Callable[[HttpRequest], HttpResponse]


class OnlyPostedMiddleware:
    """A page of the site in place of an empty 405."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code != 405 or request.method not in ("GET", "HEAD") or _says_something(response):
            return response
        page = render(request, "405.html", {"back": page_above(request.path)}, status=405)
        page["Allow"] = response["Allow"]
        return page


def _says_something(response: HttpResponse) -> bool:
    return response.streaming or bool(response.content)


def page_above(path: str) -> str:
    """The nearest page over this address that can be read, that of its season, or the home page."""
    parts = path.strip("/").split("/")
    above = ["/".join(["", *parts[:length], ""]) for length in range(len(parts) - 1, 0, -1)]
    for candidate in above:
        try:
            view = resolve(candidate).func
        except Resolver404:
            continue
        methods = _methods_of(view)
        if methods is None or "GET" in methods:
            return candidate
    try:
        season = resolve(path).kwargs.get("season")
    except Resolver404:
        season = None
    return reverse("season", args=[season]) if season else reverse("home")


def _methods_of(view: Callable[..., Any]) -> Collection[str] | None:
    """Those that Django's decorators let through; None where there is none of these."""
    for wrapped in _unwrapped(view):
        for cell in wrapped.__closure__ or ():
            found = cell.cell_contents
            if isinstance(found, list) and "POST" in found:
                return found
    return None


def _unwrapped(view: Callable[..., Any]) -> Iterator[Any]:
    while view is not None:
        yield view
        view = getattr(view, "__wrapped__", None)  # type: ignore[assignment]
