"""The board of a phase."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from citeboard.teams.access import teams_of
from scoring.board.cache import answered, is_visitor, phase_page, tag_of
from scoring.board.query import BoardQuery
from scoring.board.requested import requested_board
from scoring.board.sql import public_facts
from scoring.board.visibility import Audience, audience_of
from scoring.web.boards.page import BoardPage
from scoring.web.place import place_of
from tasks.models import Phase
from tasks.seasons.access import phase_for


@require_safe
def board(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """Visitors are many: a single query decides whether they have the page already."""
    query = BoardQuery.of(request.GET)
    if is_visitor(request) and (facts := public_facts(season, task, phase)):
        return answered(
            request,
            tag_of(request, query, Audience.PUBLIC, *facts),
            lambda: _page(request, phase_for(None, season, task, phase), query, Audience.PUBLIC),
            is_public=True,
        )
    found = phase_for(request.user, season, task, phase)
    audience = audience_of(found, request.user)
    own = tuple(teams_of(request.user).order_by("slug").values_list("slug", flat=True))
    return phase_page(
        request, found, audience, query, lambda: _page(request, found, query, audience, own), own
    )


def _page(
    request: HttpRequest, phase: Phase, query: BoardQuery, audience: Audience, own: Sequence[str] = ()
) -> str:
    """``own`` are the slugs of the viewer's teams."""
    page = BoardPage(
        board=requested_board(phase, request.user, query, audience), query=query, teams=frozenset(own)
    )
    return render_to_string("boards/board.html", {**place_of(phase), "page": page}, request)
