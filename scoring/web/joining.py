"""Entering a season, joining, leaving and merging teams: asked, answered, invited, taken back."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from citeboard.core.plain_text import one_line, plain_paragraphs
from citeboard.core.refusals import Refused
from citeboard.core.words import counted, sentence
from citeboard.teams.access import first_or_absent, members_in_order, team_for_member, teams_of
from citeboard.teams.invitations import (
    InvitationNotValid,
    decline_mailed,
    invitations_for,
    mailed_invitation_for,
    mailed_secret,
    present_invitation,
)
from citeboard.teams.membership import found_team
from citeboard.teams.models import MailedInvitation, Team, User
from scoring.acts import seasons as acts
from scoring.acts import teams as team_acts
from scoring.ops.merging import accept_merge, drop_proposal
from scoring.web.pages import (
    Answer,
    Pages,
    SignedInRequest,
    does,
    entering,
    leads,
    members,
    refusals_at,
    signed_in,
)
from tasks.models import MergeProposal, Registration, Season
from tasks.registration.entries import MAX_MESSAGE, TermsFirst, any_invitation, join_team
from tasks.seasons.access import teams_to_ask


@entering.act("season season")
def enter(request: SignedInRequest, season: Season) -> Answer:
    team = one_line(request.POST.get("team", ""))
    message = plain_paragraphs(request.POST.get("message", ""))[:MAX_MESSAGE]
    try:
        entry = acts.ENTER(season, request.user, team=team, message=message)
    except TermsFirst as refused:
        messages.warning(request, sentence(refused))
        return redirect("terms", season.slug)
    return acts.ENTER.told(season, entry, {})


@entering.act("season season")
def withdraw_entry(request: SignedInRequest, season: Season) -> Answer:
    """Leave a season again, before the team has sent a run."""
    team = team_for_member(request.user, request.POST.get("team", ""))
    entries = Registration.objects.filter(season=season, team=team)
    registration = first_or_absent(entries, _("The team takes no part in this season."))
    taken_back = acts.TAKE_BACK_ENTRY(registration, request.user)
    return acts.TAKE_BACK_ENTRY.told(registration, taken_back, {})


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


ask = does(acts.ASK_TO_JOIN, "season season#take-part")
withdraw_request = does(
    team_acts.TAKE_BACK_REQUEST, "season season.slug#take-part", Pages(team_acts.request_of, "asked")
)
remove_member, lead, answer_request, withdraw, revoke = (
    does(act, "team slug#members")
    for act in (
        team_acts.REMOVE_MEMBER,
        team_acts.HAND_OVER,
        team_acts.ANSWER_REQUEST,
        team_acts.WITHDRAW_INVITATION,
        team_acts.END_INVITATION,
    )
)
describe = does(team_acts.DESCRIBE_TEAM, "team slug#public")
propose = does(team_acts.PROPOSE_MERGE, "team slug#merge")


@signed_in.form("teams/teams.html")
def teams(request: HttpRequest, user: User) -> Answer:
    form = team_acts.TeamForm(request.POST or None)
    with refusals_at(form, "name"):
        if form.is_valid():
            return redirect("team", found_team(name=form.cleaned_data["name"], founder=user).slug)
    invitations = [(invitation, mailed_secret(invitation)) for invitation in invitations_for(user)]
    own_teams = teams_of(user).prefetch_related(Prefetch("memberships", members_in_order()))
    return {"form": form, "teams": own_teams, "invitations": invitations}


@leads.act("team slug#members")
def renew(request: SignedInRequest, team: Team) -> Answer:
    had_one = present_invitation(team) is not None
    team_acts.RENEW_INVITATION(team, request.user)
    if had_one:
        return _("The team has a new invitation link; the one before does not work any more.")
    return _("The team has an invitation link now: copy it from below and send it to those who shall join.")


@leads.act("team slug#members")
def invite(request: SignedInRequest, team: Team) -> Answer:
    address = request.POST.get("address", "")
    try:
        invited = team_acts.INVITE(team, request.user, address=address)
    except ValidationError as refused:
        words = _("“%(text)s” is not an e-mail address.") % {"text": address[:80]}
        raise Refused(words) from refused
    return team_acts.INVITE.told(team, invited, {})


@members.act("team slug#members")
def leave(request: SignedInRequest, team: Team) -> Answer:
    team_acts.LEAVE(team, request.user)
    messages.success(request, team_acts.LEAVE.told(team, None, {}))
    return redirect("teams")


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
def answer_proposal(request: SignedInRequest, team: Team, proposal: MergeProposal) -> Answer:
    """The lead of the team that stays accepts or declines; the lead of the other may withdraw."""
    decision = request.POST.get("decision")
    if decision == "accept" and proposal.into_id == team.pk:
        runs = counted(accept_merge(proposal=proposal, by=request.user), "run")
        words = _("%(gone)s is part of %(team)s now, with %(runs)s.")
        return words % {"gone": proposal.team, "team": team, "runs": runs}
    if decision == "drop":
        drop_proposal(proposal=proposal, by=request.user)
        return _("%(team)s and %(into)s stay two teams.") % {"team": proposal.team, "into": proposal.into}
    raise Refused(_("Say whether to accept or to decline."))
