"""Versions of gold that are sealed, and deleted while nothing counts by them."""

from django.db import transaction
from django.db.models.deletion import ProtectedError
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from tasks.gold.early import nothing_early
from tasks.models import Gold, Phase, Task
from tasks.models.seasons import bump_version


class VersionRefused(Refused):
    """It cannot be sealed or deleted; the message says why."""


def seal_gold(*, gold: Gold, reason: str, by: User) -> Gold:
    """From now on nobody but organisers gets its files or its instances, whatever phases say."""
    with transaction.atomic():
        sealed = _locked(gold, reason)
        if sealed.sealed_at is not None:
            return sealed
        prefix = f"tasks.{sealed.task.slug}.gold.{sealed.split}."
        changes = audit.set_fields(sealed, {"sealed_at": timezone.now()}, prefix)
        _noted("gold-sealed", sealed, reason, by, changes)
    return sealed


def delete_gold(*, gold: Gold, reason: str, by: User) -> Gold:
    """Its row goes, and its files with it where no other version has them; the season keeps the newest of a
    split that has phases.
    """
    with transaction.atomic():
        season = gold.task.season
        with nothing_early(season, by=by):
            deleted = _locked(gold, reason)
            of_split = Gold.objects.filter(task=deleted.task_id, split=deleted.split)
            phases = Phase.objects.filter(task=deleted.task_id, split=deleted.split)
            is_newest = not of_split.filter(number__gt=deleted.number).exists()
            if is_newest and phases.exists():
                raise VersionRefused(_("phases are scored by v%(number)s") % {"number": deleted.number})
            try:
                Gold.objects.filter(pk=deleted.pk).delete()
            except ProtectedError as counting:
                words = _("runs were scored with v%(number)s; seal it instead")
                raise VersionRefused(words % {"number": deleted.number}) from counting
        _noted("gold-deleted", deleted, reason, by)
    return deleted


def _locked(gold: Gold, reason: str) -> Gold:
    if not reason.strip():
        raise VersionRefused(_("say why"))
    Task.objects.select_for_update().get(pk=gold.task_id)
    return Gold.objects.select_related("task__season").get(pk=gold.pk)


def _noted(key: str, gold: Gold, reason: str, by: User, changes: list[audit.Change] | None = None) -> None:
    for phase in Phase.objects.filter(task=gold.task_id, split=gold.split).order_by("pk"):
        bump_version(phase.pk)
    facts = {"version": gold.number, "task": f"{gold.task}, {gold.split}", "reason": reason.strip()}
    place = gold.task.season
    audit.record(key, actor=by, subject=gold, place=place, facts=facts, changes=changes or [])
