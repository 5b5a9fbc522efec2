"""The demo's accounts. They are made to work again each time, since their secrets are printed."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from django.utils import timezone
from django.utils.crypto import salted_hmac

from citeboard.teams.models import Membership, Team, Token, User, token_digest
from tasks.models.notifications import Channel, Kind
from tasks.notifications.reading import choose

ORGANISER, PARTICIPANT, READER = ROLES = ("organiser", "participant", "reader")
TOKEN_NAME = "demo"  # noqa: S105  (what the token is called, not what it is)


def address_of(role: str) -> str:
    return f"{role}@demo.example"


def secret_of(role: str, kind: str) -> str:
    """The same on one site at all times, and another on every other."""
    return salted_hmac(f"citeboard.demo.{kind}", address_of(role), algorithm="sha256").hexdigest()[:32]


def account(role: str) -> User:
    """The account, with a verified address and the password that is printed."""
    address, password = address_of(role), secret_of(role, "password")
    user = User.objects.filter(email__iexact=address).first()
    if user is None:
        user = User.objects.create_user(address, password, name=f"Demo {role}")
        # Nobody reads the mail of an invented address.
        choose(user=user, wanted=dict.fromkeys(Kind, Channel.SITE))
    elif not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    EmailAddress.objects.update_or_create(
        user=user, email=user.email, defaults={"verified": True, "primary": True}
    )
    return user


def token_of(user: User) -> str:
    """The participant's token; one from another secret key ends here."""
    secret = secret_of(PARTICIPANT, "token")
    named = Token.objects.filter(user=user, name=TOKEN_NAME)
    named.exclude(digest=token_digest(secret)).filter(revoked_at=None).update(revoked_at=timezone.now())
    if not named.filter(digest=token_digest(secret)).update(revoked_at=None):
        Token.objects.issue(user=user, name=TOKEN_NAME, secret=secret)
    return secret


def join(user: User, team: Team) -> None:
    if Membership.objects.filter(team=team, user=user).exists():
        return
    has_lead = Membership.objects.filter(team=team, role=Membership.Role.LEAD).exists()
    role = Membership.Role.MEMBER if has_lead else Membership.Role.LEAD
    Membership.objects.create(team=team, user=user, role=role)
