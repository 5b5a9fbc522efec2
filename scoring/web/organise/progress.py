"""An organiser's page of how the season goes."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from scoring.exchange.figure_files import figure_response
from scoring.ops.season_progress import progress_of
from tasks.seasons.access import season_to_help


@login_required
@require_safe
def progress(request: HttpRequest, season: str) -> HttpResponse:
    """Runs by day, how long they wait, and what they take on the disk."""
    found = season_to_help(request.user, season)
    known = progress_of(found)
    figures = {"runs-by-day": known.figure}
    if wanted := request.GET.get("figure"):
        return figure_response(figures, wanted)
    context = {
        "season": found,
        "part": "progress",
        "progress": known,
        "figures": figures,
        "figure_address": lambda name: f"?figure={name}",
    }
    return render(request, "organise/progress.html", context)
