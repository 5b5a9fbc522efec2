"""The baselines that are one system at several thresholds, as charts over the threshold."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from scoring.board.query import BoardQuery
from scoring.board.requested import board_with_scores
from scoring.board.thresholds import in_words, sweep_chart, sweeps_of
from scoring.board.visibility import audience_of
from scoring.exchange.figure_files import figure_response
from scoring.web.place import place_of
from scoring.worker.baseline_requests import built_in_runs
from tasks.seasons.access import may_organise, phase_for


@require_safe
def thresholds(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """Numbers come from the board as the viewer may see it."""
    found = phase_for(request.user, season, task, phase)
    query = BoardQuery.of(request.GET)
    board = board_with_scores(found, request.user, query, audience_of(found, request.user))
    sweeps = sweeps_of(board, dict(built_in_runs(found).values_list("pk", "built_in")))
    if not sweeps:
        raise Http404(_("No baseline of this task has a threshold."))
    context = {
        **place_of(found),
        "board": board,
        "rule_sets": query.choices("rules", found.task.rules, board.rules),
        "sweeps": [(sweep, in_words(sweep) if sweep.points else "") for sweep in sweeps],
        "figures": {
            f"sweep-chart-{place}": sweep_chart(sweep)
            for place, sweep in enumerate(sweeps, start=1)
            if sweep.points
        },
        "may_organise": may_organise(request.user, found.task.season),
    }
    if query.figure:
        return figure_response(context["figures"], query.figure)
    return render(
        request, "boards/thresholds.html", context | {"figure_address": lambda name: query.with_(figure=name)}
    )
