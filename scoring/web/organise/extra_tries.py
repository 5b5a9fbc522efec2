"""More tries for one team in one phase: a list of those that were given, and a form."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from citeboard.core.words import sentence
from citeboard.teams.models import Team, User
from tasks.models import ExtraTries, Phase, Season
from tasks.seasons.access import season_to_organise
from tasks.submissions.extra_tries import MAX_REASON, MAX_TRIES, give_tries, take_tries_back
from tasks.submissions.refusals import NotRegistered


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
def take_back(request: HttpRequest, season: str, given: int) -> HttpResponse:
    found = season_to_organise(request.user, season)
    rows = ExtraTries.objects.select_related("phase__task__season", "team")
    taken = get_object_or_404(rows, pk=given, phase__task__season=found)
    take_tries_back(given=taken, by=_person(request))
    messages.success(request, _("The extra tries of %(team)s are taken back.") % {"team": taken.team})
    return redirect("organise-tries", found.slug)


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
