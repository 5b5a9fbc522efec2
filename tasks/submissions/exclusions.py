"""Keeping one run off every board: decided by organisers with a reason that its team reads, and undone."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.teams.models import User
from tasks.models import Submission
from tasks.models.seasons import bump_version
from tasks.notifications.of_runs import tell_excluded
from tasks.submissions.withdraw import NotInThisState, note_change

Exclusion = Submission.Exclusion


def disqualify(submission: Submission, user: User, reason: str) -> Submission:
    """It stays off every board and comparison; once more with another reason changes the reason."""
    return _exclude(submission, user, reason, Exclusion.DISQUALIFIED)


def hide(submission: Submission, user: User, reason: str) -> Submission:
    """It is scored and compared by its team and organisers as before, and stands on no board."""
    return _exclude(submission, user, reason, Exclusion.HIDDEN)


def reinstate(submission: Submission, user: User, reason: str) -> Submission:
    """Undo either. Once more changes nothing."""
    return _exclude(submission, user, reason, "")


def _exclude(submission: Submission, user: User, reason: str, exclusion: str) -> Submission:
    """Raises NotInThisState for a run of no team."""
    if submission.team_id is None:
        raise NotInThisState(_("a run of no team is set and replaced with the season's baselines"))
    told = reason if exclusion else ""
    with transaction.atomic():
        run = Submission.objects.select_for_update().get(pk=submission.pk)
        if (run.exclusion, run.exclusion_reason) != (exclusion, told):
            changes = [
                audit.Change("exclusion", run.exclusion or None, exclusion or None),
                audit.Change("reason", run.exclusion_reason or None, told or None),
            ]
            Submission.objects.filter(pk=run.pk).update(exclusion=exclusion, exclusion_reason=told)
            note_change(submission, user, exclusion or "reinstated", reason, changes)
            tell_excluded(run, exclusion, reason, at=timezone.now())
            bump_version(run.phase_id)
    submission.refresh_from_db()
    return submission
