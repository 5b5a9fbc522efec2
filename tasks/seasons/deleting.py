"""Deleting a phase or a task of a season in which nobody has sent a run."""

from __future__ import annotations

from django.db import transaction
from django.db.models.deletion import ProtectedError
from django.utils.translation import gettext as _

from citeboard.core import deleted
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from tasks.models import Gold, Phase, Task
from tasks.models.seasons import bump_versions


class NotDeleted(Refused):
    """Something hangs on it that stays; the message says what."""


def delete_phase(*, phase: Phase, by: User) -> None:
    """The history can bring it back. Raises NotDeleted where it has runs."""
    season = phase.task.season
    try:
        with transaction.atomic():
            deleted.delete(row=phase, place=season, by=by)
            bump_versions(season)
    except ProtectedError as kept:
        raise NotDeleted(
            _("%(phase)s has runs, which stay; it can be closed and hidden") % {"phase": phase}
        ) from kept


def delete_task(*, task: Task, by: User) -> None:
    """With its phases; the history can bring all of it back. Raises NotDeleted."""
    try:
        deleted.delete(row=task, place=task.season, by=by)
    except ProtectedError as kept:
        if Gold.objects.filter(task=task).exists():
            words = _("%(task)s has gold, which stays; its phases can be closed and hidden")
        else:
            words = _("%(task)s has runs, which stays; its phases can be closed and hidden")
        raise NotDeleted(words % {"task": task}) from kept
