"""Following a team's invitation, and taking back a team's entry."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from citeboard.core.words import sentence
from citeboard.teams.access import member_of, team_for_lead, team_for_member, teams_of
from citeboard.teams.invitations import InvitationNotValid
from citeboard.teams.membership import MembershipRefused
from citeboard.teams.models import Invitation, MailedInvitation, User
from tasks.models import Registration
from tasks.registration.entries import (
    EntryRefused,
    HasSentRuns,
    any_invitation,
    join_team,
    remove_from_team,
    take_back_entry,
)
from tasks.seasons.access import season_for


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """The invitation, told to whoever has the link; taken with a second step, by those who are signed in."""
    try:
        invitation = any_invitation(secret)
    except InvitationNotValid as ended:
        return render(request, "seasons/join.html", {"ended": sentence(ended)}, status=404)
    if request.method == "POST" and isinstance(request.user, User):
        return _joined(request, invitation, request.user)
    context = {
        "team": invitation.team,
        "invitation": invitation,
        "members": invitation.team.members.count(),
        "secret": secret if isinstance(invitation, MailedInvitation) else "",
        "is_member": teams_of(request.user).filter(pk=invitation.team_id).exists(),
    }
    return render(request, "seasons/join.html", context)


@require_POST
@login_required
def remove(request: HttpRequest, slug: str, member: int) -> HttpResponse:
    """Take a member out of a team that one leads."""
    assert isinstance(request.user, User)
    team = team_for_lead(request.user, slug)
    gone = member_of(team, member)
    try:
        remove_from_team(team=team, user=gone, by=request.user)
    except (EntryRefused, MembershipRefused) as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request,
            _("%(person)s is not in %(team)s any more, and the invitation link has ended.")
            % {"person": gone, "team": team},
        )
    return redirect(f"{reverse('team', args=[team.slug])}#members")


@require_POST
@login_required
def take_back(request: HttpRequest, season: str) -> HttpResponse:
    """Leave a season again, before the team has sent a run."""
    assert isinstance(request.user, User)
    found = season_for(request.user, season)
    team = team_for_member(request.user, request.POST.get("team", ""))
    registration = Registration.objects.filter(season=found, team=team).first()
    if registration is None:
        raise Http404(_("The team takes no part in this season."))
    try:
        take_back_entry(registration=registration, by=request.user)
    except HasSentRuns as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request,
            _("%(team)s does not take part in %(season)s any more.") % {"team": team, "season": found},
        )
    return redirect("season", found.slug)


def _joined(request: HttpRequest, invitation: Invitation | MailedInvitation, user: User) -> HttpResponse:
    team = invitation.team
    try:
        join_team(invitation=invitation, user=user)
    except (EntryRefused, InvitationNotValid) as refused:
        context = {"ended": sentence(refused)}
        return render(request, "seasons/join.html", context, status=409)
    messages.success(request, _("You are in %(team)s now.") % {"team": team})
    return redirect("team", team.slug)
