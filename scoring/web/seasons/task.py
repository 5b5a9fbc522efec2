"""A task's card and downloads, and entering a season; none of it shows a score."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from citeboard.core import storage
from citeboard.core.plain_text import one_line, plain_paragraphs
from citeboard.core.storage.downloads import download
from citeboard.core.words import sentence
from citeboard.teams.access import team_for_member
from citeboard.teams.api import asking_user
from citeboard.teams.models import User
from scoring.board.open_gold import described_splits
from scoring.exchange import linked_data
from scoring.exchange.citations import of_task
from scoring.exchange.data_sets import released_phases
from tasks.models import Gold
from tasks.registration.entries import MAX_MESSAGE, EntryRefused, TermsFirst, register_team, terms_to_accept
from tasks.seasons.access import (
    entered_teams,
    may_have_inputs,
    may_organise,
    phase_for,
    require_inputs,
    season_for,
    task_for,
)
from tasks.seasons.cards import card
from tasks.submissions.refusals import InputsNotReleased, TermsNotAccepted
from tasks.types.citation_text.data_sets import MAX_INPUT, MAX_OUTPUT
from tasks.types.citation_text.self_reference import SELF_REFERENCES


@require_safe
def task(request: HttpRequest, season: str, task: str) -> HttpResponse:
    found = task_for(request.user, season, task)
    phases = list(found.phases.all())
    released = released_phases(found)
    golds = {gold.split: gold for gold in Gold.objects.filter(task=found).order_by("number")}
    context = {
        "season": found.season,
        "task": found,
        "card": card(found.type),
        "citation": of_task(found),
        "is_released": bool(released),
        "described": linked_data.data_set_in_page(found, released) if released else "",
        "has_trec": found.task_type.trec is not None,
        "has_data_sets": found.task_type.statistics is not None,
        "phases": [
            (phase, golds.get(phase.split) if may_have_inputs(request.user, phase) else None)
            for phase in phases
        ],
        "open_phases": [phase for phase in phases if phase.is_open()],
        "now": now(),
        "terms": terms_to_accept(found.season, request.user),
        "has_entered": entered_teams(request.user, found.season).exists(),
    }
    response = render(request, "seasons/task.html", context)
    response["Link"] = linked_data.task_links(found, released)
    return response


@require_safe
def inputs(request: HttpRequest, season: str, task: str, phase: str) -> HttpResponseBase:
    """What participants may have of a split, by session or token: never its gold."""
    person = asking_user(request)
    found = phase_for(person, season, task, phase)
    try:
        require_inputs(person, found)
    except InputsNotReleased:
        gold = None
    except TermsNotAccepted as refused:
        terms = f"{settings.BASE_URL}{reverse('terms', args=[found.task.season.slug])}"
        where = _("They are at %(address)s.") % {"address": terms}
        raise PermissionDenied(f"{sentence(refused)} {where}") from refused
    else:
        gold = Gold.objects.current(found)
    if gold is None:
        raise Http404(_("The inputs of this phase are not published yet."))
    name = f"{found.task.season.slug}-{found.task.slug}-{found.split}-inputs.zip"
    return download(request, storage.gold, gold.public, filename=name, content_type="application/zip")


@require_POST
@login_required
def enter(request: HttpRequest, season: str) -> HttpResponse:
    """Enter a season with one of one's teams."""
    assert isinstance(request.user, User)
    found = season_for(request.user, season)
    team = team_for_member(request.user, one_line(request.POST.get("team", "")))
    message = plain_paragraphs(request.POST.get("message", ""))[:MAX_MESSAGE]
    try:
        registration = register_team(season=found, team=team, by=request.user, message=message)
    except TermsFirst as refused:
        messages.warning(request, sentence(refused))
        return redirect("terms", found.slug)
    except EntryRefused as refused:
        messages.error(request, f"{refused}.")
    else:
        told = (
            _("%(team)s takes part in %(season)s.")
            if registration.is_approved
            else _("%(team)s takes part in %(season)s; an organiser has yet to approve it.")
        )
        messages.success(request, told % {"team": team, "season": found})
    return redirect("season", found.slug)


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
