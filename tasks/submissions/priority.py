"""In which order a team's runs are judged, where a phase takes the first few of them."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.words import counted
from citeboard.teams.models import Team, User
from tasks.models import Phase, Submission
from tasks.models.seasons import bump_version
from tasks.registration.entries import lock_entry
from tasks.submissions.withdraw import NotInThisState, note_change, require_open


def in_priority(phase: Phase, team: Team | None) -> QuerySet[Submission]:
    """The runs that have a place, first things first: primary ones in time that used up a try.

    A run that was withdrawn or excluded keeps its place, so that no other moves up by that; a run that failed
    or was cancelled has none.
    """
    own = Submission.objects.filter(
        phase=phase, team=team, kind=Submission.Kind.PRIMARY, status__in=Submission.COUNTED, is_late=False
    )
    return own.order_by("priority", "number")


def check_priority(phase: Phase, kind: str, place: int | None) -> None:
    """Raises ValidationError where a run that is sent there can have no such place."""
    if place is None:
        return
    if phase.counting != Phase.Counting.PRIORITY:
        raise ValidationError({"priority": _("in this phase runs have no priority")})
    if kind != Submission.Kind.PRIMARY:
        raise ValidationError({"priority": _("a contrastive run has no priority")})
    if place < 1:
        raise ValidationError({"priority": _("%(place)s is no place; 1 is the first") % {"place": place}})


def give_priority(submission: Submission, place: int | None) -> None:
    """Set a run that has just been sent to this place among its team's, the others move down; behind all
    without one. Inside the transaction that stores it, which holds the team's entry.
    """
    others = list(in_priority(submission.phase, submission.team).exclude(pk=submission.pk))
    wanted = len(others) if place is None or submission.is_late else place - 1
    _numbered([*others[:wanted], submission, *others[wanted:]])
    if wanted < len(others):
        bump_version(submission.phase_id)


def set_priority(submission: Submission, user: User, reason: str = "", *, place: int) -> Submission:
    """Move the run to this place among its team's runs; the same place changes nothing.

    With a reason it is an organiser's act, without one its team's. Raises PhaseOver or NotInThisState.
    """
    if submission.phase.counting != Phase.Counting.PRIORITY:
        raise NotInThisState(_("in this phase runs have no priority"))
    with transaction.atomic():
        assert submission.team is not None
        lock_entry(submission.phase, submission.team)
        if not reason:
            require_open(submission)
        runs = list(in_priority(submission.phase, submission.team))
        numbers = [run.pk for run in runs]
        if submission.pk not in numbers:
            raise NotInThisState(_("a primary run that is in time and has not failed has a priority"))
        if not 1 <= place <= len(runs):
            raise NotInThisState(
                _("the team has %(runs)s with a priority, and no place %(place)s")
                % {"runs": counted(len(runs), "run"), "place": place}
            )
        before = numbers.index(submission.pk) + 1
        if place != before:
            moved = runs.pop(before - 1)
            runs.insert(place - 1, moved)
            _numbered(runs)
            change = audit.Change("priority", before, place)
            note_change(submission, user, "given another priority", reason, [change])
            bump_version(submission.phase_id)
    submission.refresh_from_db()
    return submission


def _numbered(runs: list[Submission]) -> None:
    for place, run in enumerate(runs, start=1):
        if run.priority != place:
            run.priority = place
            run.save(update_fields=["priority"])
