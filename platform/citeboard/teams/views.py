from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from citeboard.core.words import sentence
from citeboard.teams.access import (
    mailed_invitation_of,
    member_of,
    members_in_order,
    team_for_lead,
    team_for_member,
    teams_of,
)
from citeboard.teams.invitations import (
    InvitationRefused,
    invitations_for,
    invite_by_mail,
    mailed_secret,
    present_invitation,
    renew_invitation,
    revoke_invitation,
    withdraw_mailed,
)
from citeboard.teams.membership import (
    MAX_NAME,
    MembershipRefused,
    describe_team,
    found_team,
    hand_over,
    leave_team,
)
from citeboard.teams.models import Team, User


class TeamForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=MAX_NAME,
        help_text=gettext_lazy("Public: boards show it."),
        error_messages={"required": gettext_lazy("Give the team a name.")},
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


@require_POST
@login_required
def renew(request: HttpRequest, slug: str) -> HttpResponse:
    team = team_for_lead(request.user, slug)
    had_one = present_invitation(team) is not None
    renew_invitation(team=team, by=_person(request))
    if had_one:
        words = _("The team has a new invitation link; the one before does not work any more.")
    else:
        words = _(
            "The team has an invitation link now: copy it from below and send it to those who shall join."
        )
    messages.success(request, words)
    return _back(team)


@require_POST
@login_required
def revoke(request: HttpRequest, slug: str) -> HttpResponse:
    team = team_for_lead(request.user, slug)
    revoke_invitation(team=team, by=_person(request))
    messages.success(request, _("The invitation link does not work any more."))
    return _back(team)


@require_POST
@login_required
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    team = team_for_lead(request.user, slug)
    address = request.POST.get("address", "")
    try:
        invited = invite_by_mail(team=team, address=address, by=_person(request))
    except InvitationRefused as refused:
        messages.error(request, sentence(refused))
    except ValidationError:
        messages.error(request, _("“%(text)s” is not an e-mail address.") % {"text": address[:80]})
    else:
        words = _("%(address)s will be sent an invitation.") % {"address": invited.address}
        messages.success(request, words)
    return _back(team)


@require_POST
@login_required
def withdraw(request: HttpRequest, slug: str, invited: int) -> HttpResponse:
    team = team_for_lead(request.user, slug)
    invitation = mailed_invitation_of(team, invited)
    withdraw_mailed(invitation=invitation, by=_person(request))
    words = _("The invitation of %(address)s does not work any more.") % {"address": invitation.address}
    messages.success(request, words)
    return _back(team)


@require_POST
@login_required
def lead(request: HttpRequest, slug: str, member: int) -> HttpResponse:
    team = team_for_lead(request.user, slug)
    new = member_of(team, member)
    try:
        hand_over(team=team, to=new, by=_person(request))
    except MembershipRefused as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(request, _("%(person)s leads %(team)s now.") % {"person": new, "team": team})
    return _back(team)


@require_POST
@login_required
def leave(request: HttpRequest, slug: str) -> HttpResponse:
    team = team_for_member(request.user, slug)
    try:
        leave_team(team=team, user=_person(request))
    except MembershipRefused as refused:
        messages.error(request, sentence(refused))
        return _back(team)
    messages.success(request, _("You are not in %(team)s any more.") % {"team": team})
    return redirect("teams")


@require_POST
@login_required
def describe(request: HttpRequest, slug: str) -> HttpResponse:
    team = team_for_member(request.user, slug)
    said = request.POST
    try:
        describe_team(
            team=team,
            description=said.get("description", ""),
            links=said.get("links", "").splitlines(),
            by=_person(request),
        )
    except ValidationError as faults:
        messages.error(request, " ".join(sentence(fault) for fault in faults.messages))
    else:
        messages.success(request, _("What the team says of itself is saved."))
    return redirect(f"{reverse('team', args=[team.slug])}#public")


def _back(team: Team) -> HttpResponse:
    return redirect(f"{reverse('team', args=[team.slug])}#members")


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
