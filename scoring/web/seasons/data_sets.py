"""What a task's data sets consist of: sizes, lengths, and texts that speak of the citing paper."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from scoring.board.data_sets import described_splits
from tasks.seasons.access import may_organise, task_for
from tasks.types.citation_text.data_sets import MAX_INPUT, MAX_OUTPUT
from tasks.types.citation_text.self_reference import SELF_REFERENCES


@require_safe
def data_sets(request: HttpRequest, season: str, task: str) -> HttpResponse:
    found = task_for(request.user, season, task)
    if found.task_type.statistics is None:
        raise Http404(_("The data of this task are not described by data set."))
    context = {
        "season": found.season,
        "task": found,
        "splits": described_splits(found, request.user),
        "may_organise": may_organise(request.user, found.season),
        "max_input": MAX_INPUT,
        "max_output": MAX_OUTPUT,
        "phrases": SELF_REFERENCES,
    }
    return render(request, "seasons/data_sets.html", context)
