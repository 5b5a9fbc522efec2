"""Making and revoking tokens."""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.teams.models import Token, User

#: More valid tokens than this are a sign that old ones are not revoked.
MOST = 20


class TooManyTokens(Exception):
    def __init__(self) -> None:
        words = _("You have %(tokens)s tokens; revoke one that no program uses any more.")
        super().__init__(words % {"tokens": MOST})


def create_token(
    *, user: User, name: str, scope: str = Token.Scope.SUBMIT, days: int | None = None
) -> tuple[Token, str]:
    """A new token and its secret, to be shown once; without a number of days it does not expire."""
    expires_at = None if days is None else timezone.now() + dt.timedelta(days=days)
    with transaction.atomic():
        # Two requests at once would both count the tokens before either adds one.
        User.objects.select_for_update().get(pk=user.pk)
        if Token.objects.valid().filter(user=user).count() >= MOST:
            raise TooManyTokens
        return Token.objects.issue(user=user, name=name, scope=scope, expires_at=expires_at)


def revoke_token(token: Token) -> None:
    Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
