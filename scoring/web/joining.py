"""Asking to join a team, answering who asks, and declining an invitation that came by e-mail."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from citeboard.core.plain_text import one_line
from citeboard.core.words import counted, sentence
from citeboard.teams.access import member_of, team_for_lead, team_for_member, teams_of
from citeboard.teams.invitations import InvitationNotValid
from citeboard.teams.mailed_invitations import decline_mailed, mailed_invitation_for
from citeboard.teams.membership import MembershipRefused
from citeboard.teams.models import Invitation, MailedInvitation, Team, User
from scoring.ops.merging import accept_merge, drop_proposal, propose_merge
from tasks.models import MergeProposal, Registration, Season
from tasks.registration.entries import (
    MAX_MESSAGE,
    EntryRefused,
    HasSentRuns,
    accept_request,
    any_invitation,
    ask_to_join,
    decline_request,
    join_team,
    remove_from_team,
    requests_of,
    take_back_entry,
    take_back_request,
)
from tasks.seasons.access import join_request_of, merge_proposal_of, season_for, teams_to_ask


@never_cache
@require_POST
def decline(request: HttpRequest, secret: str) -> HttpResponse:
    """Whoever has the link of the mail may say no, signed in or not."""
    try:
        invitation = mailed_invitation_for(secret)
    except InvitationNotValid as ended:
        return render(request, "seasons/join.html", {"ended": sentence(ended)}, status=404)
    decline_mailed(invitation=invitation)
    return render(request, "seasons/join.html", {"declined": invitation.team})


@require_POST
@login_required
def ask(request: HttpRequest, season: str) -> HttpResponse:
    user = _person(request)
    found = season_for(user, season)
    team = get_object_or_404(teams_to_ask(user, found), slug=one_line(request.POST.get("team", "")))
    try:
        message = request.POST.get("message", "")[:MAX_MESSAGE]
        ask_to_join(season=found, team=team, user=user, message=message)
    except EntryRefused as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(
            request, _("You have asked to join %(team)s; its members are told.") % {"team": team}
        )
    return redirect(f"{reverse('season', args=[found.slug])}#take-part")


@require_POST
@login_required
def withdraw_request(request: HttpRequest, asked: int) -> HttpResponse:
    found = get_object_or_404(requests_of(request.user), pk=asked)
    try:
        take_back_request(asked=found)
    except EntryRefused as refused:
        messages.error(request, sentence(refused))
    else:
        messages.success(request, _("You do not ask to join %(team)s any more.") % {"team": found.team})
    return redirect(f"{reverse('season', args=[found.season.slug])}#take-part")


@require_POST
@login_required
def answer_request(request: HttpRequest, slug: str, asked: int) -> HttpResponse:
    """Any member of the team accepts or declines."""
    team = team_for_member(request.user, slug)
    found = join_request_of(team, asked)
    try:
        if request.POST.get("decision") == "accept":
            accept_request(asked=found, by=_person(request))
            messages.success(
                request, _("%(person)s is in %(team)s now.") % {"person": found.user, "team": team}
            )
        elif request.POST.get("decision") == "decline":
            decline_request(asked=found, by=_person(request))
            words = _("%(person)s is told that %(team)s has declined.")
            messages.success(request, words % {"person": found.user, "team": team})
        else:
            messages.error(request, _("Say whether to accept or to decline."))
    except EntryRefused as refused:
        messages.error(request, sentence(refused))
    return redirect(f"{reverse('team', args=[team.slug])}#members")


def _person(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


@dataclass(frozen=True)
class Merging:
    """A season in which a team may merge: what is asked of it and by it, and whom it could ask."""

    season: Season
    asked: list[MergeProposal]
    own: MergeProposal | None
    others: QuerySet[Team]


def merging_of(team: Team, user: object) -> list[Merging]:
    """For the team's lead, by season."""
    now = timezone.now()
    seasons = Season.objects.filter(
        registrations__team=team, registrations__is_approved=True, merge_until__gt=now
    )
    found = []
    for season in seasons:
        proposals = MergeProposal.objects.filter(season=season).select_related("team", "into")
        others = teams_to_ask(user, season).filter(registrations__is_approved=True).exclude(pk=team.pk)
        found.append(
            Merging(
                season=season,
                asked=list(proposals.filter(into=team)),
                own=proposals.filter(team=team).first(),
                others=others.distinct().order_by("name"),
            )
        )
    return found


@require_POST
@login_required
def propose(request: HttpRequest, slug: str) -> HttpResponse:
    team = team_for_lead(request.user, slug)
    season = season_for(request.user, one_line(request.POST.get("season", "")))
    into = get_object_or_404(teams_to_ask(request.user, season), slug=one_line(request.POST.get("into", "")))
    try:
        propose_merge(season=season, team=team, into=into, by=_person(request))
    except EntryRefused as refused:
        messages.error(request, sentence(refused))
    else:
        words = _("The lead of %(into)s is asked whether %(team)s may merge into it.")
        messages.success(request, words % {"into": into, "team": team})
    return _back(team)


@require_POST
@login_required
def answer_proposal(request: HttpRequest, slug: str, proposal: int) -> HttpResponse:
    """The lead of the team that stays accepts or declines; the lead of the other may withdraw."""
    team = team_for_lead(request.user, slug)
    found = merge_proposal_of(team, proposal)
    decision = request.POST.get("decision")
    try:
        if decision == "accept" and found.into_id == team.pk:
            moved = accept_merge(proposal=found, by=_person(request))
            words = _("%(gone)s is part of %(team)s now, with %(runs)s.")
            facts = {"gone": found.team, "team": team, "runs": counted(moved, "run")}
            messages.success(request, words % facts)
        elif decision == "drop":
            drop_proposal(proposal=found, by=_person(request))
            words = _("%(team)s and %(into)s stay two teams.")
            messages.success(request, words % {"team": found.team, "into": found.into})
        else:
            messages.error(request, _("Say whether to accept or to decline."))
    except EntryRefused as refused:
        messages.error(request, sentence(refused))
    return _back(team)


def _back(team: Team) -> HttpResponse:
    return redirect(f"{reverse('team', args=[team.slug])}#merge")


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
def remove_member(request: HttpRequest, slug: str, member: int) -> HttpResponse:
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
def withdraw_entry(request: HttpRequest, season: str) -> HttpResponse:
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
