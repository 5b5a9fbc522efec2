"""What organisers do with a phase while it runs: its times, who sees its board, and freezing that."""

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
from tasks.notifications.events import PhaseFacts, tell_changed_phase


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
        facts = {"before": _span(moved.opens, moved.closes), "after": _span(opens, closes)}
        changes = [
            audit.Change(_key(moved, "opens"), moved.opens, opens),
            audit.Change(_key(moved, "closes"), moved.closes, closes),
        ]
        before = PhaseFacts.of(moved)
        moved.opens, moved.closes = opens, closes
        moved.save(update_fields=["opens", "closes"])
        _noted(moved, by, "phase-moved", changes, **facts)
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
        _noted(opened, by, "phase-opened", changes)
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
        _noted(closed, by, "phase-closed", changes)
        tell_changed_phase(closed, before, at=now, by=by)
    return closed


def _held(phase: Phase) -> Phase:
    """The phase as it is now, held until the transaction ends."""
    phases = Phase.objects.select_for_update(of=("self",)).select_related("task__season")
    return phases.get(pk=phase.pk)


def _noted(phase: Phase, by: User, key: str, changes: list[audit.Change], **facts: str) -> None:
    bump_version(phase.pk)
    audit.record(
        key,
        actor=by,
        subject=phase,
        place=phase.task.season,
        facts={"phase": f"{phase.task}, {phase}", **facts},
        changes=[change for change in changes if change.before != change.after],
    )


def _key(phase: Phase, field: str) -> str:
    return f"tasks.{phase.task.slug}.phases.{phase.slug}.{field}"


def _span(opens: dt.datetime, closes: dt.datetime) -> str:
    return f"{_clock(opens)} – {_clock(closes)} UTC"


def _clock(instant: dt.datetime) -> str:
    return f"{instant.astimezone(dt.UTC):%Y-%m-%d %H:%M}"


BOARD_FIELDS = ("board", "board_from", "board_then")


class BoardRefused(Refused):
    """The board cannot be shown so; the message says why."""


def change_board(
    *, phase: Phase, board: str, board_from: dt.datetime | None, board_then: str, by: User
) -> Phase:
    """``board`` sees it until ``board_from``, ``board_then`` from then on."""
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
        with audit.in_english():
            facts = {"audience": str(Phase.Audience(board).label)}
            if board_from is not None:
                facts |= {"instant": _clock(board_from), "then": str(Phase.Audience(board_then).label)}
        key = "board-changed" if board_from is None else "board-changed/later"
        _noted(changed, by, key, changes, **facts)
    return changed


def reveal_now(*, phase: Phase, by: User) -> Phase:
    """Everybody sees the board from this moment, whatever was planned."""
    return change_board(phase=phase, board=Phase.Audience.EVERYONE, board_from=None, board_then="", by=by)


def describe_board(phase: Phase) -> str:
    first = str(Phase.Audience(phase.board).label)
    if phase.board_from is None:
        return first
    return _("%(audience)s, from %(instant)s %(then)s") % {
        "audience": first,
        "instant": f"{_clock(phase.board_from)} UTC",
        "then": Phase.Audience(phase.board_then).label,
    }


FREEZE_FIELDS = ("frozen_from", "frozen_until")


class FreezeRefused(Refused):
    """The board cannot be frozen so; the message says why."""


def freeze_board(
    *, phase: Phase, frozen_from: dt.datetime | None, frozen_until: dt.datetime | None, by: User
) -> Phase:
    """Raises FreezeRefused."""
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
    if frozen_from is None:
        _noted(phase, by, "board-frozen/not", changes)
    elif frozen_until is None:
        _noted(phase, by, "board-frozen", changes, first=f"{_clock(frozen_from)} UTC")
    else:
        ends = {"first": f"{_clock(frozen_from)} UTC", "last": f"{_clock(frozen_until)} UTC"}
        _noted(phase, by, "board-frozen/until", changes, **ends)
    return phase


def describe_freeze(phase: Phase) -> str:
    if phase.frozen_from is None:
        return _("it is not")
    first = f"{_clock(phase.frozen_from)} UTC"
    if phase.frozen_until is None:
        return _("from %(first)s until it is revealed") % {"first": first}
    return _("from %(first)s until %(last)s") % {"first": first, "last": f"{_clock(phase.frozen_until)} UTC"}
