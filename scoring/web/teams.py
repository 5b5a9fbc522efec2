"""A team's own page: who is in it, and its runs with what came of them."""

import datetime as dt
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from citeboard.teams.access import teams_of
from citeboard.teams.membership import NEWEST, people_of
from citeboard.teams.models import Team
from scoring.board.charts import history
from scoring.board.counting import board_gold, counting_runs, gold_at
from scoring.board.formatting import interval, metric_label, score_text
from scoring.board.public_results import PublicTeam, Result, public_system, public_team
from scoring.board.visibility import RUNS_THE_SEASON, audience_of, frozen_at
from scoring.exchange.atom import ATOM, system_feed, team_feed
from scoring.models import Evaluation, Score
from scoring.runs.team_view import as_told
from scoring.web.breadcrumbs import place_of
from scoring.web.joining import merging_of
from scoring.web.pages import Answer, members
from tasks.gold.secrecy import shows_scores
from tasks.models import Phase, Registration, Season, Submission
from tasks.registration.entries import waiting_requests
from tasks.seasons.history import concerning
from tasks.submissions.submit import quota

#: A chart over time says something from so many runs on.
MIN_IN_CHART = 2


@members.page("teams/team.html")
def team(request: HttpRequest, team: Team) -> Answer:
    runs = Submission.objects.filter(team=team).select_related("phase__task__season")
    phases: dict[int, list[Submission]] = {}
    for run in runs.order_by("-submitted_at", "-id"):
        phases.setdefault(run.phase_id, []).append(run)
    people = people_of(team, request)
    groups = [_group(request, runs_of_phase) for runs_of_phase in phases.values()]
    # By season what organisers did that concerns the team or everybody, newest first.
    seasons = Season.objects.filter(registrations__team=team)
    told = [(season, list(concerning(season, [team])[:NEWEST])) for season in seasons]
    return {
        "people": people,
        "asking": waiting_requests(team),
        "merging": merging_of(team, request.user) if people.is_lead else [],
        "registrations": Registration.objects.filter(team=team).select_related("season"),
        "groups": groups,
        "told": [(season, entries) for season, entries in told if entries],
        "figures": {f"history-{group['phase'].pk}": group["figure"] for group in groups if group["figure"]},
    }


def _group(request: HttpRequest, runs: Sequence[Submission]) -> dict[str, Any]:
    phase = runs[0].phase
    assert runs[0].team is not None
    audience = audience_of(phase, request.user)
    sees_scores = shows_scores(phase) or audience in RUNS_THE_SEASON
    at = frozen_at(phase, audience)
    scores = _ranking_scores(phase, runs, at) if sees_scores else {}
    metric = next((score.metric for score in scores.values()), "")
    scale = next((score.scale for score in scores.values()), 0.0)
    stands = _on_board(phase, runs[0].team, at) if sees_scores else frozenset[int]()
    lines = []
    for run in runs:
        score = scores.get(run.pk)
        number = score_text(score)
        around = interval(score.low, score.high, score.scale) if score else ""
        line = {"run": as_told(run, request.user), "stands": run.pk in stands}
        lines.append({**line, "value": number, "interval": around})
    points = [
        (run.submitted_at, value, run.system)
        for run in reversed(runs)
        if run.pk in scores and (value := scores[run.pk].value) is not None
    ]
    return {
        **place_of(phase),
        "metric": metric_label(metric) if metric else "",
        "lines": lines,
        "quota": quota(phase, runs[0].team) if phase.is_open() else None,
        "figure": history(points, metric_label(metric), scale) if len(points) >= MIN_IN_CHART else None,
    }


def _ranking_scores(phase: Phase, runs: Sequence[Submission], at: dt.datetime | None) -> dict[int, Score]:
    if not phase.task.rules:
        return {}
    found = (
        Score.objects.filter(
            evaluation__in=Evaluation.objects.known_at(at).filter(submission__in=runs),
            evaluation__rules=phase.task.ranking_rules,
            shared__position=0,
        )
        .select_related("evaluation")
        .order_by("evaluation__gold__number", "evaluation_id")
    )
    return {score.evaluation.submission_id: score for score in found}


def _on_board(phase: Phase, team: Team, at: dt.datetime | None) -> frozenset[int]:
    gold = gold_at(phase, at) if at else board_gold(phase)
    if gold is None or not phase.task.rules:
        return frozenset()
    rows = counting_runs(phase, phase.task.ranking_rules, gold, at)
    return frozenset(row.submission for row in rows if row.team_slug == team.slug)


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
    order = list(dict.fromkeys(result.season.pk for result in results))
    ordered = sorted(results, key=lambda result: order.index(result.season.pk))
    groups = [list(group) for _, group in groupby(ordered, lambda result: result.season.pk)]
    return [(group[0].season, group) for group in groups]
