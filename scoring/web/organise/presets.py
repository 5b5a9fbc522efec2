"""A new season from a preset: a title, a name, a task type and the dates that the preset wants; for staff."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from citeboard.teams.models import User
from scoring.web.organise.settings_form import said
from tasks.models import Season
from tasks.seasons.access import may_create_seasons
from tasks.seasons.file.load import Fault, SettingsRefused
from tasks.seasons.presets import PRESETS, Preset, season_from
from tasks.types import task_types


class PresetForm(forms.Form):
    """What every season is asked, and the dates of the preset."""

    title = forms.CharField(label=gettext_lazy("Title"), max_length=120)
    slug = forms.CharField(
        label=gettext_lazy("Name in addresses"),
        max_length=60,
        help_text=gettext_lazy("Small letters, digits and single hyphens."),
    )
    task_type = forms.ChoiceField(label=gettext_lazy("Task type"))
    time_zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=60,
        initial="UTC",
        help_text=gettext_lazy("Such as Europe/Rome, UTC or AoE."),
    )

    def __init__(self, data: Any = None, *, preset: Preset) -> None:
        super().__init__(data, label_suffix="")
        kinds = [(slug, f"{kind.title} ({slug})") for slug, kind in task_types().items()]
        chosen = self.fields["task_type"]
        assert isinstance(chosen, forms.ChoiceField)
        chosen.choices = kinds
        self.dates = list(preset.dates)
        for name, label in preset.dates.items():
            help_text = _("In that zone, such as 2026-05-01 23:59; write AoE or UTC behind it for those.")
            self.fields[name] = forms.CharField(label=label, max_length=80, help_text=help_text)

    def make(self, preset: Preset, by: User) -> Season | None:
        """None where something is wrong, which then stands at its field."""
        given = {name: value for name, value in self.cleaned_data.items() if name not in self.dates}
        dates = {name: self.cleaned_data[name] for name in self.dates}
        try:
            return season_from(preset=preset, dates=dates, by=by, **given)
        except SettingsRefused as refused:
            for fault in refused.faults:
                self._add(fault)
            return None

    def _add(self, fault: Fault) -> None:
        name = fault.key.removeprefix("season.")
        self.add_error(name if name in self.fields else None, said(fault))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def new_from_preset(request: HttpRequest, preset: str) -> HttpResponse:
    assert isinstance(request.user, User)
    if not may_create_seasons(request.user) or preset not in PRESETS:
        raise Http404(_("Seasons are created by staff of the site."))
    chosen = PRESETS[preset]
    form = PresetForm(request.POST if request.method == "POST" else None, preset=chosen)
    if request.method == "POST" and form.is_valid() and (made := form.make(chosen, request.user)):
        messages.success(
            request,
            _("%(season)s is a draft. Bring its gold next, and look through its settings.")
            % {"season": made},
        )
        return redirect("organise-settings", made.slug)
    context = {"preset": chosen, "form": form}
    return render(request, "organise/preset.html", context, status=422 if form.errors else 200)
