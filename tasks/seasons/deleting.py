"""Deleting a phase or a task of a season in which nobody has sent a run."""

from __future__ import annotations

from django.db.models.deletion import ProtectedError

from citeboard.core import deleted
from citeboard.teams.models import User
from tasks.models import Gold, Phase, Task


class NotDeleted(Exception):
    """Something hangs on it that stays; the message says what."""


def delete_phase(*, phase: Phase, by: User) -> None:
    """The history can bring it back. Raises NotDeleted where it has runs."""
    try:
        deleted.delete(row=phase, place=phase.task.season, by=by)
    except ProtectedError as kept:
        raise NotDeleted(f"{phase} has runs, which stay; it can be closed and hidden") from kept


def delete_task(*, task: Task, by: User) -> None:
    """With its phases; the history can bring all of it back. Raises NotDeleted."""
    try:
        deleted.delete(row=task, place=task.season, by=by)
    except ProtectedError as kept:
        what = "gold" if Gold.objects.filter(task=task).exists() else "runs"
        raise NotDeleted(f"{task} has {what}, which stays; its phases can be closed and hidden") from kept
