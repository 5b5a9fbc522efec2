"""Trained on one data set, tested on another: real runs, beside the printed table of that kind."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from scoring.board.names import metric_label
from scoring.board.query import BoardQuery
from scoring.board.requested import board_with_scores
from scoring.board.transfer import transfer_of
from scoring.board.visibility import audience_of
from scoring.publications.printed_transfer import printed_transfers
from scoring.web.place import place_of
from tasks.seasons.access import phase_for


@require_safe
def transfer(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponse:
    """Numbers come from the board as the viewer may see it, and so does what a run's card says."""
    found = phase_for(request.user, season, task, phase)
    query = BoardQuery.of(request.GET)
    board = board_with_scores(found, request.user, query, audience_of(found, request.user))
    matrix = transfer_of(board, query.metric)
    if matrix is None:
        raise Http404(_("No run of this board says on which data sets it was trained."))
    context = {
        **place_of(found),
        "board": board,
        "rule_sets": query.choices("rules", found.task.rules, board.rules),
        "metrics": query.choices("metric", matrix.metrics, matrix.metric, metric_label),
        "metric_label": metric_label(matrix.metric),
        "matrix": matrix,
        "printed": printed_transfers(found.task),
    }
    return render(request, "boards/transfer.html", context)
