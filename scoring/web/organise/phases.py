"""When runs are accepted: the phases as a time line, opened, closed and moved."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.words import sentence
from citeboard.teams.models import User
from scoring.web.organise.forms import BoardForm, TimesForm
from tasks.models import Phase, Season
from tasks.seasons.access import season_to_organise
from tasks.seasons.board_visibility import BoardRefused, change_board, reveal_now, said
from tasks.seasons.phase_times import TimesRefused, close_now, move_phase, open_now
from tasks.seasons.timeline import TimeLine


@login_required
@require_safe
def phases(request: HttpRequest, season: str) -> HttpResponse:
    found = season_to_organise(request.user, season)
    return render(request, "organise/phases.html", {"season": found, "part": "phases", **drawn(found)})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def times(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    """The form for the times of one phase, in its own time zone."""
    found = season_to_organise(request.user, season)
    moved = _phase(found, phase)
    form = TimesForm(request.POST or None, phase=moved)
    if request.method == "POST" and form.is_valid():
        try:
            move_phase(phase=moved, by=_person(request), **form.instants)
        except TimesRefused as refused:
            form.add_error("closes", sentence(refused))
        else:
            messages.success(
                request,
                _("%(task)s, %(phase)s: the times are changed.") % {"task": moved.task, "phase": moved},
            )
            return redirect("organise-phases", found.slug)
    context = {"season": found, "part": "phases", "phase": moved, "form": form}
    return render(request, "organise/times.html", context, status=422 if form.errors else 200)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def board(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    """The form for who sees the board of a phase, and from when somebody else."""
    found = season_to_organise(request.user, season)
    changed = _phase(found, phase)
    form = BoardForm(request.POST or None, phase=changed)
    if request.method == "POST" and form.is_valid():
        chosen = {name: form.cleaned_data[name] for name in ("board", "board_then")}
        try:
            done = change_board(
                phase=changed, board_from=form.moment("board_from"), by=_person(request), **chosen
            )
        except BoardRefused as refused:
            form.add_error("board_from", sentence(refused))
        else:
            messages.success(
                request,
                _("Who sees the board of %(task)s, %(phase)s: %(who)s.")
                % {"task": done.task, "phase": done, "who": said(done)},
            )
            return redirect("organise-phases", found.slug)
    context = {"season": found, "part": "phases", "phase": changed, "form": form}
    status = 422 if request.method == "POST" else 200
    return render(request, "organise/board.html", context, status=status)


@require_POST
@login_required
def reveal(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    """Show the board to everybody at once."""
    found = season_to_organise(request.user, season)
    shown = reveal_now(phase=_phase(found, phase), by=_person(request))
    messages.success(
        request,
        _("Everybody sees the board of %(task)s, %(phase)s, now.") % {"task": shown.task, "phase": shown},
    )
    return redirect("organise-phases", found.slug)


@require_POST
@login_required
def switch(request: HttpRequest, season: str, phase: int, how: str) -> HttpResponse:
    """Open or close a phase at once."""
    found = season_to_organise(request.user, season)
    changed = _phase(found, phase)
    service = {"open": open_now, "close": close_now}[how]
    try:
        service(phase=changed, by=_person(request))
    except TimesRefused as refused:
        messages.error(request, sentence(refused))
    else:
        done = (
            _("%(task)s, %(phase)s, is open now.")
            if how == "open"
            else _("%(task)s, %(phase)s, is closed now.")
        )
        messages.success(request, done % {"task": changed.task, "phase": changed})
    return redirect("organise-phases", found.slug)


def drawn(season: Season) -> dict[str, Any]:
    """The phases of a season with their bars, as a template shows them."""
    at = now()
    found = list(
        Phase.objects.filter(task__season=season)
        .select_related("task__season")
        .order_by("task__position", "task_id", "position", "opens")
    )
    line = TimeLine.over(found, at)
    lines = [
        {
            "phase": phase,
            "task": phase.task,
            "bar": line.bar(phase) if line else "",
            "is_open": phase.is_open(at),
            "is_ahead": at < phase.opens,
        }
        for phase in found
    ]
    return {"lines": lines, "scale": line.scale if line else "", "is_uneven": line and not line.is_even}


def _phase(season: Season, number: int) -> Phase:
    phases = Phase.objects.select_related("task__season")
    return get_object_or_404(phases, pk=number, task__season=season)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
