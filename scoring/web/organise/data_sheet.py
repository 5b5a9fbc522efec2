"""The data sheet of a human evaluation, as organisers fill it in."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from citeboard.teams.models import User
from scoring.human.data_sheet import MAX_ANSWER, SECTIONS, save_data_sheet
from scoring.models import Sheet
from tasks.seasons.access import season_to_organise


class DataSheetForm(forms.Form):
    """Every question of the data sheet; none has to be answered."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        for questions in SECTIONS.values():
            for name, question in questions.items():
                self.fields[name] = forms.CharField(
                    label=_(question),
                    required=False,
                    max_length=MAX_ANSWER,
                    widget=forms.Textarea(attrs={"rows": 2}),
                )

    @property
    def sections(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [(_(section), [self[name] for name in questions]) for section, questions in SECTIONS.items()]


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def data_sheet(request: HttpRequest, season: str, sheet: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    sheets = Sheet.objects.select_related("phase__task__season")
    own = get_object_or_404(sheets, pk=sheet, phase__task__season=found)
    form = DataSheetForm(request.POST if request.method == "POST" else None, initial=own.data_sheet)
    if request.method == "POST" and form.is_valid():
        save_data_sheet(sheet=own, answers=form.cleaned_data, by=request.user)
        messages.success(request, _("The data sheet is saved."))
        return redirect("organise-sheet", found.slug, own.pk)
    context = {"season": found, "part": "human", "sheet": own, "phase": own.phase, "form": form}
    status = 422 if request.method == "POST" else 200
    return render(request, "organise/data_sheet.html", context, status=status)
