"""What somebody reads who would submit a run and is in no team of the season."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from citeboard.teams.access import teams_of
from tasks.models import Season


def no_team(request: HttpRequest, season: Season) -> HttpResponse:
    teams = teams_of(request.user).order_by("name")
    names = _(" or ").join(team.name for team in teams)
    context = {"season": season, "teams": teams, "team_names": names}
    return render(request, "runs/no_team.html", context, status=403)
