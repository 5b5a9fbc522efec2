"""Entering a season, joining, leaving and merging teams: asked, answered, invited, taken back."""

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from citeboard.core.plain_text import one_line, plain_paragraphs
from citeboard.core.refusals import Refused
from citeboard.core.words import counted, sentence
from citeboard.teams.access import member_of, team_for_member, teams_of
from citeboard.teams.invitations import InvitationNotValid, decline_mailed, mailed_invitation_for
from citeboard.teams.models import MailedInvitation, Team, User
from scoring.ops.merging import accept_merge, drop_proposal, propose_merge
from scoring.web.pages import Answer, Pages, SignedInRequest, entering, leads, members
from tasks.models import JoinRequest, MergeProposal, Registration, Season
from tasks.registration.entries import (
    MAX_MESSAGE,
    MAX_REQUEST,
    TermsFirst,
    accept_request,
    any_invitation,
    ask_to_join,
    decline_request,
    join_team,
    register_team,
    remove_from_team,
    requests_of,
    take_back_entry,
    take_back_request,
)
from tasks.seasons.access import join_request_of, merge_proposal_of, season_for, teams_to_ask


@entering.act("season season")
def enter(request: SignedInRequest, season: Season) -> Answer:
    team = team_for_member(request.user, one_line(request.POST.get("team", "")))
    message = plain_paragraphs(request.POST.get("message", ""))[:MAX_MESSAGE]
    try:
        registration = register_team(season=season, team=team, by=request.user, message=message)
    except TermsFirst as refused:
        messages.warning(request, sentence(refused))
        return redirect("terms", season.slug)
    words = (
        _("%(team)s takes part in %(season)s.")
        if registration.is_approved
        else _("%(team)s takes part in %(season)s; an organiser has yet to approve it.")
    )
    return words % {"team": team, "season": season}


@entering.act("season season")
def withdraw_entry(request: SignedInRequest, season: Season) -> Answer:
    """Leave a season again, before the team has sent a run."""
    team = team_for_member(request.user, request.POST.get("team", ""))
    registration = Registration.objects.filter(season=season, team=team).first()
    if registration is None:
        raise Http404(_("The team takes no part in this season."))
    take_back_entry(registration=registration, by=request.user)
    return _("%(team)s does not take part in %(season)s any more.") % {"team": team, "season": season}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponseBase:
    """The invitation, told to whoever has the link; taken with a second step, by those who are signed in."""
    try:
        invitation = any_invitation(secret)
    except InvitationNotValid as ended:
        return render(request, "seasons/join.html", {"ended": sentence(ended)}, status=404)
    team = invitation.team
    if request.method == "POST" and isinstance(request.user, User):
        try:
            join_team(invitation=invitation, user=request.user)
        except Refused as refused:
            return render(request, "seasons/join.html", {"ended": sentence(refused)}, status=409)
        messages.success(request, _("You are in %(team)s now.") % {"team": team})
        return redirect("team", team.slug)
    context = {
        "team": team,
        "invitation": invitation,
        "members": team.members.count(),
        "secret": secret if isinstance(invitation, MailedInvitation) else "",
        "is_member": teams_of(request.user).filter(pk=team.pk).exists(),
    }
    return render(request, "seasons/join.html", context)


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


@leads.act("team slug#members")
def remove_member(request: SignedInRequest, team: Team, member: int) -> Answer:
    removed = member_of(team, member)
    remove_from_team(team=team, user=removed, by=request.user)
    words = _("%(person)s is not in %(team)s any more, and the invitation link has ended.")
    return words % {"person": removed, "team": team}


@entering.act("season season#take-part")
def ask(request: SignedInRequest, season: Season) -> Answer:
    slug = one_line(request.POST.get("team", ""))
    team = get_object_or_404(teams_to_ask(request.user, season), slug=slug)
    message = request.POST.get("message", "")[:MAX_REQUEST]
    ask_to_join(season=season, team=team, user=request.user, message=message)
    return _("You have asked to join %(team)s; its members are told.") % {"team": team}


asked_by_viewer = Pages(lambda user, asked: get_object_or_404(requests_of(user), pk=asked), "asked")


@asked_by_viewer.act("season season.slug#take-part")
def withdraw_request(request: HttpRequest, asked: JoinRequest) -> Answer:
    take_back_request(asked=asked)
    return _("You do not ask to join %(team)s any more.") % {"team": asked.team}


@members.act("team slug#members")
def answer_request(request: SignedInRequest, team: Team, asked: int) -> Answer:
    """Any member of the team accepts or declines."""
    wanted = join_request_of(team, asked)
    decision = request.POST.get("decision")
    words = {"person": wanted.user, "team": team}
    if decision == "accept":
        accept_request(asked=wanted, by=request.user)
        return _("%(person)s is in %(team)s now.") % words
    if decision == "decline":
        decline_request(asked=wanted, by=request.user)
        return _("%(person)s is told that %(team)s has declined.") % words
    raise Refused(_("Say whether to accept or to decline."))


def merging_of(team: Team, user: object) -> list[dict[str, Any]]:
    """By season in which a team may merge: what is asked of it and by it, and whom its lead could ask."""
    seasons = Season.objects.filter(
        registrations__team=team, registrations__is_approved=True, merge_until__gt=timezone.now()
    )
    lines = []
    for season in seasons:
        proposals = MergeProposal.objects.filter(season=season).select_related("team", "into")
        others: QuerySet[Team] = teams_to_ask(user, season).filter(registrations__is_approved=True)
        lines.append(
            {
                "season": season,
                "asked": list(proposals.filter(into=team)),
                "own": proposals.filter(team=team).first(),
                "others": others.exclude(pk=team.pk).distinct().order_by("name"),
            }
        )
    return lines


@leads.act("team slug#merge")
def propose(request: SignedInRequest, team: Team) -> Answer:
    season = season_for(request.user, one_line(request.POST.get("season", "")))
    into = get_object_or_404(teams_to_ask(request.user, season), slug=one_line(request.POST.get("into", "")))
    propose_merge(season=season, team=team, into=into, by=request.user)
    words = _("The lead of %(into)s is asked whether %(team)s may merge into it.")
    return words % {"into": into, "team": team}


@leads.act("team slug#merge")
def answer_proposal(request: SignedInRequest, team: Team, proposal: int) -> Answer:
    """The lead of the team that stays accepts or declines; the lead of the other may withdraw."""
    asked = merge_proposal_of(team, proposal)
    decision = request.POST.get("decision")
    if decision == "accept" and asked.into_id == team.pk:
        runs = counted(accept_merge(proposal=asked, by=request.user), "run")
        words = _("%(gone)s is part of %(team)s now, with %(runs)s.")
        return words % {"gone": asked.team, "team": team, "runs": runs}
    if decision == "drop":
        drop_proposal(proposal=asked, by=request.user)
        return _("%(team)s and %(into)s stay two teams.") % {"team": asked.team, "into": asked.into}
    raise Refused(_("Say whether to accept or to decline."))
