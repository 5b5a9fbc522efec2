"""What everybody may read of a team and of its systems: who they are, and their results over seasons."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from citeboard.teams.access import teams_of
from scoring.board.public_results import PublicTeam, Result, public_system, public_team
from scoring.exchange.atom import ATOM, system_feed, team_feed


@require_safe
def team_results(request: HttpRequest, slug: str) -> HttpResponse:
    """A team's own members see the page before anybody else can read of it."""
    found = public_team(request.user, slug)
    context = {**_context(request, found), "by_season": _by_season(found.results)}
    return render(request, "teams/results.html", context)


@require_safe
def team_system(request: HttpRequest, slug: str, system: str) -> HttpResponse:
    found, results, newest = public_system(slug, system)
    context = {
        **_context(request, found),
        "name": newest.system,
        "system": system,
        "run": newest,
        "by_season": _by_season(results),
    }
    return render(request, "teams/system.html", context)


@require_safe
def team_results_feed(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(team_feed(public_team(None, slug)), content_type=ATOM)


@require_safe
def team_system_feed(request: HttpRequest, slug: str, system: str) -> HttpResponse:
    found, results, newest = public_system(slug, system)
    return HttpResponse(system_feed(found, results, newest.system), content_type=ATOM)


def _context(request: HttpRequest, found: PublicTeam) -> dict[str, Any]:
    is_own = teams_of(request.user).filter(pk=found.team.pk).exists()
    return {"team": found.team, "public": found, "is_own": is_own, "site": settings.BASE_URL}


def _by_season(results: list[Result]) -> list[tuple[Any, list[Result]]]:
    """Seasons by their newest phase, each with its results in their order."""
    order = list(dict.fromkeys(result.season.pk for result in results))
    ordered = sorted(results, key=lambda result: order.index(result.season.pk))
    return [(own[0].season, own) for own in (list(some) for _, some in groupby(ordered, _season))]


def _season(result: Result) -> int:
    return result.season.pk
