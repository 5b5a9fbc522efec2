"""Who is in a team: joining, leaving, being removed, and who leads it."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.db import transaction
from django.db.models import ProtectedError
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.invitations import revoke_invitation
from citeboard.teams.models import MailedInvitation, Membership, Team, User

Role = Membership.Role


class MembershipRefused(Refused):
    """What is asked would leave the team in a state that it cannot be in; the message says what to do."""


def add_member(*, team: Team, user: User) -> Membership:
    """The person's place in the team; one who is in it already keeps the place they have."""
    with transaction.atomic():
        membership, is_new = Membership.objects.get_or_create(team=locked(team), user=user)
        if is_new:
            audit.record("member-joined", actor=user, subject=user, place=team)
    return membership


def leave_team(*, team: Team, user: User) -> None:
    """Raises MembershipRefused for a lead with others beside, and for the last of a team that took part.

    A team that took part nowhere goes with its last member.
    """
    with transaction.atomic():
        own = _membership(locked(team), user)
        if not Membership.objects.filter(team=team).exclude(pk=own.pk).exists():
            _dissolve(team)
            return
        if own.role == Role.LEAD:
            raise MembershipRefused(_("hand the lead over to another member before you leave"))
        own.delete()
        audit.record("member-left", actor=user, subject=user, place=team)


def remove_member(*, team: Team, user: User, by: User) -> None:
    """Take somebody out of the team. Its invitation link and those mailed to them end too."""
    with transaction.atomic():
        membership = _membership(locked(team), user)
        if membership.role == Role.LEAD:
            raise MembershipRefused(_("the lead cannot be removed; the lead is handed over first"))
        membership.delete()
        audit.record("member-removed", actor=by, subject=user, place=team, facts={"person": user})
        revoke_invitation(team=team, by=by)
        own = EmailAddress.objects.filter(user=user).values_list("email", flat=True)
        mailed = MailedInvitation.objects.filter(team=team, state=MailedInvitation.State.WAITING)
        mailed.filter(address__in=[address.lower() for address in own]).update(
            state=MailedInvitation.State.WITHDRAWN, mail=MailedInvitation.Mail.NONE, mail_due_at=None
        )


def hand_over(*, team: Team, to: User, by: User) -> None:
    with transaction.atomic():
        new = _membership(locked(team), to)
        if new.role == Role.LEAD:
            return
        # One lead at a time, at every moment: the database holds to it.
        Membership.objects.filter(team=team, role=Role.LEAD).update(role=Role.MEMBER)
        Membership.objects.filter(pk=new.pk).update(role=Role.LEAD)
        audit.record("lead-handed-over", actor=by, subject=to, place=team, facts={"person": to})


def locked(team: Team) -> Team:
    """The team, held until the transaction ends, so that of two changes of its members one waits."""
    return Team.objects.select_for_update().get(pk=team.pk)


def _membership(team: Team, user: User) -> Membership:
    found = Membership.objects.filter(team=team, user=user).first()
    if found is None:
        raise MembershipRefused(_("%(person)s is not in %(team)s any more") % {"person": user, "team": team})
    return found


def _dissolve(team: Team) -> None:
    try:
        team.delete()
    except ProtectedError as kept:
        words = _(
            "you are the last of %(team)s, which takes part in a season; invite somebody and hand the lead "
            "over, or take its entry back first"
        )
        raise MembershipRefused(words % {"team": team}) from kept
