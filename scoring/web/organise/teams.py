"""Which teams take part: those that wait first, then those that do, then those that were refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Max, OuterRef, Prefetch, Q, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from citeboard.core.words import counted, sentence
from citeboard.teams.access import members_in_order
from citeboard.teams.models import Team, User
from scoring.ops.merging import MAX_REASON as MAX_MERGE_REASON
from scoring.ops.merging import merge_teams
from scoring.web.organise.forms import DecisionForm, EntryForm, TeamRulesForm
from tasks.models import ExtraTries, Organiser, Phase, Registration, Season, Submission
from tasks.models.registrations import RegistrationQuerySet
from tasks.registration.entries import (
    EntryRefused,
    approve_team,
    change_entry,
    change_entry_list,
    limit_teams,
    refuse_team,
)
from tasks.seasons.access import may_organise, season_to_help, season_to_organise
from tasks.seasons.organisers import LastOrganiser, add_organiser, hand_season_over, remove_organiser
from tasks.submissions.refusals import NotRegistered
from tasks.submissions.run_acts import MAX_REASON, MAX_TRIES, give_tries, take_tries_back


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


class MergeForm(forms.Form):
    """Which team goes into which, and why."""

    team = forms.ModelChoiceField(
        label=gettext_lazy("Team"), queryset=Team.objects.none(), to_field_name="slug"
    )
    into = forms.ModelChoiceField(
        label=gettext_lazy("Goes into"),
        queryset=Team.objects.none(),
        to_field_name="slug",
        help_text=gettext_lazy("This team stays."),
    )
    reason = forms.CharField(label=gettext_lazy("Reason, which both teams read"), max_length=MAX_MERGE_REASON)

    def __init__(self, data: Any = None, *, season: Season) -> None:
        super().__init__(data, label_suffix="", prefix="merge")
        entered = Team.objects.filter(registrations__in=season.registrations.approved()).order_by("name")
        for name in ("team", "into"):
            self.fields[name].queryset = entered  # type: ignore[attr-defined]


@require_POST
@login_required
def merge(request: HttpRequest, season: str) -> HttpResponse:
    found = season_to_organise(request.user, season)
    form = MergeForm(request.POST, season=found)
    if not form.is_valid():
        faults = [str(fault) for errors in form.errors.values() for fault in errors]
        messages.error(request, _("The teams were not merged: %(faults)s") % {"faults": " ".join(faults)})
        return redirect("organise-teams", found.slug)
    chosen = form.cleaned_data
    try:
        moved = merge_teams(season=found, **chosen, by=_person(request))
    except EntryRefused as refused:
        messages.error(request, sentence(refused))
    else:
        words = _("%(team)s is part of %(into)s now, with %(runs)s.") % {
            "team": chosen["team"],
            "into": chosen["into"],
            "runs": counted(moved, "run"),
        }
        messages.success(request, words)
    return redirect("organise-teams", found.slug)


class ExtraTriesForm(forms.Form):
    """Phases that have no limit of runs are not offered: there is nothing to add to."""

    team = forms.ModelChoiceField(label=gettext_lazy("Team"), queryset=Team.objects.none(), empty_label=None)
    phase = forms.TypedChoiceField(label=gettext_lazy("Phase"), coerce=int)
    tries = forms.IntegerField(
        label=gettext_lazy("How many more"), min_value=1, max_value=MAX_TRIES, initial=1
    )
    reason = forms.CharField(label=gettext_lazy("Reason, which the team reads"), max_length=MAX_REASON)

    def __init__(self, data: Any = None, *, season: Season) -> None:
        super().__init__(data, label_suffix="")
        entries = season.registrations.approved().values("team")
        limited = ~Q(runs_per_day=None) | ~Q(runs_in_total=None)
        self.fields["team"].queryset = Team.objects.filter(pk__in=entries).order_by("name")  # type: ignore[attr-defined]
        phases = Phase.objects.filter(limited, task__season=season).select_related("task__season")
        self.phases = {phase.pk: phase for phase in phases.order_by("task__position", "position")}
        self.fields["phase"].choices = [  # type: ignore[attr-defined]
            (number, f"{phase.task}, {phase}") for number, phase in self.phases.items()
        ]

    def clean_phase(self) -> Phase:
        return self.phases[self.cleaned_data["phase"]]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def extra_tries(request: HttpRequest, season: str) -> HttpResponse:
    found = season_to_organise(request.user, season)
    form = ExtraTriesForm(request.POST or None, season=found)
    if request.method == "POST" and form.is_valid():
        try:
            made = give_tries(**form.cleaned_data, by=_person(request))
        except ValidationError as faults:
            for name, errors in faults.message_dict.items():
                form.add_error(name, [sentence(error) for error in errors])
        except NotRegistered as refused:
            form.add_error("team", sentence(refused))
        else:
            messages.success(
                request,
                _("%(team)s has %(tries)s more in %(phase)s.")
                % {"team": made.team, "tries": made.tries, "phase": made.phase},
            )
            return redirect("organise-tries", found.slug)
    given = ExtraTries.objects.filter(phase__task__season=found)
    context = {
        "season": found,
        "part": "teams",
        "form": form,
        "given": given.select_related("phase__task", "team", "given_by"),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "organise/extra_tries.html", context, status=status)


@require_POST
@login_required
def take_tries(request: HttpRequest, season: str, given: int) -> HttpResponse:
    found = season_to_organise(request.user, season)
    rows = ExtraTries.objects.select_related("phase__task__season", "team")
    taken = get_object_or_404(rows, pk=given, phase__task__season=found)
    take_tries_back(given=taken, by=_person(request))
    messages.success(request, _("The extra tries of %(team)s are taken back.") % {"team": taken.team})
    return redirect("organise-tries", found.slug)


class PersonForm(forms.Form):
    """Somebody with an account, and what they are to the season."""

    HAND_OVER = "hand-over"

    email = forms.EmailField(label=gettext_lazy("E-mail address of their account"))
    role = forms.ChoiceField(
        label=gettext_lazy("They become"),
        choices=[*Organiser.Role.choices, (HAND_OVER, gettext_lazy("organiser in my place"))],
        help_text=gettext_lazy(
            "A helper sees runs and scores, decides on teams and announces; no gold, no settings."
        ),
    )
    user: User

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        found = User.objects.filter(email__iexact=email.strip(), is_active=True).first()
        if found is None:
            raise forms.ValidationError(_("Nobody has an account with this address; they can sign up first."))
        self.user = found
        return email


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest, season: str) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    form = PersonForm(request.POST or None, label_suffix="")
    if request.method == "POST" and form.is_valid():
        try:
            _give(found, form.user, form.cleaned_data, by=request.user)
        except LastOrganiser as refused:
            form.add_error("role", sentence(refused))
        else:
            messages.success(request, _("%(name)s is what you chose now.") % {"name": form.user})
            return _back(request, found)
    context = {
        "season": found,
        "part": "people",
        "form": form,
        "people": Organiser.objects.filter(season=found)
        .select_related("user")
        .order_by("-role", "user__name"),
    }
    return render(request, "organise/people.html", context, status=422 if request.method == "POST" else 200)


@require_POST
@login_required
def remove_person(request: HttpRequest, season: str, organiser: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    gone = get_object_or_404(Organiser.objects.select_related("user", "season"), pk=organiser, season=found)
    try:
        remove_organiser(organiser=gone, by=request.user)
    except LastOrganiser as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(request, _("%(name)s does not run the season any more.") % {"name": gone.user})
    return _back(request, found)


def _give(season: Season, user: User, chosen: Mapping[str, Any], *, by: User) -> None:
    if chosen["role"] == PersonForm.HAND_OVER:
        hand_season_over(season=season, to=user, by=by)
    else:
        add_organiser(season=season, user=user, role=chosen["role"], by=by)


def _back(request: HttpRequest, season: Season) -> HttpResponse:
    """Whoever has given the season away is led to its public page."""
    if may_organise(request.user, season):
        return redirect("organise-people", season.slug)
    return redirect("season", season.slug)
