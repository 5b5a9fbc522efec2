"""Opening, closing and moving a phase while a season runs."""

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
from tasks.notifications.of_seasons import PhaseFacts, tell_changed_phase


class TimesRefused(Refused):
    """A phase cannot have these times; the message says why."""


def move_phase(*, phase: Phase, opens: dt.datetime, closes: dt.datetime, by: User) -> Phase:
    """Let runs be accepted between these instants. The same times once more change nothing."""
    if closes <= opens:
        raise TimesRefused(_("a phase closes after it opens"))
    with transaction.atomic():
        moved = _held(phase)
        if (moved.opens, moved.closes) == (opens, closes):
            return moved
        words = f"moved {_name(moved)} from {_span(moved.opens, moved.closes)} to {_span(opens, closes)}"
        changes = [
            audit.Change(_key(moved, "opens"), moved.opens, opens),
            audit.Change(_key(moved, "closes"), moved.closes, closes),
        ]
        before = PhaseFacts.of(moved)
        moved.opens, moved.closes = opens, closes
        moved.save(update_fields=["opens", "closes"])
        _noted(moved, by, "phase-moved", words, changes)
        tell_changed_phase(moved, before, at=timezone.now(), by=by)
    return moved


def open_now(*, phase: Phase, by: User) -> Phase:
    """Accept runs from this moment. Raises TimesRefused where the phase is over: it needs a new end too."""
    now = timezone.now()
    with transaction.atomic():
        opened = _held(phase)
        if opened.is_open(now):
            return opened
        if opened.closes <= now:
            raise TimesRefused(_("%(phase)s is over; give it a new end") % {"phase": opened})
        changes = [audit.Change(_key(opened, "opens"), opened.opens, now)]
        opened.opens = now
        opened.save(update_fields=["opens"])
        _noted(opened, by, "phase-opened", f"opened {_name(opened)}", changes)
    return opened


def close_now(*, phase: Phase, by: User) -> Phase:
    """Accept no run from this moment. Raises TimesRefused where the phase has not begun."""
    now = timezone.now()
    with transaction.atomic():
        closed = _held(phase)
        if closed.closes <= now:
            return closed
        if closed.opens >= now:
            raise TimesRefused(_("%(phase)s has not begun; move it instead") % {"phase": closed})
        changes = [audit.Change(_key(closed, "closes"), closed.closes, now)]
        before = PhaseFacts.of(closed)
        closed.closes = now
        closed.save(update_fields=["closes"])
        _noted(closed, by, "phase-closed", f"closed {_name(closed)}", changes)
        tell_changed_phase(closed, before, at=now, by=by)
    return closed


def _held(phase: Phase) -> Phase:
    """The phase as it is now, held until the transaction ends."""
    phases = Phase.objects.select_for_update(of=("self",)).select_related("task__season")
    return phases.get(pk=phase.pk)


def _noted(phase: Phase, by: User, action: str, words: str, changes: list[audit.Change]) -> None:
    bump_version(phase.pk)
    real = [change for change in changes if change.before != change.after]
    audit.note(actor=by, action=action, words=words, subject=phase, place=phase.task.season, changes=real)


def _key(phase: Phase, field: str) -> str:
    """As the season file calls it."""
    return f"tasks.{phase.task.slug}.phases.{phase.slug}.{field}"


def _name(phase: Phase) -> str:
    return f"{phase.task}, {phase}"


def _span(opens: dt.datetime, closes: dt.datetime) -> str:
    start, end = (f"{instant.astimezone(dt.UTC):%Y-%m-%d %H:%M}" for instant in (opens, closes))
    return f"{start} – {end} UTC"
