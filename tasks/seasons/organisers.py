from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, refusals
from citeboard.teams.models import User
from tasks.models import Organiser, Season
from tasks.notifications.events import tell_role

Role = Organiser.Role


def add_organiser(*, season: Season, user: User, by: User | None, role: str = Role.ORGANISER) -> bool:
    with transaction.atomic():
        Season.objects.select_for_update().get(pk=season.pk)
        before = Organiser.objects.filter(season=season, user=user).first()
        if before is not None and before.role == role:
            return False
        if before is not None and by is not None and not by.is_staff:
            _require_another(before)
        Organiser.objects.update_or_create(season=season, user=user, defaults={"role": role})
        change = audit.Change("role", before.role if before else None, str(role))
        facts = {"person": user}
        audit.record(f"{role}-added", actor=by, subject=user, place=season, facts=facts, changes=[change])
        tell_role(season, user, str(role), at=timezone.now(), by=by)
    return True


def hand_season_over(*, season: Season, to: User, by: User) -> None:
    with transaction.atomic():
        add_organiser(season=season, user=to, by=by)
        own = Organiser.objects.filter(season=season, user=by).first()
        if own is not None and to != by:
            remove_organiser(organiser=own, by=by)


def remove_organiser(*, organiser: Organiser, by: User | None) -> None:
    with transaction.atomic():
        Season.objects.select_for_update().get(pk=organiser.season_id)
        if by is not None and not by.is_staff:
            _require_another(organiser)
        role = organiser.role
        person, place = organiser.user, organiser.season
        facts, change = {"person": person}, audit.Change("role", str(role), None)
        audit.record(f"{role}-removed", actor=by, subject=person, place=place, facts=facts, changes=[change])
        organiser.delete()


def _require_another(organiser: Organiser) -> None:
    others = Organiser.objects.filter(season=organiser.season, role=Role.ORGANISER).exclude(pk=organiser.pk)
    if organiser.role == Role.ORGANISER and not others.exists():
        raise refusals.Refused(_("the season needs an organiser; add another one first"))
