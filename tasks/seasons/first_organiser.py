"""Where no account may organise yet: a token, good once, with which a browser makes the first that may."""

import datetime as dt
import secrets
from hmac import compare_digest

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import FirstOrganiserToken, User, token_digest
from tasks.models import Organiser

PATH = "/first-organiser/"
GOOD_FOR = dt.timedelta(days=1)
#: Of those that were printed; each stays good while there is no organiser.
MAX_TOKENS = 10


def is_awaited() -> bool:
    may_organise = User.objects.filter(is_active=True, is_staff=True).exists()
    return not may_organise and not Organiser.objects.filter(user__is_active=True).exists()


@sensitive_variables("secret")
def how_to_begin() -> str:
    """With a new token; empty where somebody may organise."""
    if not is_awaited():
        return ""
    secret = secrets.token_urlsafe(30)
    with transaction.atomic():
        FirstOrganiserToken.objects.create(digest=token_digest(secret))
        newest = FirstOrganiserToken.objects.order_by("-pk")[:MAX_TOKENS].values("pk")
        FirstOrganiserToken.objects.exclude(pk__in=list(newest.values_list("pk", flat=True))).delete()
    how = f"Make the first account that may on {settings.BASE_URL}{PATH} with the token {secret}"
    return f"Nobody may organise yet. {how} (good once, for a day)."


@sensitive_variables("secret", "password")
def make_first_organiser(*, secret: str, email: str, name: str, password: str) -> User:
    digest = token_digest(secret.strip())
    with transaction.atomic():
        tokens = list(FirstOrganiserToken.objects.select_for_update().order_by("pk"))
        since = timezone.now() - GOOD_FOR
        # All are compared, so that the time it takes tells of none.
        is_good = sum([compare_digest(token.digest, digest) and token.made_at > since for token in tokens])
        if not is_good or not is_awaited():
            raise Refused(_("this token is not good, or not any more; “manage.py doctor” prints another"))
        user = User.objects.create_superuser(email, password, name=name)
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
        FirstOrganiserToken.objects.all().delete()
        audit.record("first-organiser", actor=user, subject=user, place=user, facts={})
    return user
