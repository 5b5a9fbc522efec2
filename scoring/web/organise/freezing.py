"""Freezing a phase's board, and revealing it."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from citeboard.core.words import sentence
from citeboard.teams.models import User
from scoring.board.frozen import keep_frozen
from scoring.web.organise.forms import FreezeForm
from tasks.models import Phase, Season
from tasks.seasons.access import season_to_organise
from tasks.seasons.freezing import FreezeRefused, freeze_board, freeze_now, reveal_frozen, said


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def freeze(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    """The form for the instants, and the buttons for this moment."""
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    frozen = _phase(found, phase)
    form = FreezeForm(request.POST or None, phase=frozen)
    if request.method == "POST" and form.is_valid():
        instants = {name: form.moment(name) for name in ("frozen_from", "frozen_until")}
        try:
            done = freeze_board(phase=frozen, by=request.user, **instants)
        except FreezeRefused as refused:
            form.add_error("frozen_from", sentence(refused))
        else:
            messages.success(
                request,
                _("When the board of %(task)s, %(phase)s, is frozen: %(when)s.")
                % {"task": done.task, "phase": done, "when": said(done)},
            )
            return redirect("organise-freeze", found.slug, done.pk)
    context = {"season": found, "part": "phases", "phase": frozen, "task": frozen.task, "form": form}
    status = 422 if request.method == "POST" else 200
    return render(request, "organise/freeze.html", context, status=status)


@require_POST
@login_required
def now(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    frozen = freeze_now(phase=_phase(found, phase), by=request.user)
    keep_frozen(frozen)
    messages.success(
        request, _("The board of %(task)s, %(phase)s, is frozen.") % {"task": frozen.task, "phase": frozen}
    )
    return redirect("organise-freeze", found.slug, frozen.pk)


@require_POST
@login_required
def unfreeze(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    own = _phase(found, phase)
    try:
        reveal_frozen(phase=own, by=request.user)
    except FreezeRefused as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request, _("The board of %(task)s, %(phase)s, is revealed.") % {"task": own.task, "phase": own}
        )
    return redirect("organise-freeze", found.slug, own.pk)


def _phase(season: Season, number: int) -> Phase:
    phases = Phase.objects.select_related("task__season")
    return get_object_or_404(phases, pk=number, task__season=season)
