"""Which teams take part: those that wait first, then those that do, then those that were refused."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Max, OuterRef, Prefetch, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from citeboard.core.words import sentence
from citeboard.teams.access import members_in_order
from citeboard.teams.models import User
from scoring.web.organise.forms import DecisionForm, EntryForm, TeamRulesForm
from scoring.web.organise.merging import MergeForm
from tasks.models import Registration, Season, Submission
from tasks.models.registrations import RegistrationQuerySet
from tasks.registration.entries import (
    EntryRefused,
    approve_team,
    change_entry,
    change_entry_list,
    limit_teams,
    refuse_team,
)
from tasks.seasons.access import season_to_help, season_to_organise


@login_required
@require_safe
def teams(request: HttpRequest, season: str) -> HttpResponse:
    return _page(request, season_to_help(request.user, season))


def _page(request: HttpRequest, found: Season, rules: TeamRulesForm | None = None) -> HttpResponse:
    entries = _counted(found)
    context = {
        "season": found,
        "part": "teams",
        "waiting": entries.waiting(),
        "approved": entries.approved(),
        "refused": entries.refused(),
        "form": EntryForm(initial={"registration": found.registration}),
        "rules": rules or TeamRulesForm(season=found),
        "merge": MergeForm(season=found),
    }
    return render(request, "organise/teams.html", context, status=422 if rules else 200)


@require_POST
@login_required
def decide(request: HttpRequest, season: str, entry: int) -> HttpResponse:
    found = season_to_help(request.user, season)
    registration = get_object_or_404(Registration.objects.select_related("team"), pk=entry, season=found)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest(_("Approve or refuse, with a reason of at most 500 characters."))
    by, team = _person(request), registration.team
    try:
        if form.cleaned_data["decision"] == "approve":
            approve_team(registration=registration, by=by)
            messages.success(request, _("%(team)s takes part.") % {"team": team})
        else:
            refuse_team(registration=registration, by=by, reason=form.cleaned_data["reason"].strip())
            messages.success(request, _("%(team)s does not take part.") % {"team": team})
    except EntryRefused as refused:
        messages.error(request, sentence(refused))
    return redirect("organise-teams", found.slug)


@require_POST
@login_required
def entry(request: HttpRequest, season: str) -> HttpResponse:
    """Open or close the season to teams, or let organisers approve them."""
    found = season_to_organise(request.user, season)
    form = EntryForm(request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest(_("There is no such way of entering a season."))
    changed = change_entry(season=found, entry=form.cleaned_data["registration"], by=_person(request))
    messages.success(
        request,
        _("Entering %(season)s is %(entry)s now.")
        % {"season": changed, "entry": changed.get_registration_display()},
    )
    return redirect("organise-teams", found.slug)


@require_POST
@login_required
def rules(request: HttpRequest, season: str) -> HttpResponse:
    """Who may enter by list, how large teams may be and until when their members change."""
    found = season_to_organise(request.user, season)
    form = TeamRulesForm(request.POST, season=found)
    if form.is_valid():
        chosen, by = form.cleaned_data, _person(request)
        try:
            with transaction.atomic():
                change_entry_list(season=found, addresses=chosen["entry_list"], by=by)
                limit_teams(
                    season=found,
                    max_team_size=chosen["max_team_size"],
                    members_until=form.moment("members_until"),
                    by=by,
                )
        except ValidationError as faults:
            form.add_error("entry_list", [sentence(fault) for fault in faults.messages])
        else:
            messages.success(request, _("The rules for teams are saved."))
            return redirect("organise-teams", found.slug)
    return _page(request, found, form)


def _counted(season: Season) -> RegistrationQuerySet:
    """The entries with how many members and runs their teams have."""
    runs = (
        Submission.objects.filter(phase__task__season=season, team=OuterRef("team")).order_by().values("team")
    )
    entries = Registration.objects.filter(season=season).select_related("team", "decided_by")
    entries = entries.marked().prefetch_related(Prefetch("team__memberships", members_in_order()))
    counted: RegistrationQuerySet = entries.order_by("team__name").annotate(
        members=Count("team__memberships", distinct=True),
        runs=Coalesce(Subquery(runs.annotate(count=Count("pk")).values("count")), 0),
        last_run=Subquery(runs.annotate(last=Max("submitted_at")).values("last")),
    )
    return counted


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
