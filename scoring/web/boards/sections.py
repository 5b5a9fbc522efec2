"""The sections below a board. Each is a page of its own, which the board page fetches once it is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from scoring.board.cache import HTML, phase_page
from scoring.board.query import BoardQuery
from scoring.board.requested import board_with_scores
from scoring.board.standings import Board
from scoring.board.visibility import audience_of
from scoring.exchange.figure_files import figure_file, figure_type
from scoring.web.place import place_of
from tasks.models import Phase


@dataclass(frozen=True, kw_only=True)
class Section:
    """``name`` is that of its address; ``link`` and ``rest`` stand on the board page until it is fetched."""

    name: str
    title: Promise
    link: Promise
    rest: Promise
    is_fetched: bool = True

    @property
    def fetching(self) -> str:
        """The id of what fetches it once the board page is there."""
        return f"{self.name}-to-come"


DIFFERENCES = Section(
    name="differences",
    title=_("Where systems differ"),
    link=_("The scores by class"),
    rest=_("as charts and as a table."),
)
PAIRINGS = Section(
    name="pairings",
    title=_("Metrics against each other"),
    link=_("Two at a time"),
    rest=_("as charts and as tables."),
)
COSTS = Section(
    name="costs",
    title=_("Reported by the teams"),
    link=_("What their runs cost"),
    rest=_("against the scores."),
)
OUTSIDE = Section(
    name="outside",
    title=_("Measured elsewhere"),
    link=_("What an evaluation outside of this site measured"),
    rest=_("entered by the organisers, and never ranked."),
    is_fetched=False,
)
PEOPLE = Section(
    name="people",
    title=_("Metrics against people"),
    link=_("How well metrics agree with people's judgement"),
    rest=_("correlations over systems and over single texts."),
    is_fetched=False,
)
DISCOURSE = Section(
    name="discourse",
    title=_("What the sentences do"),
    link=_("Shares of intents and discourse tags"),
    rest=_("systems against gold, and how far they are apart in each data set."),
    is_fetched=False,
)


def section_page(
    request: HttpRequest,
    phase: Phase,
    section: Section,
    query: BoardQuery,
    context: Callable[[Board], dict[str, Any]],
    *seen: object,
) -> HttpResponse:
    """The page, or the part of it that the board page fetches. ``seen`` is what it shows beside scores."""
    audience = audience_of(phase, request.user)
    is_part = bool(request.headers.get("HX-Request"))
    part = f"boards/_{section.name}.html"

    def body() -> str | bytes:
        board = board_with_scores(phase, request.user, query, audience)
        shown = {**place_of(phase), "section": section, "part": part, **context(board)}
        if query.figure:
            return figure_file(shown.get("figures", {}), query.figure)
        shown["figure_address"] = lambda name: request.path + query.with_(figure=name)
        return render_to_string(part if is_part else "boards/section.html", shown, request)

    content_type = figure_type(query.figure) if query.figure else HTML
    return phase_page(request, phase, audience, query, body, is_part, *seen, content_type=content_type)
