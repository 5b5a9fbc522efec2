"""Two teams of a season become one, by an organiser with a reason."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from citeboard.core.words import counted, sentence
from citeboard.teams.models import Team, User
from scoring.ops.merging import MAX_REASON, merge_teams
from tasks.models import Season
from tasks.registration.entries import EntryRefused
from tasks.seasons.access import season_to_organise


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
    reason = forms.CharField(label=gettext_lazy("Reason, which both teams read"), max_length=MAX_REASON)

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


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
