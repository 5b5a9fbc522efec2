"""Who runs a season: organisers and helpers, added, removed, and the season handed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from citeboard.core.words import sentence
from citeboard.teams.models import User
from tasks.models import Organiser, Season
from tasks.seasons.access import may_organise, season_to_organise
from tasks.seasons.organisers import LastOrganiser, add_organiser, hand_season_over, remove_organiser


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
def remove(request: HttpRequest, season: str, organiser: int) -> HttpResponse:
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
