"""Which of its runs a team lets count, where the phase leaves it the choice."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.teams.models import User
from tasks.models import Phase, Submission
from tasks.models.seasons import bump_version
from tasks.submissions.withdraw import NotInThisState, note_change, require_open

#: A run that is not scored yet can be chosen too: at the deadline there may be no time to wait for it.
MAY_BE_CHOSEN = (*Submission.MOVING, Submission.Status.SCORED)


def select_run(submission: Submission, user: User, reason: str = "") -> Submission:
    """Let this run count instead of its team's others; once more changes nothing.

    With a reason it is an organiser's act, without one its team's. Raises PhaseOver or NotInThisState.
    """
    if submission.phase.counting != Phase.Counting.SELECTED:
        raise NotInThisState(_("in this phase the counting run is not chosen"))
    if submission.status not in MAY_BE_CHOSEN or submission.kind != Submission.Kind.PRIMARY:
        raise NotInThisState(_("a primary run that is scored, or will be, can be chosen"))
    if submission.exclusion:
        raise NotInThisState(
            _("a run that is %(exclusion)s cannot be chosen")
            % {"exclusion": submission.get_exclusion_display()}
        )
    if submission.is_late:
        raise NotInThisState(_("a late run counts only once an organiser has accepted it"))
    with transaction.atomic():
        if not reason:
            require_open(submission)
        own = Submission.objects.select_for_update().filter(
            phase=submission.phase_id, team=submission.team_id
        )
        list(own.order_by("pk"))
        others = own.exclude(pk=submission.pk).filter(is_selected=True)
        before = others.values_list("number", flat=True).first()
        others.update(is_selected=False)
        if own.filter(pk=submission.pk, is_selected=False).update(is_selected=True):
            change = audit.Change("counting run", before, submission.number)
            note_change(submission, user, "chosen", reason, [change])
            bump_version(submission.phase_id)
    submission.refresh_from_db()
    return submission
