"""The page of a phase's board, and the board's table alone for embedding in other
sites.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_safe

from citeboard.web.boards.board_page import BoardPage
from citeboard.web.boards.page_query import BoardPageParameters
from citeboard.web.boards.tabs import requested_tab
from citeboard.web.pages import phase_context
from scoring.results.board import cache, visibility
from scoring.results.board.counting import public_board_cache_facts
from scoring.results.board.formatting import use_names_of_task
from scoring.results.board.query import requested_board
from tasks.models import Phase
from tasks.seasons.access import phase_for

PUBLIC_AUDIENCE = visibility.Audience.PUBLIC


@require_safe
def show_board(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Show the board of a phase, with the tab that the URL names."""
    query = BoardPageParameters.of(request.GET)
    if query.file:
        return redirect(f"{query.file}{query.of_files}")
    tab = requested_tab(query)
    is_shared = not (cache.is_signed_in(request) or tab.depends_on)
    version = public_board_cache_facts(season, task, phase) if is_shared else None
    if version is None:
        return _board_outside_shared_cache(request, query, season, task, phase)

    # For anonymous users, a single query decides whether the page is cached.
    key = cache.page_cache_key(request, query, version, PUBLIC_AUDIENCE)
    response = cache.cached_response(request, key)
    if response is not None:
        return response
    found = phase_for(None, season, task, phase)
    board_page = BoardPage(requested_board(found, None, query, PUBLIC_AUDIENCE), query)
    page = cache.RenderedPage(
        render_to_string(
            "boards/board.html", _board_context(board_page, found, None), request
        ),
        hides_activity=visibility.hides_activity(found, PUBLIC_AUDIENCE),
    )
    return cache.cache_new_response(request, key, page, is_public=True)


def _board_outside_shared_cache(
    request: HttpRequest, query: BoardPageParameters, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the page of a board that is not in the shared cache.

    The shared cache lacks the board if the user is signed in, if the season is private,
    or if the tab depends on more data than the public board.
    """
    found = phase_for(request.user, season, task, phase)
    reader = visibility.viewer_roles_of(request.user)
    audience = reader.audience(found.task.season_id)

    def body() -> str:
        requested = requested_board(found, request.user, query, audience)
        board_page = BoardPage(
            requested, query, teams=frozenset(reader.teams), viewer=request.user
        )
        context = _board_context(board_page, found, request.user)
        return render_to_string("boards/board.html", context, request)

    seen = requested_tab(query).seen(found, request.user)
    return cache.cached_phase_page(request, found, audience, query, body, *seen)


@require_safe
def show_embedded_table(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Show only the public table of a board, for frames on other sites.

    The season's setting must allow other sites to embed the table.
    """
    found, query = (
        phase_for(None, season, task, phase),
        BoardPageParameters.of(request.GET),
    )

    def body() -> str:
        root = reverse("board", args=[season, task, phase])
        board_page = BoardPage(
            requested_board(found, None, query, PUBLIC_AUDIENCE), query, root=root
        )
        use_names_of_task(found.task)
        context = {**phase_context(found), "page": board_page}
        return render_to_string("boards/embed.html", context, request)

    response = cache.cached_phase_page(request, found, PUBLIC_AUDIENCE, query, body)
    response.xframe_options_exempt = found.task.season.allows_frames
    return response


def _board_context(page: BoardPage, phase: Phase, viewer: object) -> dict[str, Any]:
    use_names_of_task(phase.task)
    return {**phase_context(phase), "page": page, **page.panel(phase, viewer)}
