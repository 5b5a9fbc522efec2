"""Which teams have confirmed their results, and ending that."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from citeboard.core.words import sentence
from citeboard.teams.models import User
from scoring.board.confirming import official_since, results_of, teams_confirmed, why_not
from scoring.runs.confirming import MAX_REASON, end_confirmation, reopen_confirmation
from tasks.models import Phase, Season
from tasks.seasons.access import season_to_organise
from tasks.submissions.withdraw import NotInThisState


class EndForm(forms.Form):
    """Why the results are official without every team's word."""

    reason = forms.CharField(max_length=MAX_REASON)


@login_required
@require_safe
def confirmation(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    """What the lead of each team says of the results that count."""
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    own = _phase(found, phase)
    results = results_of(own)
    confirmed, teams = teams_confirmed(results)
    refused = why_not(own)
    context = {
        "season": found,
        "part": "phases",
        "phase": own,
        "task": own.task,
        "results": results,
        "confirmed": confirmed,
        "teams": teams,
        "official_since": official_since(own, results),
        "refused": sentence(refused) if refused else "",
        "may_end": own.confirms_results and own.closes <= now() and own.confirmation_ended_at is None,
    }
    return render(request, "organise/confirmation.html", context)


@require_POST
@login_required
def end(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    own = _phase(found, phase)
    form = EndForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("The reason: %(fault)s") % {"fault": form.errors["reason"][0]})
        return redirect("organise-confirmation", found.slug, own.pk)
    try:
        end_confirmation(phase=own, reason=form.cleaned_data["reason"], by=request.user)
    except ValidationError as faults:
        messages.error(request, sentence(faults.messages[0]))
    except NotInThisState as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request, _("The results of %(task)s, %(phase)s, are official.") % {"task": own.task, "phase": own}
        )
    return redirect("organise-confirmation", found.slug, own.pk)


@require_POST
@login_required
def reopen(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    own = _phase(found, phase)
    try:
        reopen_confirmation(phase=own, by=request.user)
    except NotInThisState as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request,
            _("The results of %(task)s, %(phase)s, wait for their teams again.")
            % {"task": own.task, "phase": own},
        )
    return redirect("organise-confirmation", found.slug, own.pk)


def _phase(season: Season, number: int) -> Phase:
    phases = Phase.objects.select_related("task__season")
    return get_object_or_404(phases, pk=number, task__season=season)
