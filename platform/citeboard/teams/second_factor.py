"""Second factors, which allauth keeps; here, how one that is lost is taken away."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from django.db import transaction

from citeboard.core import audit
from citeboard.teams.models import User


def remove_second_factor(*, user: User, by: Any) -> None:
    with transaction.atomic():
        deleted, _ = Authenticator.objects.filter(user=user).delete()
        if deleted:
            audit.record("second-factor-removed", actor=by, subject=user, place=user, facts={"person": user})
