"""What a team's page shows of who is in it."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse

from citeboard.core.audit import history
from citeboard.core.models import AuditEntry
from citeboard.teams.access import members_in_order
from citeboard.teams.invitations import present_invitation, secret_of
from citeboard.teams.models import Invitation, MailedInvitation, Membership, Team

NEWEST = 20


@dataclass(frozen=True, kw_only=True)
class People:
    """The lead, then the members by when they joined; ``link`` is the whole address of the invitation.

    ``invited`` are those by e-mail, the newest first; the lead alone sees link and addresses.
    """

    memberships: list[Membership]
    is_lead: bool
    invitation: Invitation | None
    link: str
    invited: list[MailedInvitation]
    history: list[AuditEntry]

    @property
    def others(self) -> list[Membership]:
        return [membership for membership in self.memberships if membership.role != Membership.Role.LEAD]


def people_of(team: Team, request: HttpRequest) -> People:
    memberships = list(members_in_order().filter(team=team))
    sets_status = [
        membership.user_id for membership in memberships if membership.role == Membership.Role.LEAD
    ]
    is_lead = request.user.pk in sets_status
    invitation = present_invitation(team) if is_lead else None
    link = ""
    if invitation:
        link = request.build_absolute_uri(reverse("join", args=[secret_of(invitation)]))
    return People(
        memberships=memberships,
        is_lead=is_lead,
        invitation=invitation,
        link=link,
        invited=list(MailedInvitation.objects.filter(team=team)) if is_lead else [],
        history=list(history(team)[:NEWEST]),
    )
