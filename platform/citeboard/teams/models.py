from __future__ import annotations

import hashlib
import secrets
from typing import Any, ClassVar

from django.contrib.auth.models import (
    AbstractBaseUser,
    BaseUserManager,
    PermissionsMixin,
)
from django.db import models
from django.db.models import CASCADE, SET_NULL, Q, UniqueConstraint
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from citeboard.core.instants import format_utc_minute
from citeboard.core.lookalikes import Skeleton
from citeboard.core.models import (
    build_json_field_with_default,
    build_text_field_with_default,
)
from citeboard.teams.countries import countries

#: The terms of a season may require users to fill the fields in FIELDS_ASKED_BY_TERMS.
FIELDS_ASKED_BY_TERMS = ("affiliation", "country", "legal_name")


class UserManager(BaseUserManager["User"]):
    def create_user(
        self, email: str, password: str | None = None, **fields: Any
    ) -> User:
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(
        self, email: str, password: str | None = None, **fields: Any
    ) -> User:
        return self.create_user(
            email, password, is_staff=True, is_superuser=True, **fields
        )

    def get_by_natural_key(self, email: str | None) -> User:
        return self.get(email__iexact=email)


class User(AbstractBaseUser, PermissionsMixin):
    """A user account, identified by e-mail address.

    Organisers see the addresses of participants in their seasons.
    """

    email = models.EmailField("e-mail address", unique=True)
    name = models.CharField("name", max_length=120, blank=True)
    name_skeleton = Skeleton("name")
    affiliation = build_text_field_with_default(200)
    country = build_text_field_with_default(2, choices=countries)
    legal_name = build_text_field_with_default(
        200, help_text="For organisers whose terms ask for it; never published."
    )
    orcid = build_text_field_with_default(19, "ORCID")
    is_listed = models.BooleanField(
        "listed with name and affiliation",
        default=False,
        db_default=False,
        help_text="Whether lists of a season's participants may be published with this person's name.",
    )
    language = build_text_field_with_default(
        10,
        help_text="Of mails to this person, and of pages once they have signed in; empty for English.",
    )
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    date_joined = models.DateTimeField(default=timezone.now)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            UniqueConstraint(Lower("email"), name="user_email_unique_in_any_case")
        ]

    def __str__(self) -> str:
        return self.name or self.email.partition("@")[0]


class Team(models.Model):
    name = models.CharField(max_length=80, unique=True)
    name_skeleton = Skeleton("name")
    slug = models.SlugField(max_length=80, unique=True)
    description = models.TextField(blank=True, default="", db_default="")
    links: models.JSONField[list[str]] = build_json_field_with_default(
        list, "Addresses of what it says of itself: a page, a group, code.", blank=True
    )
    members = models.ManyToManyField(User, through="Membership", related_name="teams")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    class Role(models.TextChoices):
        LEAD = "lead", _("lead")
        MEMBER = "member", _("member")

    team = models.ForeignKey(Team, on_delete=CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    joined_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            UniqueConstraint(
                fields=["team", "user"], name="membership_once_a_person_and_team"
            ),
            UniqueConstraint(
                fields=["team"],
                condition=Q(role="lead"),
                name="membership_one_lead_a_team",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}"


class Invitation(models.Model):
    """An invitation link by which people join a team. The team's lead can renew or
    revoke the link, and the link expires.
    """

    team = models.OneToOneField(Team, on_delete=CASCADE, related_name="invitation")
    nonce = models.CharField(max_length=32, unique=True)
    created_by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"invitation to {self.team}"


class MailedInvitation(models.Model):
    """An invitation of one person by e-mail.

    The invited person can use the link once, to accept or to decline the invitation.
    """

    class State(models.TextChoices):
        WAITING = "waiting", _("not answered yet")
        DECLINED = "declined", _("declined")
        WITHDRAWN = "withdrawn", _("withdrawn")

    team = models.ForeignKey(Team, on_delete=CASCADE, related_name="mailed_invitations")
    address = models.EmailField("e-mail address")
    nonce = models.CharField(max_length=32, unique=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    created_by = models.ForeignKey(
        User, on_delete=SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    #: `job` is the primary key of the job that sends the e-mail.
    job = models.BigIntegerField(null=True, blank=True, unique=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            UniqueConstraint(
                fields=["team", "address"], name="mailed_invitation_once_an_address"
            )
        ]

    def __str__(self) -> str:
        return f"invitation to {self.team} by e-mail"

    @property
    def has_expired(self) -> bool:
        return self.expires_at <= timezone.now()


def compute_token_digest(secret: str) -> str:
    """Return the digest of an API token, which the database stores instead of the
    token.
    """
    return hashlib.sha256(secret.encode()).hexdigest()


class TokenQuerySet(models.QuerySet["Token"]):
    def valid(self) -> TokenQuerySet:
        return self.filter(
            Q(expires_at=None) | Q(expires_at__gt=timezone.now()), revoked_at=None
        )

    def create_token(
        self, *, user: User, name: str, secret: str | None = None, **limits: Any
    ) -> tuple[Token, str]:
        secret = secret or secrets.token_urlsafe(30)
        token = self.create(
            user=user,
            name=name,
            digest=compute_token_digest(secret),
            hint=secret[:4],
            **limits,
        )
        return token, secret


class Token(models.Model):
    class Scope(models.TextChoices):
        READ = "read", _("read")
        SUBMIT = "submit", _("read and submit")

    user = models.ForeignKey(User, on_delete=CASCADE, related_name="tokens")
    name = models.CharField(max_length=60)
    digest = models.CharField(max_length=64, unique=True)
    hint = models.CharField("first characters", max_length=8)
    scope = models.CharField(
        "what it may do", max_length=10, choices=Scope, default=Scope.SUBMIT
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = TokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()


class FirstOrganiserToken(models.Model):
    digest = models.CharField(max_length=64, unique=True)
    made_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"token of {format_utc_minute(self.made_at)}"
