"""An organiser's first page, the runs of the season, and what was done in it."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from citeboard.core.audit import history
from citeboard.core.words import sentence
from citeboard.teams.models import User
from scoring.board.standings import standings
from scoring.exchange.season_runs import counting_runs_archive, runs_csv
from scoring.ops.failures import acknowledged
from scoring.web.organise import run_list
from scoring.web.organise.attention import concerns
from scoring.web.organise.phases import drawn
from tasks.models import Phase, Registration, Submission
from tasks.seasons.access import season_to_help, season_to_organise
from tasks.seasons.undo import NotUndone, may_undo, undo

HISTORY_AT_ONCE = 100
ACKNOWLEDGED_AT_ONCE = 50


@login_required
@require_safe
def organise(request: HttpRequest, season: str) -> HttpResponse:
    """An organiser's first page: what needs attention, and the phases as a time line."""
    found = season_to_help(request.user, season)
    runs = Submission.objects.filter(phase__task__season=found, team__isnull=False)
    context = {
        "season": found,
        "part": "overview",
        "concerns": concerns(found),
        "acknowledged": acknowledged(found)[:ACKNOWLEDGED_AT_ONCE],
        "teams": Registration.objects.filter(season=found).approved().count(),
        "runs": runs.count(),
        "moving": runs.filter(status__in=Submission.MOVING).count(),
        **drawn(found),
    }
    return render(request, "organise/overview.html", context)


@login_required
@require_safe
def runs(request: HttpRequest, season: str) -> HttpResponse:
    """The runs of the season, filtered."""
    found = season_to_help(request.user, season)
    query = run_list.RunQuery.of(request.GET)
    page = run_list.page_of(run_list.chosen_runs(found, query), request.GET.get("page"))
    context = {
        "season": found,
        "part": "runs",
        "query": query,
        "page": page,
        "lines": run_list.lines(page.object_list),
        "here": query.with_(),
        **run_list.choices(found),
    }
    return render(request, "organise/runs.html", context)


@login_required
@require_safe
def runs_as_csv(request: HttpRequest, season: str) -> HttpResponse:
    """The runs that the filters leave, all of them."""
    found = season_to_help(request.user, season)
    content = runs_csv(run_list.chosen_runs(found, run_list.RunQuery.of(request.GET)))
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{found.slug}-runs.csv"'
    response["Cache-Control"] = "private, no-store"
    return response


@login_required
@require_safe
def counting_zip(request: HttpRequest, season: str, phase: int) -> HttpResponseBase:
    """The files of the runs that stand on a phase's board under the rules that rank."""
    found = season_to_organise(request.user, season)
    phases = Phase.objects.select_related("task__season")
    own = get_object_or_404(phases, pk=phase, task__season=found)
    name = f"{found.slug}-{own.task.slug}-{own.slug}-runs.zip"
    response = FileResponse(
        counting_runs_archive(standings(own, request.user)), as_attachment=True, filename=name
    )
    response["Cache-Control"] = "private, no-store"
    return response


@login_required
@require_safe
def history_page(request: HttpRequest, season: str) -> HttpResponse:
    """What was done in the season, by whom and when."""
    found = season_to_help(request.user, season)
    page = Paginator(history(found), HISTORY_AT_ONCE).get_page(request.GET.get("page"))
    lines = [{"entry": entry, "may_undo": may_undo(entry)} for entry in page.object_list]
    context = {"season": found, "part": "history", "page": page, "lines": lines}
    return render(request, "organise/history.html", context)


@require_POST
@login_required
def undo_entry(request: HttpRequest, season: str, entry: int) -> HttpResponse:
    """Take back a deletion or that a team was kept out."""
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    chosen = get_object_or_404(history(found), pk=entry)
    try:
        undo(season=found, entry=chosen, by=request.user)
    except NotUndone as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(request, _("%(subject)s: as before.") % {"subject": chosen.subject})
    return redirect("organise-history", found.slug)
