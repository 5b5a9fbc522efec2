"""Who sees a phase's board, and from which instant somebody else; organisers change it."""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from tasks.models import Phase
from tasks.models.seasons import bump_version

BOARD_FIELDS = ("board", "board_from", "board_then")


class BoardRefused(Refused):
    """The board cannot be shown so; the message says why."""


def change_board(
    *, phase: Phase, board: str, board_from: dt.datetime | None, board_then: str, by: User
) -> Phase:
    """``board`` sees it until ``board_from``, ``board_then`` from then on.

    The same once more changes nothing. Raises BoardRefused where one of the last two comes without the other.
    """
    if (board_from is None) != (not board_then):
        raise BoardRefused(_("say both when the board is shown to others and to whom, or neither"))
    wanted = {"board": board, "board_from": board_from, "board_then": board_then}
    with transaction.atomic():
        phases = Phase.objects.select_for_update(of=("self",)).select_related("task__season")
        changed = phases.get(pk=phase.pk)
        changes = [
            audit.Change(f"tasks.{changed.task.slug}.phases.{changed.slug}.{name}", before, value)
            for name, value in wanted.items()
            if (before := getattr(changed, name)) != value
        ]
        if not changes:
            return changed
        for name, value in wanted.items():
            setattr(changed, name, value)
        changed.save(update_fields=list(wanted))
        bump_version(changed.pk)
        with audit.in_english():
            words = f"changed who sees the board of {changed.task}, {changed}: {said(changed)}"
        audit.note(
            actor=by,
            action="board-changed",
            words=words,
            subject=changed,
            place=changed.task.season,
            changes=changes,
        )
    return changed


def reveal_now(*, phase: Phase, by: User) -> Phase:
    """Everybody sees the board from this moment, whatever was planned."""
    return change_board(phase=phase, board=Phase.Audience.EVERYONE, board_from=None, board_then="", by=by)


def said(phase: Phase) -> str:
    """`organisers only, from 2026-05-10 12:00 UTC everyone`."""
    first = str(Phase.Audience(phase.board).label)
    if phase.board_from is None:
        return first
    return _("%(audience)s, from %(instant)s %(then)s") % {
        "audience": first,
        "instant": f"{phase.board_from.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC",
        "then": Phase.Audience(phase.board_then).label,
    }
