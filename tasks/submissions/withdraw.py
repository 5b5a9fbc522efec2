"""Taking a run back: by its team while the phase is open, by an organiser at any time and with a reason."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from tasks.jobs.leases import cancel_jobs
from tasks.models import Phase, Submission
from tasks.models.seasons import bump_version

Status = Submission.Status


class NotInThisState(Refused):
    """What is asked cannot be done with the run as it is; the message says what can."""


class PhaseOver(NotInThisState):
    """After a phase its teams change nothing any more."""

    def __init__(self, phase: Phase) -> None:
        closed = f"{phase.closes.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"
        super().__init__(
            _("%(phase)s closed at %(instant)s; from then on only organisers change what stands")
            % {"phase": phase, "instant": closed}
        )


def cancel(submission: Submission, user: User, reason: str = "") -> Submission:
    """Stop a run that is not scored yet; it no longer counts. Once more changes nothing.

    With a reason it is an organiser's act, without one its team's. Raises PhaseOver or NotInThisState.
    """
    _move(submission, Status.CANCELLED, allowed=Submission.MOVING, by=user, reason=reason)
    if submission.status != Status.CANCELLED:
        raise NotInThisState(
            _("a run that %(is_now)s cannot be cancelled; one that is scored can be withdrawn")
            % {"is_now": _is_now(submission)}
        )
    return submission


def withdraw(submission: Submission, user: User, reason: str = "") -> Submission:
    """Take a scored run off the board; it keeps its number and still counts. Once more changes nothing.

    With a reason it is an organiser's act, without one its team's. Raises PhaseOver or NotInThisState.
    """
    _move(submission, Status.WITHDRAWN, allowed=(Status.SCORED,), by=user, reason=reason)
    if submission.status != Status.WITHDRAWN:
        raise NotInThisState(
            _("a run that %(is_now)s cannot be withdrawn; one that still moves can be cancelled")
            % {"is_now": _is_now(submission)}
        )
    return submission


def take_back(submission: Submission, user: User, reason: str = "") -> Submission:
    """Cancel a run that still moves, withdraw one that is scored: for teams that do not see which it is."""
    try:
        return cancel(submission, user, reason)
    except NotInThisState as refused:
        if isinstance(refused, PhaseOver):
            raise
        return withdraw(submission, user, reason)


def accept_late(submission: Submission, user: User, reason: str) -> Submission:
    """An organiser lets a late run count as if it had come in time. Once more changes nothing."""
    with transaction.atomic():
        late = Submission.objects.filter(pk=submission.pk, is_late=True)
        if late.update(is_late=False, reason=f"Accepted though late by the organiser {user}: {reason}"):
            note_change(submission, user, "accepted", reason, [audit.Change("late", True, False)])
            bump_version(submission.phase_id)
    submission.refresh_from_db()
    return submission


def require_open(submission: Submission) -> None:
    """Raises PhaseOver where the team's time to change what stands is over."""
    phase = Phase.objects.get(pk=submission.phase_id)
    if phase.closes <= timezone.now():
        raise PhaseOver(phase)


def note_change(
    submission: Submission, by: User, verb: str, reason: str = "", changes: Iterable[audit.Change] = ()
) -> None:
    """Write down who changed what stands for a team, in the transaction that changes it."""
    words = f"{verb} run {submission.number} ({submission.system}) of {submission.team} in {submission.phase}"
    audit.note(
        actor=by,
        action=f"run-{verb}",
        words=f"{words}: {reason}" if reason else words,
        subject=submission,
        place=submission.phase.task.season,
        changes=changes,
    )


def replace(before: Submission, new: Submission) -> None:
    """Let a baseline give way to a later run of the same system."""
    allowed = (*Submission.MOVING, Status.SCORED, Status.FAILED)
    with transaction.atomic():
        _set(before, Status.WITHDRAWN, allowed, f"Replaced by run {new.number}.")
    before.refresh_from_db()


def _move(submission: Submission, status: Status, *, allowed: tuple[str, ...], by: User, reason: str) -> None:
    """To the status, from one of those that allow it; the object then says what the database says."""
    done = status.value.capitalize()
    told = f"{done} by the organiser {by}: {reason}" if reason else f"{done} by {by}."
    with transaction.atomic():
        if not reason:
            require_open(submission)
        if _set(submission, status, allowed, told):
            # The object still says what it was.
            change = audit.Change("status", submission.status, status.value)
            note_change(submission, by, status.value, reason, [change])
    submission.refresh_from_db()


def _set(submission: Submission, status: Status, allowed: tuple[str, ...], reason: str) -> int:
    # The jobs come first, as everywhere: a worker that publishes meanwhile locks them in this order.
    list(submission.jobs.select_for_update().order_by("pk"))
    moved = Submission.objects.filter(pk=submission.pk, status__in=allowed).update(
        status=status, status_since=timezone.now(), reason=reason
    )
    if moved:
        cancel_jobs(submission.pk)
        bump_version(submission.phase_id)
    return moved


def _is_now(submission: Submission) -> str:
    if submission.status == Status.FAILED:
        return _("has failed")
    return _("is %(status)s") % {"status": submission.get_status_display()}
