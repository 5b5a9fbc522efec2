"""Who takes part and who runs the season: entries, rules for teams, merging, extra tries, organisers."""

from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Count, Max, OuterRef, Prefetch, Q, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponseBadRequest
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from citeboard.core.words import counted
from citeboard.teams.access import members_in_order
from citeboard.teams.models import Team, User
from scoring.ops.merging import MAX_REASON as MAX_MERGE_REASON
from scoring.ops.merging import merge_teams
from scoring.web.organise.settings_form import MomentField, MomentsForm
from scoring.web.pages import Answer, SignedInRequest, helpers, organisers, refusals_at
from tasks.models import ExtraTries, Organiser, Phase, Registration, Season, Submission
from tasks.models.registrations import RegistrationQuerySet
from tasks.registration.entries import approve_team, change_entry, change_entry_list, limit_teams, refuse_team
from tasks.seasons.access import may_organise
from tasks.seasons.organisers import add_organiser, hand_season_over, remove_organiser
from tasks.submissions.run_acts import MAX_REASON, MAX_TRIES, give_tries, take_tries_back


class DecisionForm(forms.Form):
    decision = forms.ChoiceField(choices=[("approve", "approve"), ("refuse", "refuse")])
    reason = forms.CharField(required=False, max_length=500)


class EntryForm(forms.Form):
    registration = forms.ChoiceField(label=gettext_lazy("How teams enter"), choices=Season.Entry.choices)


class TeamRulesForm(MomentsForm):
    entry_list = forms.CharField(
        label=gettext_lazy("Addresses that may enter"),
        required=False,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=gettext_lazy(
            "For entering by list: an address, or @ and a domain, a line. Every member needs one."
        ),
    )
    max_team_size = forms.IntegerField(
        label=gettext_lazy("Members of a team at most"), required=False, min_value=1, max_value=10_000
    )

    def __init__(self, data: Any = None, *, season: Season) -> None:
        names = ("entry_list", "max_team_size", "members_until")
        initial = {name: getattr(season, name) for name in names}
        super().__init__(data, initial=initial, label_suffix="")
        self.fields["members_until"] = MomentField(
            label=_("Members may change until"),
            required=False,
            help_text=_(
                "From then on nobody joins a team or is removed from one. Everybody may still leave."
            ),
            zone=season.zone,
        )


class MergeForm(forms.Form):
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


class PersonForm(forms.Form):
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
        user = User.objects.filter(email__iexact=email.strip(), is_active=True).first()
        if user is None:
            raise forms.ValidationError(_("Nobody has an account with this address; they can sign up first."))
        self.user = user
        return email


@helpers.page("organise/teams.html", "teams")
def teams(request: HttpRequest, season: Season) -> Answer:
    return _teams(season)


def _teams(season: Season, rules: TeamRulesForm | None = None) -> dict[str, Any]:
    runs = (
        Submission.objects.filter(phase__task__season=season, team=OuterRef("team")).order_by().values("team")
    )
    entries = Registration.objects.filter(season=season).select_related("team", "decided_by")
    entries = entries.marked().prefetch_related(Prefetch("team__memberships", members_in_order()))
    listed: RegistrationQuerySet = entries.order_by("team__name").annotate(
        members=Count("team__memberships", distinct=True),
        runs=Coalesce(Subquery(runs.annotate(count=Count("pk")).values("count")), 0),
        last_run=Subquery(runs.annotate(last=Max("submitted_at")).values("last")),
    )
    return {
        "waiting": listed.waiting(),
        "approved": listed.approved(),
        "refused": listed.refused(),
        "form": EntryForm(initial={"registration": season.registration}),
        "rules": rules or TeamRulesForm(season=season),
        "merge": MergeForm(season=season),
    }


@helpers.act("organise-teams season")
def decide(request: SignedInRequest, season: Season, entry: int) -> Answer:
    registration = get_object_or_404(Registration.objects.select_related("team"), pk=entry, season=season)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest(_("Approve or refuse, with a reason of at most 500 characters."))
    if form.cleaned_data["decision"] == "approve":
        approve_team(registration=registration, by=request.user)
        return _("%(team)s takes part.") % {"team": registration.team}
    reason = form.cleaned_data["reason"].strip()
    refuse_team(registration=registration, by=request.user, reason=reason)
    return _("%(team)s does not take part.") % {"team": registration.team}


@organisers.act("organise-teams season")
def entry(request: SignedInRequest, season: Season) -> Answer:
    form = EntryForm(request.POST)
    if not form.is_valid():
        return HttpResponseBadRequest(_("There is no such way of entering a season."))
    changed = change_entry(season=season, entry=form.cleaned_data["registration"], by=request.user)
    words = {"season": changed, "entry": changed.get_registration_display()}
    return _("Entering %(season)s is %(entry)s now.") % words


@organisers.act("organise-teams season")
def rules(request: SignedInRequest, season: Season) -> Answer:
    form = TeamRulesForm(request.POST, season=season)
    with refusals_at(form, "entry_list"):
        if form.is_valid():
            with transaction.atomic():
                addresses = form.cleaned_data["entry_list"]
                change_entry_list(season=season, addresses=addresses, by=request.user)
                limit_teams(
                    season=season,
                    max_team_size=form.cleaned_data["max_team_size"],
                    members_until=form.moment("members_until"),
                    by=request.user,
                )
            return _("The rules for teams are saved.")
    context = {"season": season, "part": "teams", **_teams(season, form)}
    return render(request, "organise/teams.html", context, status=422)


@organisers.act("organise-teams season")
def merge(request: SignedInRequest, season: Season) -> Answer:
    form = MergeForm(request.POST, season=season)
    if not form.is_valid():
        faults = " ".join(str(fault) for errors in form.errors.values() for fault in errors)
        raise forms.ValidationError(_("The teams were not merged: %(faults)s") % {"faults": faults})
    teams = form.cleaned_data
    moved = merge_teams(season=season, **teams, by=request.user)
    words = _("%(team)s is part of %(into)s now, with %(runs)s.")
    return words % {"team": teams["team"], "into": teams["into"], "runs": counted(moved, "run")}


@organisers.form("organise/extra_tries.html", "teams")
def extra_tries(request: SignedInRequest, season: Season) -> Answer:
    form = ExtraTriesForm(request.POST or None, season=season)
    with refusals_at(form, "team"):
        if form.is_valid():
            made = give_tries(**form.cleaned_data, by=request.user)
            words = _("%(team)s has %(tries)s more in %(phase)s.")
            return words % {"team": made.team, "tries": made.tries, "phase": made.phase}
    given = ExtraTries.objects.filter(phase__task__season=season)
    return {"form": form, "given": given.select_related("phase__task", "team", "given_by")}


@organisers.act("organise-tries season")
def revoke_tries(request: SignedInRequest, season: Season, given: ExtraTries) -> Answer:
    take_tries_back(given=given, by=request.user)
    return _("The extra tries of %(team)s are taken back.") % {"team": given.team}


@organisers.form("organise/people.html", "people")
def people(request: SignedInRequest, season: Season) -> Answer:
    form = PersonForm(request.POST or None, label_suffix="")
    with refusals_at(form, "role"):
        if form.is_valid():
            role = form.cleaned_data["role"]
            if role == PersonForm.HAND_OVER:
                hand_season_over(season=season, to=form.user, by=request.user)
            else:
                add_organiser(season=season, user=form.user, role=role, by=request.user)
            return _to_people(request, season, _("%(name)s is what you chose now.") % {"name": form.user})
    people = Organiser.objects.filter(season=season).select_related("user")
    return {"form": form, "people": people.order_by("-role", "user__name")}


@organisers.act("organise-people season")
def remove_person(request: SignedInRequest, season: Season, organiser: Organiser) -> Answer:
    remove_organiser(organiser=organiser, by=request.user)
    words = _("%(name)s does not run the season any more.") % {"name": organiser.user}
    return _to_people(request, season, words)


def _to_people(request: SignedInRequest, season: Season, done: str) -> Answer:
    """Whoever has given the season away is led to its public page."""
    if may_organise(request.user, season):
        return done
    messages.success(request, done)
    return redirect("season", season.slug)
