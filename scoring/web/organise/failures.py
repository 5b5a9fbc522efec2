"""Acknowledging a failure on the page of what needs attention, and taking that back."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from citeboard.core.query import whole_number
from citeboard.core.words import sentence
from citeboard.teams.models import User
from tasks.jobs.acknowledging import NotFailed, acknowledge, take_acknowledgement_back
from tasks.models import Acknowledgement, Job, Submission
from tasks.seasons.access import season_to_help


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
