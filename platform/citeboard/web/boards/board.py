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
from citeboard.web.boards.tabs import find_requested_tab
from citeboard.web.pages import build_phase_context
from scoring.results.board import cache, visibility
from scoring.results.board.counting import query_public_board_cache_key
from scoring.results.board.formatting import set_display_names_of_task
from scoring.results.board.query import load_requested_board
from tasks.models import Phase
from tasks.seasons.access import get_visible_phase_or_404

PUBLIC_AUDIENCE = visibility.Audience.PUBLIC


@require_safe
def show_board(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Show the board of a phase, with the tab that the URL names."""
    query = BoardPageParameters.of(request.GET)
    if query.file:
        return redirect(f"{query.file}{query.of_files}")
    tab = find_requested_tab(query)
    is_shared = not (cache.is_signed_in(request) or tab.depends_on)
    version = query_public_board_cache_key(season, task, phase) if is_shared else None
    if version is None:
        return _render_board_for_user(request, query, season, task, phase)

    # For anonymous users, a single query decides whether the page is cached.
    key = cache.build_page_cache_key(request, query, version, PUBLIC_AUDIENCE)
    response = cache.find_cached_response(request, key)
    if response is not None:
        return response
    found = get_visible_phase_or_404(None, season, task, phase)
    board_page = BoardPage(
        load_requested_board(found, None, query, PUBLIC_AUDIENCE), query
    )
    page = cache.RenderedPage(
        render_to_string(
            "boards/board.html", _build_board_context(board_page, found, None), request
        ),
        hides_activity=visibility.hides_run_activity(found, PUBLIC_AUDIENCE),
    )
    return cache.cache_and_return_page(request, key, page, is_public=True)


def _render_board_for_user(
    request: HttpRequest, query: BoardPageParameters, season: str, task: str, phase: str
) -> HttpResponse:
    """Return the page of a board that is not in the shared cache.

    The shared cache lacks the board if the user is signed in, if the season is private,
    or if the tab depends on more data than the public board.
    """
    found = get_visible_phase_or_404(request.user, season, task, phase)
    reader = visibility.load_viewer_roles(request.user)
    audience = reader.audience(found.task.season_id)

    def render_board_page() -> str:
        requested = load_requested_board(found, request.user, query, audience)
        board_page = BoardPage(
            requested, query, teams=frozenset(reader.teams), viewer=request.user
        )
        context = _build_board_context(board_page, found, request.user)
        return render_to_string("boards/board.html", context, request)

    seen = find_requested_tab(query).seen(found, request.user)
    return cache.load_or_render_phase_page(
        request, found, audience, query, render_board_page, *seen
    )


@require_safe
def show_embedded_table(
    request: HttpRequest, season: str, task: str, phase: str
) -> HttpResponse:
    """Show only the public table of a board, for frames on other sites.

    The season's setting must allow other sites to embed the table.
    """
    found, query = (
        get_visible_phase_or_404(None, season, task, phase),
        BoardPageParameters.of(request.GET),
    )

    def render_embedded_table() -> str:
        root = reverse("board", args=[season, task, phase])
        board_page = BoardPage(
            load_requested_board(found, None, query, PUBLIC_AUDIENCE), query, root=root
        )
        set_display_names_of_task(found.task)
        context = {**build_phase_context(found), "page": board_page}
        return render_to_string("boards/embed.html", context, request)

    response = cache.load_or_render_phase_page(
        request, found, PUBLIC_AUDIENCE, query, render_embedded_table
    )
    response.xframe_options_exempt = found.task.season.allows_frames
    return response


def _build_board_context(
    page: BoardPage, phase: Phase, viewer: object
) -> dict[str, Any]:
    set_display_names_of_task(phase.task)
    return {
        **build_phase_context(phase),
        "page": page,
        **page.build_tab_context(phase, viewer),
    }
