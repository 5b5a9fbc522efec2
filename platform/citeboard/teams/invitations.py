"""A team's invitation: one link at a time, which its lead renews or revokes."""

import datetime as dt
import secrets

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.signing import BadSignature, Signer
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.urls import reverse
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext

from citeboard.core import audit
from citeboard.core.actions import INVITED
from citeboard.core.models import AuditEntry
from citeboard.core.refusals import Refused
from citeboard.core.words import counted
from citeboard.teams.models import Invitation, MailedInvitation, Team, User

LASTS = dt.timedelta(days=30)
_SIGNER = Signer(salt="citeboard.teams.invitation", sep=".")


class InvitationNotValid(Refused):
    def __init__(self) -> None:
        super().__init__(gettext("this invitation no longer works; ask the team's lead for the current link"))


def renew_invitation(*, team: Team, by: User) -> Invitation:
    now = timezone.now()
    with transaction.atomic():
        invitation, is_new = Invitation.objects.update_or_create(
            team=team,
            defaults={
                "nonce": secrets.token_hex(12),
                "created_by": by,
                "created_at": now,
                "expires_at": now + LASTS,
            },
        )
        key = "invitation-renewed/first" if is_new else "invitation-renewed"
        audit.record(key, actor=by, subject=team, place=team)
    return invitation


def revoke_invitation(*, team: Team, by: User) -> None:
    with transaction.atomic():
        deleted, _ = Invitation.objects.filter(team=team).delete()
        if deleted:
            audit.record("invitation-revoked", actor=by, subject=team, place=team)


def secret_of(invitation: Invitation) -> str:
    return _SIGNER.sign(invitation.nonce)


def present_invitation(team: Team) -> Invitation | None:
    return Invitation.objects.filter(team=team, expires_at__gt=timezone.now()).first()


def invitation_for(secret: str) -> Invitation:
    try:
        nonce = _SIGNER.unsign(secret)
    except BadSignature as forged:
        raise InvitationNotValid from forged
    found = (
        Invitation.objects.select_related("team", "created_by")
        .filter(nonce=nonce, expires_at__gt=timezone.now())
        .first()
    )
    if found is None:
        raise InvitationNotValid
    return found


#: Of one team that wait for an answer, and of one person in a day: mails go to people who asked for none.
MAX_WAITING, MAX_A_DAY = 30, 50
DAY = dt.timedelta(days=1)
MAX_ADDRESS = 254
#: What an invitation that has ended is kept for: so long nobody is written to again who declined.
KEPT = dt.timedelta(days=30)

#: What makes the job that sends one, and removes such jobs; named, since jobs stand to the right of teams.
QUEUE, UNQUEUE = "tasks.jobs.mails.queue_invitation", "tasks.jobs.mails.unqueue_invitations"

_MAIL_SIGNER = Signer(salt="citeboard.teams.mailed-invitation", sep=".")
State = MailedInvitation.State


class InvitationRefused(Refused):
    """The address gets no mail as things stand; the message says why."""


def invite_by_mail(*, team: Team, address: str, by: User) -> MailedInvitation:
    address = address.strip().lower()
    validate_email(address)
    if len(address) > MAX_ADDRESS:
        raise ValidationError(gettext("an address has at most %(most)s characters") % {"most": MAX_ADDRESS})
    now = timezone.now()
    with transaction.atomic():
        Team.objects.select_for_update().get(pk=team.pk)
        # What one person sends for several teams is counted one after the other.
        User.objects.select_for_update().get(pk=by.pk)
        own = MailedInvitation.objects.filter(team=team, address=address).first()
        if own is not None and own.state == State.DECLINED:
            raise InvitationRefused(
                gettext("this address has declined an invitation; send its owner the link instead")
            )
        if own is not None and own.created_at > now - DAY:
            raise InvitationRefused(gettext("this address was sent an invitation less than a day ago"))
        others = MailedInvitation.objects.filter(team=team, state=State.WAITING, expires_at__gt=now)
        if others.exclude(address=address).count() >= MAX_WAITING:
            waiting = counted(MAX_WAITING, "invitation")
            words = gettext("%(invitations)s of %(team)s wait for an answer; withdraw one first")
            raise InvitationRefused(words % {"invitations": waiting, "team": team})
        # Rows go with their team and with who accepts; the history stays.
        sent = AuditEntry.objects.filter(actor=by, action="invitation-mailed", at__gt=now - DAY)
        if sent.count() >= MAX_A_DAY:
            words = gettext("you have sent %(invitations)s within a day; go on tomorrow")
            raise InvitationRefused(words % {"invitations": counted(MAX_A_DAY, "invitation")})
        import_string(UNQUEUE)([own and own.job])
        invitation, _ = MailedInvitation.objects.update_or_create(
            team=team,
            address=address,
            defaults={
                "nonce": secrets.token_hex(12),
                "state": State.WAITING,
                "created_by": by,
                "created_at": now,
                "expires_at": now + LASTS,
                "job": import_string(QUEUE)(),
            },
        )
        # The address is its owner's, who may know nothing of it: the history of the team does not keep it.
        audit.record("invitation-mailed", actor=by, subject=invitation, place=team)
    return invitation


def withdraw_mailed(*, invitation: MailedInvitation, by: User) -> None:
    _end(invitation, State.WITHDRAWN, by)


def decline_mailed(*, invitation: MailedInvitation) -> None:
    """Whoever has the link says no; the team does not learn who that is."""
    _end(invitation, State.DECLINED, None)


def mailed_invitation_for(secret: str) -> MailedInvitation:
    try:
        nonce = _MAIL_SIGNER.unsign(secret)
    except BadSignature as forged:
        raise InvitationNotValid from forged
    found = MailedInvitation.objects.select_related("team", "created_by").filter(
        nonce=nonce, state=State.WAITING, expires_at__gt=timezone.now()
    )
    invitation = found.first()
    if invitation is None:
        raise InvitationNotValid
    return invitation


def mailed_secret(invitation: MailedInvitation) -> str:
    return _MAIL_SIGNER.sign(invitation.nonce)


def invitations_for(user: User) -> QuerySet[MailedInvitation]:
    confirmed = EmailAddress.objects.filter(user=user, verified=True).annotate(lower=Lower("email"))
    return MailedInvitation.objects.select_related("team", "created_by").filter(
        address__in=confirmed.values("lower"),
        state=State.WAITING,
        expires_at__gt=timezone.now(),
    )


def invitation_mail(invitation: MailedInvitation) -> EmailMessage:
    team, host = invitation.team, invitation.created_by
    title = (
        gettext("%(host)s invites you to the team %(team)s") % {"host": host, "team": team}
        if host
        else gettext("You are invited to the team %(team)s") % {"team": team}
    )
    link = f"{settings.BASE_URL}{reverse('join', args=[mailed_secret(invitation)])}"
    body = gettext(
        "%(title)s.\n\nTeams take part in shared tasks together: their members see each other's names and "
        "all runs of the team, and may send runs.\n\nAccept or decline until %(date)s (UTC):\n%(link)s\n\n"
        "If you expect no invitation, decline it, or leave it: it ends by itself. Whoever abuses invitations "
        "can be reported: %(report)s\n"
    ) % {
        "title": title,
        "date": f"{invitation.expires_at:%Y-%m-%d}",
        "link": link,
        "report": f"{settings.BASE_URL}{reverse('report')}",
    }
    return EmailMessage(
        # Names that people chose; a subject is one line.
        subject=f"[Citeboard] {' '.join(title.split())}",
        body=body,
        to=[invitation.address],
        headers={"Auto-Submitted": "auto-generated"},
    )


def forget_invitations() -> int:
    deleted, _ = MailedInvitation.objects.filter(expires_at__lt=timezone.now() - KEPT).delete()
    return deleted


def _end(invitation: MailedInvitation, state: State, by: User | None) -> None:
    with transaction.atomic():
        team = Team.objects.select_for_update().get(pk=invitation.team_id)
        if MailedInvitation.objects.filter(pk=invitation.pk, state=State.WAITING).update(state=state):
            import_string(UNQUEUE)([invitation.job])
            called = INVITED if by is None else ""
            audit.record(f"invitation-{state.value}", actor=by, called=called, subject=invitation, place=team)
