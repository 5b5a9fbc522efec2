"""Scores by hand: the measures that were entered for a phase, and a form for another."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from citeboard.core.words import sentence
from citeboard.teams.models import User
from scoring.board.outside import MAX_NAME, MAX_SOURCE, MAX_TEXT, enter_measure, lines_of
from scoring.models import OutsideMeasure
from tasks.models import Phase, Submission
from tasks.seasons.access import season_to_organise

DIRECTIONS = (("up", gettext_lazy("higher is better")), ("down", gettext_lazy("lower is better")))


class MeasureForm(forms.Form):
    """What is wrong with it is said by `enter_measure`."""

    name = forms.CharField(
        label=gettext_lazy("Measure"),
        max_length=MAX_NAME,
        help_text=gettext_lazy("One of the same name takes its place."),
    )
    better = forms.ChoiceField(label=gettext_lazy("Direction"), choices=DIRECTIONS)
    source = forms.CharField(
        label=gettext_lazy("Source"),
        max_length=MAX_SOURCE,
        required=False,
        help_text=gettext_lazy(
            "Who measured it, how, and where that is written. Everybody who sees the scores reads it."
        ),
    )
    values = forms.CharField(
        label=gettext_lazy("Values"),
        max_length=MAX_TEXT,
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=gettext_lazy(
            "On each line the number of a run and its value, such as “41 0.532”. Left empty, the "
            "measure of this name is taken away."
        ),
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def outside(request: HttpRequest, season: str, phase: int) -> HttpResponse:
    assert isinstance(request.user, User)
    found = season_to_organise(request.user, season)
    own = get_object_or_404(Phase.objects.select_related("task__season"), pk=phase, task__season=found)
    form = MeasureForm(request.POST or None, label_suffix="")
    if request.method == "POST" and form.is_valid() and _entered(form, own, request):
        return redirect("organise-outside", found.slug, own.pk)
    runs = Submission.objects.filter(phase=own, status=Submission.Status.SCORED).select_related("team")
    context = {
        "season": found,
        "part": "phases",
        "phase": own,
        "form": form,
        "measures": [(one, lines_of(one)) for one in OutsideMeasure.objects.filter(phase=own)],
        "runs": runs.order_by("pk"),
    }
    return render(request, "organise/outside.html", context, status=422 if request.method == "POST" else 200)


def _entered(form: MeasureForm, phase: Phase, request: HttpRequest) -> bool:
    assert isinstance(request.user, User)
    said = form.cleaned_data
    try:
        made = enter_measure(
            phase=phase,
            name=said["name"],
            higher_is_better=said["better"] == "up",
            source=said["source"],
            values=said["values"],
            by=request.user,
        )
    except ValidationError as faults:
        for name, errors in faults.message_dict.items():
            form.add_error(name, [sentence(error) for error in errors])
        return False
    done = _("“%(name)s” stands beside the board.") if made else _("“%(name)s” is taken away.")
    messages.success(request, done % {"name": said["name"]})
    return True
