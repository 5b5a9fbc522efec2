"""Where somebody goes after signing in: the runs of all their teams, and where more can be sent."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from citeboard.teams.access import teams_of
from scoring.runs.told import as_told
from tasks.models import Phase, Registration, Submission

RUNS_A_PAGE = 50


@login_required
@require_safe
def own_runs(request: HttpRequest) -> HttpResponse:
    """Latest first; what came of each stands on its own page."""
    teams = list(teams_of(request.user).order_by("name"))
    entered = Registration.objects.approved().filter(team__in=teams)
    open_phases = Phase.objects.open().filter(
        task__season__in=entered.values("season"), task__is_reported_only=False
    )
    runs = Submission.objects.filter(team__in=teams).select_related("team", "phase__task__season")
    page = Paginator(runs, RUNS_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "teams": teams,
        "phases": open_phases.select_related("task__season").order_by("closes", "task__position", "position"),
        "page": page,
        "runs": [as_told(run, request.user) for run in page.object_list],
    }
    return render(request, "runs/own_runs.html", context)
