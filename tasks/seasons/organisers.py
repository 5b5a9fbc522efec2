"""Add and remove the organisers of a season. On a new site, the first organiser creates
an account with a one-time token.
"""

import datetime as dt
import secrets
from hmac import compare_digest

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from citeboard.core import audit, refusals
from citeboard.teams.models import FirstOrganiserToken, User, compute_token_digest
from tasks.delivery.notifications.events import notify_role_changed
from tasks.gold.content import end_embargoes_of_other_organisers
from tasks.gold.publishing import create_claims_on_commit
from tasks.models import Organiser, Season, Submission

Role = Organiser.Role


def add_organiser(
    *, season: Season, user: User, by: User | None, role: str = Role.ORGANISER
) -> bool:
    with transaction.atomic():
        Season.objects.select_for_update().get(pk=season.pk)
        before = Organiser.objects.filter(season=season, user=user).first()
        if before is not None and before.role == role:
            return False
        if before is not None and by is not None:
            _require_another_organiser(before, by)
        Organiser.objects.update_or_create(
            season=season, user=user, defaults={"role": role}
        )
        create_claims_on_commit(season.pk, end_embargoes_of_other_organisers(season))
        change = audit.SettingChange("role", before.role if before else None, str(role))
        facts = {"person": user}
        audit.record_action(
            f"{role}-added",
            actor=by,
            subject=user,
            place=season,
            facts=facts,
            changes=[change],
        )
        notify_role_changed(season, user, str(role), at=timezone.now(), by=by)
    return True


def hand_over_season(*, season: Season, to: User, by: User) -> None:
    with transaction.atomic():
        add_organiser(season=season, user=to, by=by)
        organiser = Organiser.objects.filter(season=season, user=by).first()
        if organiser is not None and to != by:
            remove_organiser(organiser=organiser, by=by)


def remove_organiser(*, organiser: Organiser, by: User | None) -> None:
    """Remove an organiser of a season and send this person an e-mail. The last
    organiser of a season cannot be removed.
    """
    with transaction.atomic():
        Season.objects.select_for_update().get(pk=organiser.season_id)
        # A test run may have deleted the object in memory, so it is loaded again.
        known = Organiser.objects.select_related("user", "season")
        organiser = known.get(season=organiser.season_id, user=organiser.user_id)
        if by is not None:
            _require_another_organiser(organiser, by)
        role = organiser.role
        person, place = organiser.user, organiser.season
        facts, change = {"person": person}, audit.SettingChange("role", str(role), None)
        audit.record_action(
            f"{role}-removed",
            actor=by,
            subject=person,
            place=place,
            facts=facts,
            changes=[change],
        )
        organiser.delete()
        create_claims_on_commit(place.pk, end_embargoes_of_other_organisers(place))
        notify_role_changed(place, person, "", at=timezone.now(), by=by)


def restore_organiser(*, season: Season, user: User, role: str, by: User) -> None:
    if Organiser.objects.filter(season=season, user=user).exists():
        raise refusals.ActionRefused(
            _("%(person)s organises the season again already") % {"person": user}
        )
    add_organiser(season=season, user=user, by=by, role=role)


def _require_another_organiser(organiser: Organiser, by: User) -> None:
    runs = Submission.objects.filter(phase__task__season=organiser.season_id)
    if by.is_staff and not runs.exclude(team=None).exists():
        return
    others = Organiser.objects.filter(
        season=organiser.season, role=Role.ORGANISER
    ).exclude(pk=organiser.pk)
    if organiser.role == Role.ORGANISER and not others.exists():
        raise refusals.ActionRefused(
            _("the season needs an organiser; add another one first")
        )


FIRST_ORGANISER_PATH = "/first-organiser/"
FIRST_ORGANISER_TOKEN_LIFETIME = dt.timedelta(days=1)
#: At most MAX_FIRST_ORGANISER_TOKENS tokens for the first organiser are valid at a time.
MAX_FIRST_ORGANISER_TOKENS = 10


def is_first_organiser_missing() -> bool:
    may_organise = User.objects.filter(is_active=True, is_staff=True).exists()
    return (
        not may_organise and not Organiser.objects.filter(user__is_active=True).exists()
    )


@sensitive_variables("secret")
def write_first_organiser_instructions() -> str:
    """Return instructions for the first organiser of a new site, with a new token.
    Return an empty text if the site already has an organiser.
    """
    if not is_first_organiser_missing():
        return ""
    secret = secrets.token_urlsafe(30)
    with transaction.atomic():
        FirstOrganiserToken.objects.create(digest=compute_token_digest(secret))
        newest = FirstOrganiserToken.objects.order_by("-pk")[
            :MAX_FIRST_ORGANISER_TOKENS
        ].values("pk")
        FirstOrganiserToken.objects.exclude(
            pk__in=list(newest.values_list("pk", flat=True))
        ).delete()
    address = f"{settings.BASE_URL}{FIRST_ORGANISER_PATH}"
    how = f"Make the first account that may on {address} with the token {secret}"
    return f"Nobody may organise yet. {how} (good once, for a day)."


@sensitive_variables("secret", "password")
def create_first_organiser(
    *, secret: str, email: str, name: str, password: str
) -> User:
    digest = compute_token_digest(secret.strip())
    with transaction.atomic():
        tokens = list(FirstOrganiserToken.objects.select_for_update().order_by("pk"))
        since = timezone.now() - FIRST_ORGANISER_TOKEN_LIFETIME
        # All tokens are compared, so that the duration of the check reveals nothing.
        is_good = sum(
            [
                compare_digest(token.digest, digest) and token.made_at > since
                for token in tokens
            ]
        )
        if not is_good or not is_first_organiser_missing():
            raise refusals.ActionRefused(
                _(
                    "this token is wrong or has expired; “manage.py doctor” prints "
                    "another"
                )
            )
        user = User.objects.create_superuser(email, password, name=name)
        EmailAddress.objects.create(
            user=user, email=user.email, verified=True, primary=True
        )
        FirstOrganiserToken.objects.all().delete()
        audit.record_action(
            "first-organiser", actor=user, subject=user, place=user, facts={}
        )
    return user
