"""Actions that create and describe teams, and change the members of teams."""

from django import forms
from django.core.exceptions import ValidationError
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import (
    ActForm,
    TextLinesField,
    UserAction,
    build_team_lead_action,
    build_team_member_action,
)
from citeboard.core.plain_text import MAX_DESCRIPTION_LENGTH
from citeboard.ops.merging import accept_merge, drop_merge_proposal, propose_merge
from citeboard.teams import membership
from citeboard.teams.models import Membership, Team, User
from tasks.models import JoinRequest, MergeProposal
from tasks.registration import entries
from tasks.seasons.access import (
    get_visible_season_or_404,
    list_teams_user_may_ask_to_join,
)


class TeamForm(ActForm):
    """A team to be founded."""

    name = forms.CharField(
        label=_("Name"),
        max_length=membership.MAX_TEAM_NAME_LENGTH,
        help_text=_("Public: boards show it."),
        error_messages={"required": _("Give the team a name.")},
    )
    api = {"name": "Public: boards show it."}


class TeamDescriptionForm(ActForm):
    """The description and the links of a team. Omitted fields keep their values."""

    mirrors = True
    description = forms.CharField(required=False, max_length=MAX_DESCRIPTION_LENGTH)
    links = TextLinesField(required=False)
    api = {"links": "Addresses, one a line; at most five."}


class InviteForm(ActForm):
    """The person to invite."""

    address = forms.EmailField(max_length=254)


def _hand_over(*, member: Membership, by: User) -> Membership:
    membership.transfer_team_lead(team=member.team, to=member.user, by=by)
    return member


def join_request_or_404(user: object, asked: int) -> JoinRequest:
    return get_object_or_404(entries.list_open_join_requests_of_user(user), pk=asked)


class AnswerToAskerForm(ActForm):
    """A team member's answer to a request to join the team."""

    decision = forms.ChoiceField(choices=[("accept", "accept"), ("decline", "decline")])


def _answer_join_request(*, asked: JoinRequest, decision: str, by: User) -> JoinRequest:
    act = (
        entries.accept_join_request
        if decision == "accept"
        else entries.decline_join_request
    )
    act(asked=asked, by=by)
    return asked


class ProposeForm(ActForm):
    """A proposal to merge a team into another team in a season."""

    season = forms.CharField()
    into = forms.CharField()
    api = {
        "season": "Its slug.",
        "into": "The slug of a team of the season, or what others read for one that goes by a number.",
    }


def _propose_team_merge(
    *, team: Team, season: str, into: str, by: User
) -> MergeProposal:
    merging = get_visible_season_or_404(by, season)
    other = list_teams_user_may_ask_to_join(by, merging).filter(slug=into).first()
    if other is None and not merging.shows_team_names():
        number = into.casefold().removeprefix("team").strip()
        approved = merging.registrations.approved().select_related("team")
        other = next(
            (entry.team for entry in approved if str(entry.alias) == number), None
        )
        if other is None:
            message = gettext(
                "no team of %(season)s goes by “%(number)s”; it is a number, such as Team 17"
            )
            raise entries.TeamEntryRefused(
                message % {"season": merging, "number": into[:80]}
            )
    if other is None:
        raise Http404
    return propose_merge(season=merging, team=team, into=other, by=by)


class AnswerToMergeForm(ActForm):
    """An answer to a proposal to merge two teams. Only the team that stays may accept,
    and either team may drop the proposal.
    """

    decision = forms.ChoiceField(choices=[("accept", "accept"), ("drop", "drop")])

    def clean_decision(self) -> str:
        decision: str = self.cleaned_data["decision"]
        if decision == "accept" and not self.of.is_asked:
            raise ValidationError("The lead of the team that stays accepts.")
        return decision


def _answer_merge_proposal(
    *, proposal: MergeProposal, decision: str, by: User
) -> tuple[MergeProposal, int]:
    if decision == "drop":
        drop_merge_proposal(proposal=proposal, by=by)
        return proposal, 0
    if not proposal.is_asked:
        raise ValidationError(
            {"decision": gettext("The lead of the team that stays accepts.")}
        )
    return proposal, accept_merge(proposal=proposal, by=by)


FOUND_TEAM = UserAction(
    lambda founder, name, by: membership.found_team(name=name, founder=by),
    "Found a team, which you lead.",
    role=lambda user: user,
    form=TeamForm,
    subject="founder",
)
DESCRIBE_TEAM = build_team_member_action(
    membership.describe_team,
    "Change what a team of yours says of itself on its public page.",
    _("The team's description is saved."),
    form=TeamDescriptionForm,
    subject="team",
)
LEAVE_TEAM = build_team_member_action(
    membership.leave_team,
    "Leave a team; one that took part nowhere goes with its last member.",
    _("You are not in %(team)s any more."),
    subject="team",
    actor="user",
)
RENEW_INVITATION_LINK = build_team_lead_action(
    membership.renew_invitation,
    "Make a new invitation link; the one before ends.\n\nFor the team's lead alone.",
    subject="team",
)
REVOKE_INVITATION_LINK = build_team_lead_action(
    membership.revoke_invitation,
    "End the invitation link.\n\nFor the team's lead alone.",
    _("The invitation link does not work any more."),
    subject="team",
)
INVITE_BY_MAIL = build_team_lead_action(
    membership.invite_by_mail,
    "Invite an address by e-mail; for the team's lead.",
    _("%(address)s will be sent an invitation."),
    form=InviteForm,
    subject="team",
)
WITHDRAW_MAILED_INVITATION = build_team_lead_action(
    membership.withdraw_mailed_invitation,
    "End an invitation by e-mail; for the team's lead.",
    _("The invitation of %(address)s does not work any more."),
    subject="invitation",
    row="invited",
)
REMOVE_TEAM_MEMBER = build_team_lead_action(
    lambda member, by: entries.remove_from_team(
        team=member.team, user=member.user, by=by
    ),
    "Take a member out of the team; its invitation link ends too.\n\n"
    "For the team's lead alone; who goes by themselves leaves.",
    _("%(person)s is not in %(team)s any more, and the invitation link has ended."),
    subject="member",
)
HAND_OVER_TEAM_LEAD = build_team_lead_action(
    _hand_over,
    "Let another member lead the team; you stay in it.",
    _("%(person)s leads %(team)s now."),
    subject="member",
)
WITHDRAW_JOIN_REQUEST = UserAction(
    entries.take_back_request,
    "Ask no more to join a team.",
    _("Your request to join %(team)s is withdrawn."),
    role=join_request_or_404,
    subject="asked",
    actor="",
)
ANSWER_JOIN_REQUEST = build_team_member_action(
    _answer_join_request,
    "Accept or decline who asks to join; for members of the team.",
    lambda asked, filled: (
        _("%(person)s is in %(team)s now.")
        if filled["decision"] == "accept"
        else _("%(person)s is told that %(team)s has declined.")
    ),
    form=AnswerToAskerForm,
    refused=_("Say whether to accept or to decline."),
    subject="asked",
)
PROPOSE_TEAM_MERGE = build_team_lead_action(
    _propose_team_merge,
    "Ask the lead of another team of a season to take yours in; for its lead.",
    lambda proposal, filled: (
        _("The lead of %(into)s is asked whether %(team)s may merge into it."),
        proposal.names,
    ),
    form=ProposeForm,
    subject="team",
)
ANSWER_MERGE_PROPOSAL = build_team_lead_action(
    _answer_merge_proposal,
    "Accept that a team merges into yours, or drop it; for its lead.",
    lambda made, filled: (
        (_("%(team)s and %(into)s stay two teams."), made[0].names)
        if filled["decision"] == "drop"
        else (
            _("%(gone)s is part of %(team)s now, with %(runs)s."),
            {"gone": made[0].team, "team": made[0].into},
        )
    ),
    form=AnswerToMergeForm,
    refused=_("Say whether to accept or to decline."),
    subject="proposal",
)
