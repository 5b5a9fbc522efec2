"""One's own teams."""

from __future__ import annotations

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from citeboard.teams.access import members_in_order, teams_of
from citeboard.teams.creating import MAX_NAME, found_team
from citeboard.teams.mailed_invitations import invitations_for, mailed_secret


class TeamForm(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=MAX_NAME,
        help_text=_("Public: boards show it."),
        error_messages={"required": _("Give the team a name.")},
    )


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def teams(request: HttpRequest) -> HttpResponse:
    assert request.user.is_authenticated
    form = TeamForm(request.POST or None, label_suffix="")
    if request.method == "POST" and form.is_valid():
        try:
            team = found_team(name=form.cleaned_data["name"], founder=request.user)
        except ValidationError as faults:
            form.add_error(
                "name", [f"{fault[:1].upper()}{fault[1:]}." for fault in faults.message_dict["name"]]
            )
        else:
            return redirect("team", team.slug)
    own = teams_of(request.user).prefetch_related(Prefetch("memberships", members_in_order()))
    status = 422 if form.errors else 200
    invitations = [(own, mailed_secret(own)) for own in invitations_for(request.user)]
    context = {"form": form, "teams": own, "invitations": invitations}
    return render(request, "teams/teams.html", context, status=status)
