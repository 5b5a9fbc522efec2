"""Members of teams and invitations.

A team has one invitation link at a time, which the lead can renew. The lead can also
invite people by e-mail.
"""

import datetime as dt
import hashlib
import secrets
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.signing import BadSignature, Signer
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, QuerySet
from django.db.models.functions import Lower
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.text import slugify
from django.utils.translation import gettext, gettext as _

from citeboard.core import audit
from citeboard.core.actions import INVITED_ACTOR_NAME
from citeboard.core.audit import history_of_place
from citeboard.core.instants import format_day
from citeboard.core.lookalikes import skeleton
from citeboard.core.models import AuditEntry
from citeboard.core.plain_text import clean_description, clean_links
from citeboard.core.refusals import Refused
from citeboard.core.words import count_with_noun
from citeboard.teams.access import memberships_by_role_and_time
from citeboard.teams.models import Invitation, MailedInvitation, Membership, Team, User

LINK_LIFETIME = dt.timedelta(days=30)
_LINK_SIGNER = Signer(salt="citeboard.teams.invitation", sep=".")
Sent = TypeVar("Sent", Invitation, MailedInvitation)


class InvitationNotValid(Refused):
    def __init__(self) -> None:
        super().__init__(
            gettext(
                "this invitation no longer works; ask the team's lead for the current link"
            )
        )


def renew_invitation(*, team: Team, by: User) -> Invitation:
    with transaction.atomic():
        invitation, is_new = Invitation.objects.update_or_create(
            team=team, defaults=_new_invitation_fields(by)
        )
        key = "invitation-renewed/first" if is_new else "invitation-renewed"
        audit.record(key, actor=by, subject=team, place=team)
    return invitation


def _new_invitation_fields(by: User) -> dict[str, Any]:
    now = timezone.now()
    return {
        "nonce": secrets.token_hex(12),
        "created_by": by,
        "created_at": now,
        "expires_at": now + LINK_LIFETIME,
    }


def revoke_invitation(*, team: Team, by: User) -> None:
    with transaction.atomic():
        deleted, _ = Invitation.objects.filter(team=team).delete()
        if deleted:
            audit.record("invitation-revoked", actor=by, subject=team, place=team)


def secret_of(invitation: Invitation) -> str:
    return _LINK_SIGNER.sign(invitation.nonce)


def valid_invitation(team: Team) -> Invitation | None:
    return Invitation.objects.filter(team=team, expires_at__gt=timezone.now()).first()


def invitation_for(secret: str) -> Invitation:
    return _find_invitation(Invitation.objects.all(), _LINK_SIGNER, secret)


def _find_invitation(standing: QuerySet[Sent], signer: Signer, secret: str) -> Sent:
    try:
        nonce = signer.unsign(secret)
    except BadSignature as forged:
        raise InvitationNotValid from forged
    valid = standing.select_related("team", "created_by").filter(
        expires_at__gt=timezone.now()
    )
    if (invitation := valid.filter(nonce=nonce).first()) is None:
        raise InvitationNotValid
    return invitation


#: A team has at most MAX_WAITING open invitations by e-mail.
#: MAX_WAITING protects people who did not request an invitation by e-mail.
#: A user sends at most MAX_A_DAY invitations by e-mail within a day.
MAX_WAITING, MAX_A_DAY = 30, 50
DAY = dt.timedelta(days=1)
MAX_ADDRESS_LENGTH = 254
#: Ended invitations stay for EXPIRED_INVITATION_KEPT, so that people who declined get no new e-mail.
EXPIRED_INVITATION_KEPT = dt.timedelta(days=30)

#: QUEUE and UNQUEUE name functions of `tasks.jobs` that create and delete e-mail jobs.
#: A direct import of these functions of `tasks.jobs` would be circular.
QUEUE, UNQUEUE = (
    "tasks.jobs.mails.queue_invitation",
    "tasks.jobs.mails.unqueue_invitations",
)

_MAIL_SIGNER = Signer(salt="citeboard.teams.mailed-invitation", sep=".")
State = MailedInvitation.State


def invite_by_mail(*, team: Team, address: str, by: User) -> MailedInvitation:
    address = address.strip().lower()
    validate_email(address)
    if len(address) > MAX_ADDRESS_LENGTH:
        raise ValidationError(
            gettext("an address has at most %(most)s characters")
            % {"most": MAX_ADDRESS_LENGTH}
        )
    now = timezone.now()
    with transaction.atomic():
        Team.objects.select_for_update().get(pk=team.pk)
        # The user's row is locked, so that a user's invitations run one at a time.
        User.objects.select_for_update().get(pk=by.pk)
        mailed_invitation = MailedInvitation.objects.filter(
            team=team, address=address
        ).first()
        if mailed_invitation is not None and mailed_invitation.state == State.DECLINED:
            raise Refused(
                gettext(
                    "this address has declined an invitation; send its owner the link instead"
                )
            )
        if mailed_invitation is not None and mailed_invitation.created_at > now - DAY:
            raise Refused(
                gettext("this address was sent an invitation less than a day ago")
            )
        others = MailedInvitation.objects.filter(
            team=team, state=State.WAITING, expires_at__gt=now
        )
        if others.exclude(address=address).count() >= MAX_WAITING:
            waiting = count_with_noun(MAX_WAITING, "invitation")
            message = gettext(
                "%(invitations)s of %(team)s wait for an answer; withdraw one first"
            )
            raise Refused(message % {"invitations": waiting, "team": team})
        # The history also contains invitations that were accepted and deleted.
        sent = AuditEntry.objects.filter(
            actor=by, action="invitation-mailed", at__gt=now - DAY
        )
        if sent.count() >= MAX_A_DAY:
            message = gettext(
                "you have sent %(invitations)s within a day; go on tomorrow"
            )
            raise Refused(
                message % {"invitations": count_with_noun(MAX_A_DAY, "invitation")}
            )
        import_string(UNQUEUE)([mailed_invitation and mailed_invitation.job])
        defaults = {
            **_new_invitation_fields(by),
            "state": State.WAITING,
            "job": import_string(QUEUE)(),
        }
        made, _ = MailedInvitation.objects.update_or_create(
            team=team, address=address, defaults=defaults
        )
        # The invited address is private, and its owner may not know of the invitation.
        audit.record("invitation-mailed", actor=by, subject=made, place=team)
    return made


def withdraw_mailed(*, invitation: MailedInvitation, by: User) -> None:
    _end_invitation(invitation, State.WITHDRAWN, by)


def decline_mailed_invitation(*, invitation: MailedInvitation) -> None:
    """Decline an invitation that was sent by e-mail. The team does not learn which
    person declined the invitation.
    """
    _end_invitation(invitation, State.DECLINED, None)


def mailed_invitation_for(secret: str) -> MailedInvitation:
    return _find_invitation(
        MailedInvitation.objects.filter(state=State.WAITING), _MAIL_SIGNER, secret
    )


def secret_of_mailed_invitation(invitation: MailedInvitation) -> str:
    return _MAIL_SIGNER.sign(invitation.nonce)


def waiting_invitations_for(user: User) -> QuerySet[MailedInvitation]:
    confirmed = EmailAddress.objects.filter(user=user, verified=True).annotate(
        lower=Lower("email")
    )
    waiting = MailedInvitation.objects.filter(
        state=State.WAITING, expires_at__gt=timezone.now()
    )
    return waiting.filter(address__in=confirmed.values("lower")).select_related(
        "team", "created_by"
    )


def build_invitation_mail(invitation: MailedInvitation) -> EmailMessage:
    team, host = invitation.team, invitation.created_by
    title = gettext("You are invited to the team %(team)s") % {"team": team}
    if host:
        title = gettext("%(host)s invites you to the team %(team)s") % {
            "host": host,
            "team": team,
        }
    link, report = (
        reverse("join", args=[secret_of_mailed_invitation(invitation)]),
        reverse("report"),
    )
    facts = {
        "link": f"{settings.BASE_URL}{link}",
        "report": f"{settings.BASE_URL}{report}",
    }
    body = gettext(
        "%(title)s.\n\nTeams take part in shared tasks together: their members see each other's names and "
        "all runs of the team, and may send runs.\n\nAccept or decline until %(date)s (UTC):\n%(link)s\n\n"
        "If you expect no invitation, decline it, or leave it: it ends by itself. Whoever abuses invitations "
        "can be reported: %(report)s\n"
    ) % {**facts, "title": title, "date": format_day(invitation.expires_at)}
    return EmailMessage(
        # Users choose the names in the subject, which must not contain line breaks.
        subject=f"[Citeboard] {' '.join(title.split())}",
        body=body,
        to=[invitation.address],
        headers={"Auto-Submitted": "auto-generated"},
    )


def delete_expired_invitations() -> int:
    deleted, _ = MailedInvitation.objects.filter(
        expires_at__lt=timezone.now() - EXPIRED_INVITATION_KEPT
    ).delete()
    return deleted


def _end_invitation(
    invitation: MailedInvitation, state: State, by: User | None
) -> None:
    with transaction.atomic():
        team = Team.objects.select_for_update().get(pk=invitation.team_id)
        if MailedInvitation.objects.filter(
            pk=invitation.pk, state=State.WAITING
        ).update(state=state):
            import_string(UNQUEUE)([invitation.job])
            called = INVITED_ACTOR_NAME if by is None else ""
            audit.record(
                f"invitation-{state.value}",
                actor=by,
                called=called,
                subject=invitation,
                place=team,
            )


Role = Membership.Role


class MembershipRefused(Refused):
    """An action is refused, because it would leave a team in an invalid state.

    The message of the exception names a remedy.
    """


def add_member(*, team: Team, user: User) -> Membership:
    with transaction.atomic():
        membership, is_new = Membership.objects.get_or_create(
            team=locked(team), user=user
        )
        if is_new:
            audit.record("member-joined", actor=user, subject=user, place=team)
    return membership


def leave_team(*, team: Team, user: User) -> None:
    """Let a user leave a team.

    Raises MembershipRefused for a lead if the team has other members, and for the last
    member if the team took part in a season.
    """
    with transaction.atomic():
        membership = _membership_or_refuse(locked(team), user)
        if not Membership.objects.filter(team=team).exclude(pk=membership.pk).exists():
            try:
                team.delete()
            except ProtectedError as kept:
                message = _(
                    "you are the last of %(team)s, which takes part in a season; invite somebody and hand "
                    "the lead over, or take its entry back first"
                )
                raise MembershipRefused(message % {"team": team}) from kept
            return
        if membership.role == Role.LEAD:
            raise MembershipRefused(
                _("hand the lead over to another member before you leave")
            )
        membership.delete()
        audit.record("member-left", actor=user, subject=user, place=team)


def remove_member(*, team: Team, user: User, by: User) -> None:
    with transaction.atomic():
        membership = _membership_or_refuse(locked(team), user)
        if membership.role == Role.LEAD:
            raise MembershipRefused(
                _("the lead cannot be removed; the lead is handed over first")
            )
        membership.delete()
        audit.record(
            "member-removed", actor=by, subject=user, place=team, facts={"person": user}
        )
        revoke_invitation(team=team, by=by)
        addresses = EmailAddress.objects.filter(user=user).values_list(
            "email", flat=True
        )
        mailed = MailedInvitation.objects.filter(team=team, state=State.WAITING)
        mailed = mailed.filter(address__in=[address.lower() for address in addresses])
        import_string(UNQUEUE)(list(mailed.values_list("job", flat=True)))
        mailed.update(state=State.WITHDRAWN)


def hand_lead_over(*, team: Team, to: User, by: User) -> None:
    with transaction.atomic():
        new = _membership_or_refuse(locked(team), to)
        if new.role == Role.LEAD:
            return
        # A database constraint allows only one lead of a team at any time.
        Membership.objects.filter(team=team, role=Role.LEAD).update(role=Role.MEMBER)
        Membership.objects.filter(pk=new.pk).update(role=Role.LEAD)
        audit.record(
            "lead-handed-over", actor=by, subject=to, place=team, facts={"person": to}
        )


def locked(team: Team) -> Team:
    return Team.objects.select_for_update().get(pk=team.pk)


def _membership_or_refuse(team: Team, user: User) -> Membership:
    if (membership := Membership.objects.filter(team=team, user=user).first()) is None:
        raise MembershipRefused(
            _("%(person)s is not in %(team)s any more") % {"person": user, "team": team}
        )
    return membership


MAX_TEAM_NAME_LENGTH = 80
#: The digest in the slug of a team has DIGEST_LENGTH characters.
DIGEST_LENGTH = 8


def found_team(*, name: str, founder: User) -> Team:
    with transaction.atomic():
        team = create_team(name)
        Membership.objects.create(team=team, user=founder, role=Role.LEAD)
    return team


def create_team(name: str) -> Team:
    """Return a new team without members.

    Raises ValidationError if the name of the team is taken or invalid.
    """
    name = "".join(
        " " if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character
        for character in unicodedata.normalize("NFC", name)
    )
    name = " ".join(name.split())
    if not any(map(str.isalnum, name)):
        raise ValidationError({"name": _("a name has at least one letter or digit")})
    slug = team_slug(name)
    if len(name) > MAX_TEAM_NAME_LENGTH:
        message = _("the name has %(length)s characters; at most %(most)s are allowed")
        raise ValidationError(
            {"name": message % {"length": len(name), "most": MAX_TEAM_NAME_LENGTH}}
        )
    validation_error = ValidationError(
        {"name": _("another team has this name, or one very much like it")}
    )
    if Team.objects.filter(name_skeleton=skeleton(name)).exists():
        raise validation_error
    try:
        with transaction.atomic():
            return Team.objects.create(name=name, slug=slug)
    except IntegrityError:
        raise validation_error from None


def team_slug(name: str) -> str:
    """Return the slug of a team name.

    If the name contains letters of other scripts than Latin, the slug contains a
    digest.
    """
    readable = slugify(name)[: MAX_TEAM_NAME_LENGTH - DIGEST_LENGTH - 1]
    is_latin = all(
        unicodedata.name(sign, "").startswith("LATIN")
        for sign in name
        if sign.isalpha()
    )
    if readable and is_latin:
        return slugify(name)[:MAX_TEAM_NAME_LENGTH]
    digest = hashlib.sha256(name.encode()).hexdigest()[:DIGEST_LENGTH]
    return f"{readable or 'team'}-{digest}"


def describe_team(
    *, team: Team, description: str, links: Iterable[str], by: User
) -> Team:
    wanted = {
        "description": clean_description(description),
        "links": clean_links(links),
    }
    with transaction.atomic():
        found = locked(team)
        if changes := audit.set_fields(found, wanted):
            audit.record(
                "team-described", actor=by, subject=found, place=found, changes=changes
            )
    team.refresh_from_db()
    return team


MAX_HISTORY_ENTRIES_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class TeamPeople:
    """The members of a team, beginning with the lead, in the order of joining.

    ``link`` is the URL by which people can join the team.
    """

    memberships: list[Membership]
    is_lead: bool
    invitation: Invitation | None
    link: str
    invited: list[MailedInvitation]
    history: list[AuditEntry]

    @property
    def others(self) -> list[Membership]:
        return [
            membership
            for membership in self.memberships
            if membership.role != Role.LEAD
        ]


def team_people(team: Team, request: HttpRequest) -> TeamPeople:
    memberships = list(memberships_by_role_and_time().filter(team=team))
    is_lead = any(
        row.role == Role.LEAD and row.user_id == request.user.pk for row in memberships
    )
    invitation = valid_invitation(team) if is_lead else None
    path = reverse("join", args=[secret_of(invitation)]) if invitation else ""
    return TeamPeople(
        memberships=memberships,
        is_lead=is_lead,
        invitation=invitation,
        link=path and request.build_absolute_uri(path),
        invited=list(MailedInvitation.objects.filter(team=team)) if is_lead else [],
        history=list(history_of_place(team)[:MAX_HISTORY_ENTRIES_SHOWN]),
    )
