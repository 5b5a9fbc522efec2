"""Measures of a task's own: who may bring them, and what staff decide on them."""

from django.conf import settings
from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, confinement, refusals
from citeboard.teams.models import User
from tasks.models import MeasuresFile, Season, Task
from tasks.models.declarations import may_be_run
from tasks.seasons.access import staff
from tasks.types import Problem
from tasks.types.declared.own_measures import digest_of


class MeasuresRefused(refusals.Refused):
    pass


def bring_measures(text: str, *, by: User | None, season: Season | None = None) -> None:
    """What may not be run yet is kept for staff to decide on; the site's operator has no account. Raises
    MeasuresRefused.
    """
    if may_be_run(text):
        return
    if settings.OWN_MEASURES == "nobody":
        raise MeasuresRefused(
            _("this site computes no measures but those that ship with Citeboard")
        )
    if not confinement.closes_all():
        raise MeasuresRefused(
            _(
                "this machine cannot keep a program that is not ours from files and network"
            )
        )
    is_approved = by is None or by.is_staff or settings.OWN_MEASURES == "organisers"
    with transaction.atomic():
        row, is_new = MeasuresFile.objects.get_or_create(
            digest=digest_of(text),
            defaults={"text": text, "season": season, "brought_by": by},
        )
        if is_approved:
            MeasuresFile.objects.filter(pk=row.pk).update(approved_at=timezone.now())
        if is_new or is_approved:
            action = "measures-brought/approved" if is_approved else "measures-brought"
            facts = {"digest": row.digest[:12]}
            audit.record(
                action, actor=by, subject=row, place=season or row, facts=facts
            )
    if not is_approved:
        words = _(
            "measures.py (%(digest)s) waits until those who run the site have approved it"
        )
        raise MeasuresRefused(words % {"digest": row.digest[:12]})


def measures_of_site(user: object, measures: int) -> MeasuresFile:
    staff(user)
    return get_object_or_404(MeasuresFile, pk=measures)


def decide_measures(*, measures: MeasuresFile, decision: str, by: User) -> MeasuresFile:
    """Approved, it is run from now on; withdrawn, runs of its tasks wait."""
    with transaction.atomic():
        row = MeasuresFile.objects.select_for_update().get(pk=measures.pk)
        wanted = timezone.now() if decision == "approve" else None
        if (wanted is None) != (row.approved_at is None):
            changes = audit.set_fields(row, {"approved_at": wanted})
            action = "measures-approved" if wanted else "measures-withdrawn"
            facts = {"digest": row.digest[:12]}
            audit.record(
                action,
                actor=by,
                subject=row,
                place=row.season or row,
                facts=facts,
                changes=changes,
            )
    return row


def tell_organisers(task: Task, why: Problem) -> None:
    """In the season's history, once for each reason."""
    facts = {"task": task.title, "why": str(why)}
    if (
        not audit.history(task.season)
        .filter(action="measures-failed", facts=facts)
        .exists()
    ):
        audit.record(
            "measures-failed", actor=None, subject=task, place=task.season, facts=facts
        )
