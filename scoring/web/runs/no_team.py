"""What somebody reads who would submit a run and is in no team of the season."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from citeboard.teams.access import teams_of
from tasks.models import Season


def no_team(request: HttpRequest, season: Season) -> HttpResponse:
    context = {"season": season, "teams": teams_of(request.user).order_by("name")}
    return render(request, "runs/no_team.html", context, status=403)
