"""A team's invitation: one link at a time, which its lead renews or revokes."""

from __future__ import annotations

import datetime as dt
import secrets

from django.core.signing import BadSignature, Signer
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import Invitation, Team, User

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
