"""Who takes part and who runs the season: entries, rules for teams, merging, extra tries, organisers."""

from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.db.models import Count, Max, OuterRef, Prefetch, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponseBadRequest
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from citeboard.teams.access import members_in_order
from citeboard.teams.models import User
from scoring.acts.declared import ActForm, MomentField
from scoring.acts.phases import GIVE_TRIES, TAKE_TRIES_BACK
from scoring.acts.seasons import DECIDE, MERGE_TEAMS, MergeTeamsForm
from scoring.web.pages import Answer, SignedInRequest, does, fills, helpers, organisers, refusals_at
from tasks.models import ExtraTries, Organiser, Registration, Season, Submission
from tasks.models.registrations import RegistrationQuerySet
from tasks.registration.entries import change_entry, change_entry_list, limit_teams
from tasks.seasons.access import may_organise
from tasks.seasons.organisers import add_organiser, hand_season_over, remove_organiser


class EntryForm(ActForm):
    begins_with = {"registration": "registration"}
    registration = forms.ChoiceField(label=gettext_lazy("How teams enter"), choices=Season.Entry.choices)


class TeamRulesForm(ActForm):
    mirrors = True
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
    members_until = MomentField(
        label=gettext_lazy("Members may change until"),
        required=False,
        help_text=gettext_lazy(
            "From then on nobody joins a team or is removed from one. Everybody may still leave."
        ),
    )


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
        "form": EntryForm(of=season),
        "rules": rules or TeamRulesForm(of=season),
        "merge": MergeTeamsForm(of=season),
    }


decide, merge = (does(act, "organise-teams season") for act in (DECIDE, MERGE_TEAMS))


@organisers.act("organise-teams season")
def entry(request: SignedInRequest, season: Season) -> Answer:
    form = EntryForm(request.POST, of=season)
    if not form.is_valid():
        return HttpResponseBadRequest(_("There is no such way of entering a season."))
    changed = change_entry(season=season, entry=form.cleaned_data["registration"], by=request.user)
    words = {"season": changed, "entry": changed.get_registration_display()}
    return _("Entering %(season)s is %(entry)s now.") % words


@organisers.act("organise-teams season")
def rules(request: SignedInRequest, season: Season) -> Answer:
    form = TeamRulesForm(request.POST, of=season)
    with refusals_at(form, "entry_list"):
        if form.is_valid():
            with transaction.atomic():
                addresses = form.cleaned_data["entry_list"]
                change_entry_list(season=season, addresses=addresses, by=request.user)
                limit_teams(
                    season=season,
                    max_team_size=form.cleaned_data["max_team_size"],
                    members_until=form.cleaned_data["members_until"],
                    by=request.user,
                )
            return _("The rules for teams are saved.")
    context = {"season": season, "part": "teams", **_teams(season, form)}
    return render(request, "organise/teams.html", context, status=422)


extra_tries = fills(
    GIVE_TRIES,
    "organise/extra_tries.html",
    "teams",
    at="team",
    shows=lambda request, season: {
        "given": ExtraTries.objects.filter(phase__task__season=season).select_related(
            "phase__task", "team", "given_by"
        )
    },
)
revoke_tries = does(TAKE_TRIES_BACK, "organise-tries season")


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
