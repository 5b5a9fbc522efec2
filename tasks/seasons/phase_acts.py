"""Organisers can change the dates of a running phase and the audience of its board, and
can freeze the board.
"""

import datetime as dt
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.instants import (
    ENDLESS_PHASE_END,
    ENDLESS_TIME_SUFFIX,
    format_history_time,
    format_utc_minute,
)
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from tasks.delivery.notifications.events import (
    PhaseDeadlineAndLimits,
    notify_phase_changed,
)
from tasks.gold.early import refuse_early_disclosure
from tasks.models import Phase
from tasks.models.seasons import increment_board_version

OptionalInstant = dt.datetime | None


def move_phase(
    *, phase: Phase, opens: dt.datetime, closes: dt.datetime, by: User
) -> Phase:
    if closes <= opens:
        raise ActionRefused(_("a phase closes after it opens"))
    with transaction.atomic():
        moved = lock_phase(phase)
        before = PhaseDeadlineAndLimits.of(moved)
        facts = {
            "before": _format_phase_times(moved.opens, moved.closes),
            "after": _format_phase_times(opens, closes),
        }
        if _update_phase_and_record_change(
            moved, by, "phase-moved", {"opens": opens, "closes": closes}, **facts
        ):
            notify_phase_changed(moved, before, at=timezone.now(), by=by)
    return moved


def open_now(*, phase: Phase, by: User) -> Phase:
    now = timezone.now()
    with transaction.atomic():
        opened = lock_phase(phase)
        if opened.is_open(now):
            return opened
        wanted = {"opens": now}
        if opened.closes <= now:
            planned = find_planned_ends_of_closed_phases([opened])
            if not planned:
                raise ActionRefused(
                    _("%(phase)s is over; give it a new end") % {"phase": opened}
                )
            wanted = {"closes": planned[opened.pk]}
        _update_phase_and_record_change(opened, by, "phase-opened", wanted)
    return opened


def find_planned_ends_of_closed_phases(
    phases: Iterable[Phase],
) -> dict[int, dt.datetime]:
    """Return the planned closing time of each phase that an organiser closed early.
    Phases whose dates were changed since or whose planned time has passed are left out.
    """
    now = timezone.now()
    over = {phase.pk: phase for phase in phases if phase.closes <= now}
    planned: dict[int, dt.datetime] = {}
    for entry in (
        audit.find_history_of_subjects(*over.values()).filter(action="phase-closed")
        if over
        else ()
    ):
        for change in entry.changes:
            end, by_hand = (
                dt.datetime.fromisoformat(change[name]) for name in ("before", "after")
            )
            if by_hand == over[entry.subject_id].closes and end > now:
                planned[entry.subject_id] = end
    return planned


def close_now(*, phase: Phase, by: User) -> Phase:
    now = timezone.now()
    with transaction.atomic():
        closed = lock_phase(phase)
        if closed.closes <= now:
            return closed
        if closed.opens >= now:
            raise ActionRefused(
                _("%(phase)s has not begun; move it instead") % {"phase": closed}
            )
        before = PhaseDeadlineAndLimits.of(closed)
        _update_phase_and_record_change(closed, by, "phase-closed", {"closes": now})
        notify_phase_changed(closed, before, at=now, by=by)
    return closed


def lock_phase(phase: Phase) -> Phase:
    return (
        Phase.objects.select_for_update(of=("self",))
        .select_related("task__season")
        .get(pk=phase.pk)
    )


def _update_phase_and_record_change(
    phase: Phase, by: User, key: str, wanted: dict[str, Any], **facts: str
) -> bool:
    with refuse_early_disclosure(phase.task.season, by=by):
        changes = audit.update_row_and_list_changes(
            phase, wanted, f"tasks.{phase.task.slug}.phases.{phase.slug}."
        )
    if changes:
        increment_board_version(phase.pk)
        facts = {"phase": f"{phase.task}, {phase}", **facts}
        audit.record_action(
            key,
            actor=by,
            subject=phase,
            place=phase.task.season,
            facts=facts,
            changes=changes,
        )
    return bool(changes)


def _format_phase_times(opens: dt.datetime, closes: dt.datetime) -> str:
    if closes >= ENDLESS_PHASE_END:
        return f"{format_history_time(opens)} UTC{ENDLESS_TIME_SUFFIX}"
    return f"{format_history_time(opens)} – {format_history_time(closes)} UTC"


def change_board(
    *, phase: Phase, board: str, board_from: OptionalInstant, board_then: str, by: User
) -> Phase:
    if (board_from is None) != (not board_then):
        raise ActionRefused(
            _("say both when the board is shown to others and to whom, or neither")
        )
    with transaction.atomic():
        changed = lock_phase(phase)
        with audit.render_in_english():
            facts = {"audience": str(Phase.Audience(board).label)}
            if board_from is not None:
                facts |= {
                    "instant": format_history_time(board_from),
                    "then": str(Phase.Audience(board_then).label),
                }
        key = "board-changed" if board_from is None else "board-changed/later"
        _update_phase_and_record_change(
            changed,
            by,
            key,
            {"board": board, "board_from": board_from, "board_then": board_then},
            **facts,
        )
    return changed


def reveal_now(*, phase: Phase, by: User) -> Phase:
    return change_board(
        phase=phase,
        board=Phase.Audience.EVERYONE,
        board_from=None,
        board_then="",
        by=by,
    )


def describe_board_audience(phase: Phase) -> str:
    first = str(Phase.Audience(phase.board).label)
    if phase.board_from is None:
        return first
    then = Phase.Audience(phase.board_then).label
    facts = {
        "audience": first,
        "instant": format_utc_minute(phase.board_from),
        "then": then,
    }
    return _("%(audience)s, from %(instant)s %(then)s") % facts


def set_board_freeze(
    *,
    phase: Phase,
    frozen_from: OptionalInstant,
    frozen_until: OptionalInstant,
    by: User,
) -> Phase:
    now = timezone.now()
    with transaction.atomic():
        changed = lock_phase(phase)
        if frozen_from is None and frozen_until is not None:
            raise ActionRefused(
                _("say from when the board is frozen, not only until when")
            )
        if (
            frozen_from is not None
            and frozen_until is not None
            and frozen_until <= frozen_from
        ):
            raise ActionRefused(_("the board would be revealed before it is frozen"))
        if changed.is_frozen(now) and frozen_from != changed.frozen_from:
            raise ActionRefused(
                _("the board is frozen already; reveal it, then freeze it anew")
            )
        is_revealed = changed.frozen_until is not None and changed.frozen_until <= now
        is_new = frozen_from != changed.frozen_from or (
            is_revealed and frozen_until != changed.frozen_until
        )
        if frozen_from is not None and frozen_from < now and is_new:
            raise ActionRefused(
                _(
                    "a board is frozen from now on or later, since what was seen was seen"
                )
            )
        return _freeze_locked_phase(changed, frozen_from, frozen_until, by)


def freeze_board_now(*, phase: Phase, by: User) -> Phase:
    now = timezone.now()
    with transaction.atomic():
        changed = lock_phase(phase)
        return (
            changed
            if changed.is_frozen(now)
            else _freeze_locked_phase(changed, now, None, by)
        )


def reveal_frozen(*, phase: Phase, by: User) -> Phase:
    now = timezone.now()
    with transaction.atomic():
        changed = lock_phase(phase)
        if not changed.is_frozen(now):
            raise ActionRefused(_("the board is not frozen"))
        # A database constraint requires that a freeze ends after its beginning.
        assert changed.frozen_from is not None
        until = max(now, changed.frozen_from + dt.timedelta(microseconds=1))
        return _freeze_locked_phase(changed, changed.frozen_from, until, by)


def _freeze_locked_phase(
    phase: Phase, frozen_from: OptionalInstant, frozen_until: OptionalInstant, by: User
) -> Phase:
    ends = {"first": frozen_from, "last": frozen_until}
    key = (
        "board-frozen/until"
        if frozen_until
        else "board-frozen"
        if frozen_from
        else "board-frozen/not"
    )
    facts = {
        name: f"{format_history_time(instant)} UTC"
        for name, instant in ends.items()
        if instant is not None
    }
    _update_phase_and_record_change(
        phase,
        by,
        key,
        {"frozen_from": frozen_from, "frozen_until": frozen_until},
        **facts,
    )
    return phase


def describe_board_freeze(phase: Phase) -> str:
    if phase.frozen_from is None:
        return _("it is not")
    first = format_utc_minute(phase.frozen_from)
    if phase.frozen_until is None:
        return _("from %(first)s until it is revealed") % {"first": first}
    return _("from %(first)s until %(last)s") % {
        "first": first,
        "last": format_utc_minute(phase.frozen_until),
    }
