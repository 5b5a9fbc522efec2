"""An organiser's first page, the runs of the season, and what was done in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from citeboard.core.audit import history
from citeboard.core.query import Query, search_from, text_from, whole_number
from citeboard.core.words import sentence
from citeboard.teams.models import User
from scoring.board.names import metric_label
from scoring.board.numbers import shown
from scoring.board.standings import standings
from scoring.exchange.figure_files import figure_response
from scoring.exchange.season_runs import counting_runs_archive, ranking_scores, runs_csv
from scoring.ops.season_progress import acknowledged, progress_of
from scoring.web.organise.attention import concerns
from scoring.web.organise.phases import drawn
from tasks.jobs.acknowledging import NotFailed, acknowledge, take_acknowledgement_back
from tasks.models import Acknowledgement, Job, Phase, Registration, Season, Submission, Task
from tasks.seasons.access import season_to_help, season_to_organise
from tasks.seasons.history import NotUndone, may_undo, undo

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
    query = RunQuery.of(request.GET)
    page = page_of(chosen_runs(found, query), request.GET.get("page"))
    context = {
        "season": found,
        "part": "runs",
        "query": query,
        "page": page,
        "lines": lines(page.object_list),
        "here": query.with_(),
        **choices(found),
    }
    return render(request, "organise/runs.html", context)


@login_required
@require_safe
def runs_as_csv(request: HttpRequest, season: str) -> HttpResponse:
    """The runs that the filters leave, all of them."""
    found = season_to_help(request.user, season)
    content = runs_csv(chosen_runs(found, RunQuery.of(request.GET)))
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


@require_POST
@login_required
def acknowledge_failure(request: HttpRequest, season: str, submission: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_help(request.user, season)
    run = get_object_or_404(Submission, pk=submission, phase__task__season=found)
    number = request.POST.get("job", "")
    job = get_object_or_404(Job, pk=whole_number(number), submission=run) if number else None
    try:
        acknowledge(run=run, job=job, note=request.POST.get("note", ""), by=request.user)
    except NotFailed as refused:
        messages.error(request, sentence(refused))
    except ValidationError as faults:
        messages.error(request, " ".join(sentence(fault) for fault in faults.messages))
    else:
        messages.success(request, _("Acknowledged. It comes back if it fails again."))
    return redirect("organise", found.slug)


@require_POST
@login_required
def take_back(request: HttpRequest, season: str, acknowledgement: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_help(request.user, season)
    taken = get_object_or_404(Acknowledgement, pk=acknowledgement, submission__phase__task__season=found)
    take_acknowledgement_back(acknowledgement=taken, by=request.user)
    messages.success(request, _("The failure needs attention again."))
    return redirect("organise", found.slug)
