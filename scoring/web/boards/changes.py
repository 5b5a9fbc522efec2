"""The versions of a phase's gold, and what one of them changed on the board."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from scoring.board.cache import phase_page
from scoring.board.counting import gold_at, unsettled
from scoring.board.gold_changes import boards, changes
from scoring.board.names import metric_label
from scoring.board.query import BoardQuery
from scoring.board.standings import UnknownRules
from scoring.board.visibility import Audience, Visibility, audience_of, frozen_at, visibility_of
from scoring.web.place import place_of
from tasks.models import Gold, Phase
from tasks.seasons.access import phase_for


@require_safe
def changes_of_gold(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """Of the newest version, or of the one that the address names."""
    found = phase_for(request.user, season, task, phase)
    audience = audience_of(found, request.user)
    if visibility_of(found, audience) == Visibility.NOTHING:
        raise Http404(_("The board of this phase is not published."))
    query = BoardQuery.of(request.GET)

    def body() -> str:
        return render_to_string("boards/changes.html", _context(found, request, query, audience), request)

    return phase_page(request, found, audience, query, body)


def _context(phase: Phase, request: HttpRequest, query: BoardQuery, audience: Audience) -> dict[str, Any]:
    versions = list(Gold.objects.filter(task=phase.task_id, split=phase.split).order_by("-number"))
    at = frozen_at(phase, audience)
    stood = gold_at(phase, at) if at else None
    if at is not None:
        versions = [version for version in versions if stood is not None and version.number <= stood.number]
    wanted = query.gold or (versions[0].number if versions else None)
    gold = next((version for version in versions if version.number == wanted), None)
    if gold is None:
        raise Http404(_("There is no such version of the gold of this phase."))
    try:
        two = boards(phase, request.user, gold, query.rules, audience)
    except UnknownRules as unknown:
        raise Http404(str(unknown)) from unknown
    context: dict[str, Any] = {
        **place_of(phase),
        "gold": gold,
        "versions": [(version, query.with_(gold=version.number)) for version in versions],
    }
    if two is None:
        return context
    before, after = two
    lines = changes(before, after)
    return context | {
        "before": before.gold,
        "rules": after.rules,
        "rule_sets": query.choices("rules", phase.task.rules, after.rules),
        "lines": lines,
        "moved": sum(bool(line.moved) for line in lines),
        "metric": metric_label(after.ranking.metric) if after.ranking else "",
        "left": unsettled(phase, gold).count(),
    }
