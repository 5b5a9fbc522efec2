"""The board of a phase: a page of the site, and the table alone for other sites."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe

from citeboard.web.boards.board_page import BoardPage
from citeboard.web.pages import place_of
from scoring.results.board import cache, visibility
from scoring.results.board.counting import public_facts
from scoring.results.board.formatting import name_as
from scoring.results.board.query import BoardQuery, requested_board
from tasks.seasons.access import phase_for

PUBLIC = visibility.Audience.PUBLIC


@require_safe
def board(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """The standings of a phase, and what follows from them."""
    query = BoardQuery.of(request.GET)
    version = None if cache.is_signed_in(request) else public_facts(season, task, phase)
    if version is None:
        return _own_board(request, query, season, task, phase)

    # A single statement decides whether visitors, who are many, have the page already.
    key = cache.page_key(request, query, version, PUBLIC)
    response = cache.cached_response(request, key)
    if response is not None:
        return response
    found = phase_for(None, season, task, phase)
    shown = BoardPage(requested_board(found, None, query, PUBLIC), query)
    page = cache.Page(
        render_to_string("boards/board.html", _context(shown), request),
        hides_activity=visibility.hides_activity(found, PUBLIC),
    )
    return cache.made_response(request, key, page, is_public=True)


def _own_board(
    request: HttpRequest, query: BoardQuery, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the board as a signed-in user sees it, or the board of a season that is not public."""
    found = phase_for(request.user, season, task, phase)
    reader = visibility.viewer_of(request.user)
    audience = reader.audience(found.task.season_id)

    def body() -> str:
        requested = requested_board(found, request.user, query, audience)
        shown = BoardPage(requested, query, teams=frozenset(reader.teams))
        return render_to_string("boards/board.html", _context(shown), request)

    return cache.phase_page(request, found, audience, query, body)


@require_safe
def embedded(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """The table alone, as a visitor sees it, for a frame of another page where the season allows that."""
    found, query = phase_for(None, season, task, phase), BoardQuery.of(request.GET)

    def body() -> str:
        root = reverse("board", args=[season, task, phase])
        shown = BoardPage(requested_board(found, None, query, PUBLIC), query, root=root)
        return render_to_string("boards/embed.html", _context(shown), request)

    response = cache.phase_page(request, found, PUBLIC, query, body)
    response.xframe_options_exempt = found.task.season.allows_frames
    return response


def _context(page: BoardPage) -> dict[str, Any]:
    name_as(page.phase.task)
    return {**place_of(page.phase), "page": page}
