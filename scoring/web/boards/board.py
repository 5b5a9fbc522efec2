"""The board of a phase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from citeboard.teams.models import User
from scoring.board.cache import answered, is_visitor, kept_phase, page_of_facts, phase_facts, tag_of
from scoring.board.query import BoardQuery
from scoring.board.reader import reader_of
from scoring.board.requested import requested_board
from scoring.board.sql import public_facts
from scoring.board.visibility import Audience, shows_teams
from scoring.web.alike import page_alike
from scoring.web.boards.facts import BoardFacts, kept_facts
from scoring.web.boards.page import BoardPage
from scoring.web.place import place_of
from tasks.seasons.access import phase_for

TEMPLATE = "boards/board.html"


@require_safe
def board(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """Visitors are many: a single query decides whether they have the page already."""
    query = BoardQuery.of(request.GET)
    chosen = (query.rules, query.gold, query.by, query.others)
    facts = public_facts(season, task, phase)
    if facts and is_visitor(request):

        def everybodys() -> BoardFacts:
            return kept_facts(
                lambda: requested_board(
                    phase_for(None, season, task, phase), None, query, Audience.PUBLIC
                ),
                "visitors", facts, chosen,
            )  # fmt: skip

        def page() -> str:
            return render_to_string(TEMPLATE, _context(query, everybodys()), request)

        return answered(request, tag_of(request, query, Audience.PUBLIC, *facts), page, is_public=True)
    user = request.user
    found = kept_phase(facts, lambda: phase_for(user, season, task, phase))
    reader = reader_of(user)
    audience = reader.audience(found.task.season_id)
    known = (*facts, audience) if facts else phase_facts(found, audience)
    # Where the names of teams are hidden a board still names those of who asks.
    named = () if shows_teams(found, audience) else reader.teams

    def the_audiences() -> BoardFacts:
        return kept_facts(
            lambda: requested_board(found, user, query, audience), audience, known, named, chosen
        )

    def context() -> dict[str, Any]:
        return _context(query, the_audiences(), reader.teams)

    def own_page() -> str:
        if not isinstance(user, User):
            return render_to_string(TEMPLATE, context(), request)
        return page_alike(request, TEMPLATE, context, (request.path, query, known, reader.teams))

    return page_of_facts(request, found, known, query, own_page, reader.teams)


def _context(query: BoardQuery, facts: BoardFacts, own: Sequence[str] = ()) -> dict[str, Any]:
    """``own`` are the slugs of the viewer's teams."""
    page = BoardPage(facts=facts, query=query, teams=frozenset(own))
    return {**place_of(facts.phase), "page": page}
