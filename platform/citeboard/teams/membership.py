"""Who is in a team: joining, leaving, being removed, and who leads it."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from allauth.account.models import EmailAddress
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.http import HttpRequest
from django.urls import reverse
from django.utils.module_loading import import_string
from django.utils.text import slugify
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.audit import history
from citeboard.core.lookalikes import skeleton
from citeboard.core.models import AuditEntry
from citeboard.core.plain_text import checked_description, checked_links
from citeboard.core.refusals import Refused
from citeboard.teams.access import members_in_order
from citeboard.teams.invitations import UNQUEUE, present_invitation, revoke_invitation, secret_of
from citeboard.teams.models import Invitation, MailedInvitation, Membership, Team, User

Role = Membership.Role


class MembershipRefused(Refused):
    """What is asked would leave the team in a state that it cannot be in; the message says what to do."""


def add_member(*, team: Team, user: User) -> Membership:
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
        membership = _membership(locked(team), user)
        if not Membership.objects.filter(team=team).exclude(pk=membership.pk).exists():
            try:
                team.delete()
            except ProtectedError as kept:
                words = _(
                    "you are the last of %(team)s, which takes part in a season; invite somebody and hand "
                    "the lead over, or take its entry back first"
                )
                raise MembershipRefused(words % {"team": team}) from kept
            return
        if membership.role == Role.LEAD:
            raise MembershipRefused(_("hand the lead over to another member before you leave"))
        membership.delete()
        audit.record("member-left", actor=user, subject=user, place=team)


def remove_member(*, team: Team, user: User, by: User) -> None:
    with transaction.atomic():
        membership = _membership(locked(team), user)
        if membership.role == Role.LEAD:
            raise MembershipRefused(_("the lead cannot be removed; the lead is handed over first"))
        membership.delete()
        audit.record("member-removed", actor=by, subject=user, place=team, facts={"person": user})
        revoke_invitation(team=team, by=by)
        addresses = EmailAddress.objects.filter(user=user).values_list("email", flat=True)
        mailed = MailedInvitation.objects.filter(team=team, state=MailedInvitation.State.WAITING)
        mailed = mailed.filter(address__in=[address.lower() for address in addresses])
        import_string(UNQUEUE)(list(mailed.values_list("job", flat=True)))
        mailed.update(state=MailedInvitation.State.WITHDRAWN)


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
    return Team.objects.select_for_update().get(pk=team.pk)


def _membership(team: Team, user: User) -> Membership:
    membership = Membership.objects.filter(team=team, user=user).first()
    if membership is None:
        raise MembershipRefused(_("%(person)s is not in %(team)s any more") % {"person": user, "team": team})
    return membership


MAX_NAME = 80


def found_team(*, name: str, founder: User) -> Team:
    name = "".join(
        " " if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character
        for character in unicodedata.normalize("NFC", name)
    )
    name = " ".join(name.split())
    slug = slugify(name)[:MAX_NAME]
    if not slug:
        raise ValidationError({"name": _("a name has at least one letter or digit from a to z")})
    if len(name) > MAX_NAME:
        words = _("the name has %(length)s characters; at most %(most)s fit")
        raise ValidationError({"name": words % {"length": len(name), "most": MAX_NAME}})
    taken = ValidationError({"name": _("another team has this name, or one very much like it")})
    if Team.objects.filter(name_skeleton=skeleton(name)).exists():
        raise taken
    try:
        with transaction.atomic():
            team = Team.objects.create(name=name, slug=slug)
            Membership.objects.create(team=team, user=founder, role=Membership.Role.LEAD)
    except IntegrityError:
        raise taken from None
    return team


def describe_team(*, team: Team, description: str, links: Iterable[str], by: User) -> Team:
    wanted = {"description": checked_description(description), "links": checked_links(links)}
    with transaction.atomic():
        found = locked(team)
        changes = [
            audit.Change(name, before, value)
            for name, value in wanted.items()
            if (before := getattr(found, name)) != value
        ]
        if changes:
            Team.objects.filter(pk=found.pk).update(**wanted)
            audit.record("team-described", actor=by, subject=found, place=found, changes=changes)
    team.refresh_from_db()
    return team


NEWEST = 20


@dataclass(frozen=True, kw_only=True)
class People:
    """The lead, then the members by when they joined; ``link`` is the whole address of the invitation."""

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
