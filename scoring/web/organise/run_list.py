"""The runs of a season, as its organisers filter and page through them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet

from citeboard.core.query import Query, search_from, text_from, whole_number
from scoring.board.names import metric_label
from scoring.board.numbers import shown
from scoring.exchange.season_runs import ranking_scores
from tasks.models import Phase, Season, Submission, Task

AT_ONCE = 50
NO_TEAM = "baselines"


@dataclass(frozen=True, kw_only=True)
class RunQuery(Query):
    """Which of the runs; ``phase`` is a number, the rest are slugs and names."""

    task: str = text_from("task")
    phase: str = text_from("phase")
    status: str = text_from("status")
    team: str = text_from("team")
    text: str = search_from("q")


def chosen_runs(season: Season, query: RunQuery) -> QuerySet[Submission]:
    """Newest first. What is not known here, such as a phase of another season, finds nothing."""
    runs = Submission.objects.filter(phase__task__season=season).select_related("phase__task", "team")
    if query.task:
        runs = runs.filter(phase__task__slug=query.task)
    if query.phase:
        runs = runs.filter(phase=whole_number(query.phase))
    if query.status:
        runs = runs.filter(status=query.status)
    if query.team:
        runs = runs.filter(team=None) if query.team == NO_TEAM else runs.filter(team__slug=query.team)
    if query.text:
        runs = runs.filter(Q(system__icontains=query.text) | Q(team__name__icontains=query.text))
    return runs.order_by("-submitted_at", "-id")


def page_of(runs: QuerySet[Submission], number: str | None) -> Page[Submission]:
    return Paginator(runs, AT_ONCE).get_page(number)


def lines(runs: Iterable[Submission]) -> list[dict[str, Any]]:
    """The runs with the number that ranks them, where they have one."""
    listed = list(runs)
    scores = ranking_scores(listed)
    found = []
    for run in listed:
        score = scores.get(run.pk)
        value = shown(score.value, score.scale, is_infinite=score.is_infinite) if score else ""
        found.append({"run": run, "value": value, "metric": metric_label(score.metric) if score else ""})
    return found


def choices(season: Season) -> dict[str, Any]:
    """What the filters offer."""
    phases = (
        Phase.objects.filter(task__season=season)
        .select_related("task")
        .order_by("task__position", "position")
    )
    teams = season.registrations.select_related("team").order_by("team__name")
    return {
        "tasks": Task.objects.filter(season=season),
        "phases": phases,
        "statuses": Submission.Status.choices,
        "teams": [entry.team for entry in teams],
        "no_team": NO_TEAM,
    }
