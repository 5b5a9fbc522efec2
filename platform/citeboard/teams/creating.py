"""Founding a team."""

from __future__ import annotations

import unicodedata

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from citeboard.teams.models import Membership, Team, User

MAX_NAME = 80


def found_team(*, name: str, founder: User) -> Team:
    """A new team that the founder leads. Raises ValidationError where the name cannot be taken."""
    name = " ".join(_printable(name).split())
    slug = slugify(name)[:MAX_NAME]
    if not slug:
        raise ValidationError({"name": _("a name has at least one letter or digit from a to z")})
    if len(name) > MAX_NAME:
        words = _("the name has %(length)s characters; at most %(most)s fit")
        raise ValidationError({"name": words % {"length": len(name), "most": MAX_NAME}})
    try:
        with transaction.atomic():
            team = Team.objects.create(name=name, slug=slug)
            Membership.objects.create(team=team, user=founder, role=Membership.Role.LEAD)
    except IntegrityError:
        words = _("another team has this name, or one very much like it")
        raise ValidationError({"name": words}) from None
    return team


def _printable(name: str) -> str:
    name = unicodedata.normalize("NFC", name)
    return "".join(
        " " if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character for character in name
    )
