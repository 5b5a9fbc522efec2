"""Feeds of a season and of a board: what everybody may read, whoever asks."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.timezone import now
from django.views.decorators.http import require_safe

from scoring.board.cache import phase_page
from scoring.board.standings import standings
from scoring.board.visibility import Audience, Visibility, visibility_of
from scoring.exchange.atom import ATOM, board_feed, season_feed
from tasks.seasons.access import phase_for, season_for


@require_safe
def of_season(request: HttpRequest, season: str) -> HttpResponse:
    """Announcements and phases. A draft has none, also for its organisers."""
    found = season_for(None, season)
    return HttpResponse(season_feed(found, now()), content_type=ATOM)


@require_safe
def of_board(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """The runs that stand on the board, and the versions of the gold."""
    found = phase_for(None, season, task, phase)
    if visibility_of(found, Audience.PUBLIC) == Visibility.NOTHING:
        raise Http404("The board of this phase is not published.")

    def body() -> str:
        return board_feed(standings(found, None, audience=Audience.PUBLIC))

    return phase_page(request, found, Audience.PUBLIC, "", body, content_type=ATOM)
