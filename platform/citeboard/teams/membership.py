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
from citeboard.core.audit import find_history_of_place
from citeboard.core.instants import format_day
from citeboard.core.lookalikes import skeleton
from citeboard.core.models import AuditEntry
from citeboard.core.plain_text import clean_description, clean_links
from citeboard.core.refusals import ActionRefused
from citeboard.core.words import count_with_noun
from citeboard.teams.access import order_memberships_by_role_and_time
from citeboard.teams.models import Invitation, MailedInvitation, Membership, Team, User

INVITATION_LINK_LIFETIME = dt.timedelta(days=30)
_INVITATION_LINK_SIGNER = Signer(salt="citeboard.teams.invitation", sep=".")
InvitationT = TypeVar("InvitationT", Invitation, MailedInvitation)


class InvalidInvitation(ActionRefused):
    def __init__(self) -> None:
        super().__init__(
            gettext(
                "this invitation no longer works; ask the team's lead for the current link"
            )
        )


def renew_invitation(*, team: Team, by: User) -> Invitation:
    with transaction.atomic():
        invitation, is_new = Invitation.objects.update_or_create(
            team=team, defaults=_build_new_invitation_fields(by)
        )
        key = "invitation-renewed/first" if is_new else "invitation-renewed"
        audit.record_action(key, actor=by, subject=team, place=team)
    return invitation


def _build_new_invitation_fields(by: User) -> dict[str, Any]:
    now = timezone.now()
    return {
        "nonce": secrets.token_hex(12),
        "created_by": by,
        "created_at": now,
        "expires_at": now + INVITATION_LINK_LIFETIME,
    }


def revoke_invitation(*, team: Team, by: User) -> None:
    with transaction.atomic():
        deleted, _ = Invitation.objects.filter(team=team).delete()
        if deleted:
            audit.record_action(
                "invitation-revoked", actor=by, subject=team, place=team
            )


def sign_invitation_secret(invitation: Invitation) -> str:
    return _INVITATION_LINK_SIGNER.sign(invitation.nonce)


def find_valid_invitation(team: Team) -> Invitation | None:
    return Invitation.objects.filter(team=team, expires_at__gt=timezone.now()).first()


def invitation_for(secret: str) -> Invitation:
    return _find_invitation(Invitation.objects.all(), _INVITATION_LINK_SIGNER, secret)


def _find_invitation(
    standing: QuerySet[InvitationT], signer: Signer, secret: str
) -> InvitationT:
    try:
        nonce = signer.unsign(secret)
    except BadSignature as forged:
        raise InvalidInvitation from forged
    valid = standing.select_related("team", "created_by").filter(
        expires_at__gt=timezone.now()
    )
    if (invitation := valid.filter(nonce=nonce).first()) is None:
        raise InvalidInvitation
    return invitation


#: A team has at most MAX_OPEN_MAILED_INVITATIONS open invitations by e-mail.
#: MAX_OPEN_MAILED_INVITATIONS protects people who did not request an invitation by e-mail.
#: A user sends at most MAX_MAILED_INVITATIONS_PER_DAY invitations by e-mail within a day.
MAX_OPEN_MAILED_INVITATIONS, MAX_MAILED_INVITATIONS_PER_DAY = 30, 50
ONE_DAY = dt.timedelta(days=1)
MAX_ADDRESS_LENGTH = 254
#: Ended invitations stay for EXPIRED_INVITATION_RETENTION, so that people who declined get no new e-mail.
EXPIRED_INVITATION_RETENTION = dt.timedelta(days=30)

#: These paths name functions of `tasks.jobs` that create and delete e-mail jobs of invitations.
#: A direct import of these functions of `tasks.jobs` would be circular.
QUEUE_INVITATION_FUNCTION_PATH, UNQUEUE_INVITATIONS_FUNCTION_PATH = (
    "tasks.jobs.mails.create_invitation_mail_job",
    "tasks.jobs.mails.delete_invitation_mail_jobs",
)

_MAILED_INVITATION_SIGNER = Signer(salt="citeboard.teams.mailed-invitation", sep=".")
InvitationState = MailedInvitation.State


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
        if (
            mailed_invitation is not None
            and mailed_invitation.state == InvitationState.DECLINED
        ):
            raise ActionRefused(
                gettext(
                    "this address has declined an invitation; send its owner the link instead"
                )
            )
        if (
            mailed_invitation is not None
            and mailed_invitation.created_at > now - ONE_DAY
        ):
            raise ActionRefused(
                gettext("this address was sent an invitation less than a day ago")
            )
        others = MailedInvitation.objects.filter(
            team=team, state=InvitationState.WAITING, expires_at__gt=now
        )
        if others.exclude(address=address).count() >= MAX_OPEN_MAILED_INVITATIONS:
            waiting = count_with_noun(MAX_OPEN_MAILED_INVITATIONS, "invitation")
            message = gettext(
                "%(invitations)s of %(team)s wait for an answer; withdraw one first"
            )
            raise ActionRefused(message % {"invitations": waiting, "team": team})
        # The history also contains invitations that were accepted and deleted.
        sent = AuditEntry.objects.filter(
            actor=by, action="invitation-mailed", at__gt=now - ONE_DAY
        )
        if sent.count() >= MAX_MAILED_INVITATIONS_PER_DAY:
            message = gettext(
                "you have sent %(invitations)s within a day; go on tomorrow"
            )
            raise ActionRefused(
                message
                % {
                    "invitations": count_with_noun(
                        MAX_MAILED_INVITATIONS_PER_DAY, "invitation"
                    )
                }
            )
        import_string(UNQUEUE_INVITATIONS_FUNCTION_PATH)(
            [mailed_invitation and mailed_invitation.job]
        )
        defaults = {
            **_build_new_invitation_fields(by),
            "state": InvitationState.WAITING,
            "job": import_string(QUEUE_INVITATION_FUNCTION_PATH)(),
        }
        made, _ = MailedInvitation.objects.update_or_create(
            team=team, address=address, defaults=defaults
        )
        # The invited address is private, and its owner may not know of the invitation.
        audit.record_action("invitation-mailed", actor=by, subject=made, place=team)
    return made


def withdraw_mailed_invitation(*, invitation: MailedInvitation, by: User) -> None:
    _end_invitation(invitation, InvitationState.WITHDRAWN, by)


def decline_mailed_invitation(*, invitation: MailedInvitation) -> None:
    """Decline an invitation that was sent by e-mail. The team does not learn which
    person declined the invitation.
    """
    _end_invitation(invitation, InvitationState.DECLINED, None)


def find_mailed_invitation_by_secret(secret: str) -> MailedInvitation:
    return _find_invitation(
        MailedInvitation.objects.filter(state=InvitationState.WAITING),
        _MAILED_INVITATION_SIGNER,
        secret,
    )


def sign_mailed_invitation_secret(invitation: MailedInvitation) -> str:
    return _MAILED_INVITATION_SIGNER.sign(invitation.nonce)


def find_waiting_invitations(user: User) -> QuerySet[MailedInvitation]:
    confirmed = EmailAddress.objects.filter(user=user, verified=True).annotate(
        lower=Lower("email")
    )
    waiting = MailedInvitation.objects.filter(
        state=InvitationState.WAITING, expires_at__gt=timezone.now()
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
        reverse("join", args=[sign_mailed_invitation_secret(invitation)]),
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
        expires_at__lt=timezone.now() - EXPIRED_INVITATION_RETENTION
    ).delete()
    return deleted


def _end_invitation(
    invitation: MailedInvitation, state: InvitationState, by: User | None
) -> None:
    with transaction.atomic():
        team = Team.objects.select_for_update().get(pk=invitation.team_id)
        if MailedInvitation.objects.filter(
            pk=invitation.pk, state=InvitationState.WAITING
        ).update(state=state):
            import_string(UNQUEUE_INVITATIONS_FUNCTION_PATH)([invitation.job])
            called = INVITED_ACTOR_NAME if by is None else ""
            audit.record_action(
                f"invitation-{state.value}",
                actor=by,
                called=called,
                subject=invitation,
                place=team,
            )


MembershipRole = Membership.Role


class MembershipChangeRefused(ActionRefused):
    """An action is refused, because it would leave a team in an invalid state.

    The message of the exception names a remedy.
    """


def add_member(*, team: Team, user: User) -> Membership:
    with transaction.atomic():
        membership, is_new = Membership.objects.get_or_create(
            team=lock_team(team), user=user
        )
        if is_new:
            audit.record_action("member-joined", actor=user, subject=user, place=team)
    return membership


def leave_team(*, team: Team, user: User) -> None:
    """Let a user leave a team.

    Raises MembershipChangeRefused for a lead if the team has other members, and for the last
    member if the team took part in a season.
    """
    with transaction.atomic():
        membership = _find_membership_or_refuse(lock_team(team), user)
        if not Membership.objects.filter(team=team).exclude(pk=membership.pk).exists():
            try:
                team.delete()
            except ProtectedError as kept:
                message = _(
                    "you are the last of %(team)s, which takes part in a season; invite somebody and hand "
                    "the lead over, or take its entry back first"
                )
                raise MembershipChangeRefused(message % {"team": team}) from kept
            return
        if membership.role == MembershipRole.LEAD:
            raise MembershipChangeRefused(
                _("hand the lead over to another member before you leave")
            )
        membership.delete()
        audit.record_action("member-left", actor=user, subject=user, place=team)


def remove_member(*, team: Team, user: User, by: User) -> None:
    with transaction.atomic():
        membership = _find_membership_or_refuse(lock_team(team), user)
        if membership.role == MembershipRole.LEAD:
            raise MembershipChangeRefused(
                _("the lead cannot be removed; the lead is handed over first")
            )
        membership.delete()
        audit.record_action(
            "member-removed", actor=by, subject=user, place=team, facts={"person": user}
        )
        revoke_invitation(team=team, by=by)
        addresses = EmailAddress.objects.filter(user=user).values_list(
            "email", flat=True
        )
        mailed = MailedInvitation.objects.filter(
            team=team, state=InvitationState.WAITING
        )
        mailed = mailed.filter(address__in=[address.lower() for address in addresses])
        import_string(UNQUEUE_INVITATIONS_FUNCTION_PATH)(
            list(mailed.values_list("job", flat=True))
        )
        mailed.update(state=InvitationState.WITHDRAWN)


def transfer_team_lead(*, team: Team, to: User, by: User) -> None:
    with transaction.atomic():
        new = _find_membership_or_refuse(lock_team(team), to)
        if new.role == MembershipRole.LEAD:
            return
        # A database constraint allows only one lead of a team at any time.
        Membership.objects.filter(team=team, role=MembershipRole.LEAD).update(
            role=MembershipRole.MEMBER
        )
        Membership.objects.filter(pk=new.pk).update(role=MembershipRole.LEAD)
        audit.record_action(
            "lead-handed-over", actor=by, subject=to, place=team, facts={"person": to}
        )


def lock_team(team: Team) -> Team:
    return Team.objects.select_for_update().get(pk=team.pk)


def _find_membership_or_refuse(team: Team, user: User) -> Membership:
    if (membership := Membership.objects.filter(team=team, user=user).first()) is None:
        raise MembershipChangeRefused(
            _("%(person)s is not in %(team)s any more") % {"person": user, "team": team}
        )
    return membership


MAX_TEAM_NAME_LENGTH = 80
#: The digest in the slug of a team has SLUG_DIGEST_LENGTH characters.
SLUG_DIGEST_LENGTH = 8


def found_team(*, name: str, founder: User) -> Team:
    with transaction.atomic():
        team = create_team(name)
        Membership.objects.create(team=team, user=founder, role=MembershipRole.LEAD)
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
    slug = build_team_slug(name)
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


def build_team_slug(name: str) -> str:
    """Return the slug of a team name.

    If the name contains letters of other scripts than Latin, the slug contains a
    digest.
    """
    readable = slugify(name)[: MAX_TEAM_NAME_LENGTH - SLUG_DIGEST_LENGTH - 1]
    is_latin = all(
        unicodedata.name(sign, "").startswith("LATIN")
        for sign in name
        if sign.isalpha()
    )
    if readable and is_latin:
        return slugify(name)[:MAX_TEAM_NAME_LENGTH]
    digest = hashlib.sha256(name.encode()).hexdigest()[:SLUG_DIGEST_LENGTH]
    return f"{readable or 'team'}-{digest}"


def describe_team(
    *, team: Team, description: str, links: Iterable[str], by: User
) -> Team:
    wanted = {
        "description": clean_description(description),
        "links": clean_links(links),
    }
    with transaction.atomic():
        found = lock_team(team)
        if changes := audit.update_row_and_list_changes(found, wanted):
            audit.record_action(
                "team-described", actor=by, subject=found, place=found, changes=changes
            )
    team.refresh_from_db()
    return team


MAX_HISTORY_ENTRIES_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class TeamMembersPage:
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
            if membership.role != MembershipRole.LEAD
        ]


def build_team_members_page(team: Team, request: HttpRequest) -> TeamMembersPage:
    memberships = list(order_memberships_by_role_and_time().filter(team=team))
    is_lead = any(
        row.role == MembershipRole.LEAD and row.user_id == request.user.pk
        for row in memberships
    )
    invitation = find_valid_invitation(team) if is_lead else None
    path = (
        reverse("join", args=[sign_invitation_secret(invitation)]) if invitation else ""
    )
    return TeamMembersPage(
        memberships=memberships,
        is_lead=is_lead,
        invitation=invitation,
        link=path and request.build_absolute_uri(path),
        invited=list(MailedInvitation.objects.filter(team=team)) if is_lead else [],
        history=list(find_history_of_place(team)[:MAX_HISTORY_ENTRIES_SHOWN]),
    )
