"""Freezing a phase's board at an instant, and revealing at another what came since."""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from tasks.models import Phase
from tasks.models.seasons import bump_version

FREEZE_FIELDS = ("frozen_from", "frozen_until")


class FreezeRefused(Refused):
    """The board cannot be frozen so; the message says why."""


def freeze_board(
    *, phase: Phase, frozen_from: dt.datetime | None, frozen_until: dt.datetime | None, by: User
) -> Phase:
    """Others than organisers see the board as it stands at ``frozen_from``, until ``frozen_until`` or until
    it is revealed; without the first it is not frozen.

    The same once more changes nothing. Raises FreezeRefused.
    """
    now = timezone.now()
    with transaction.atomic():
        changed = _held(phase)
        if frozen_from is None and frozen_until is not None:
            raise FreezeRefused(_("say from when the board is frozen, not only until when"))
        if frozen_from is not None and frozen_until is not None and frozen_until <= frozen_from:
            raise FreezeRefused(_("the board would be revealed before it is frozen"))
        if changed.is_frozen(now) and frozen_from != changed.frozen_from:
            raise FreezeRefused(_("the board is frozen already; reveal it, then freeze it anew"))
        is_revealed = changed.frozen_until is not None and changed.frozen_until <= now
        is_new = frozen_from != changed.frozen_from or (is_revealed and frozen_until != changed.frozen_until)
        if frozen_from is not None and frozen_from < now and is_new:
            raise FreezeRefused(_("a board is frozen from now on or later, since what was seen was seen"))
        return _changed(changed, frozen_from, frozen_until, by)


def freeze_now(*, phase: Phase, by: User) -> Phase:
    """From this moment until it is revealed. Once more changes nothing."""
    now = timezone.now()
    with transaction.atomic():
        changed = _held(phase)
        return changed if changed.is_frozen(now) else _changed(changed, now, None, by)


def reveal_frozen(*, phase: Phase, by: User) -> Phase:
    """Whoever sees the board sees it as it stands, from this moment. Raises FreezeRefused."""
    now = timezone.now()
    with transaction.atomic():
        changed = _held(phase)
        if not changed.is_frozen(now):
            raise FreezeRefused(_("the board is not frozen"))
        # A freeze that has just begun ends a moment after it: the database holds them to that order.
        assert changed.frozen_from is not None
        until = max(now, changed.frozen_from + dt.timedelta(microseconds=1))
        return _changed(changed, changed.frozen_from, until, by)


def _held(phase: Phase) -> Phase:
    phases = Phase.objects.select_for_update(of=("self",)).select_related("task__season")
    return phases.get(pk=phase.pk)


def _changed(
    phase: Phase, frozen_from: dt.datetime | None, frozen_until: dt.datetime | None, by: User
) -> Phase:
    wanted = {"frozen_from": frozen_from, "frozen_until": frozen_until}
    changes = [
        audit.Change(f"tasks.{phase.task.slug}.phases.{phase.slug}.{name}", before, value)
        for name, value in wanted.items()
        if (before := getattr(phase, name)) != value
    ]
    if not changes:
        return phase
    phase.frozen_from, phase.frozen_until = frozen_from, frozen_until
    phase.save(update_fields=list(wanted))
    bump_version(phase.pk)
    with audit.in_english():
        words = f"changed when the board of {phase.task}, {phase} is frozen: {said(phase)}"
    audit.note(
        actor=by,
        action="board-frozen",
        words=words,
        subject=phase,
        place=phase.task.season,
        changes=changes,
    )
    return phase


def said(phase: Phase) -> str:
    """`frozen from 2026-05-10 12:00 UTC until it is revealed`."""
    if phase.frozen_from is None:
        return _("it is not")
    if phase.frozen_until is None:
        return _("from %(first)s until it is revealed") % {"first": _at(phase.frozen_from)}
    return _("from %(first)s until %(last)s") % {
        "first": _at(phase.frozen_from),
        "last": _at(phase.frozen_until),
    }


def _at(instant: dt.datetime) -> str:
    return f"{instant.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"
