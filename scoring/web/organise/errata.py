"""Errata of a phase's results: those there are, and a form for another."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from citeboard.teams.models import User
from scoring.board.errata import MAX_TEXT, all_errata, publish_erratum
from tasks.models import Phase
from tasks.seasons.access import season_to_organise


class ErratumForm(forms.Form):
    """It cannot be changed later; another one can follow."""

    text = forms.CharField(
        label=gettext_lazy("What was wrong, and what holds now"),
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 6}),
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def errata(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    phases = Phase.objects.select_related("task__season")
    own = get_object_or_404(phases, pk=phase, task__season=found)
    form = ErratumForm(request.POST or None, label_suffix="")
    if request.method == "POST" and form.is_valid():
        publish_erratum(phase=own, text=form.cleaned_data["text"], by=request.user)
        messages.success(
            request,
            _("The erratum stands on the board of %(task)s, %(phase)s.") % {"task": own.task, "phase": own},
        )
        return redirect("organise-errata", found.slug, own.pk)
    context = {
        "season": found,
        "part": "phases",
        "phase": own,
        "form": form,
        "errata": all_errata(own),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "organise/errata.html", context, status=status)
