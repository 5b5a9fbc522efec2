"""Gold that its organisers give out, and with it the runs on a board, so that anybody can check a number."""

from __future__ import annotations

from django.utils.timezone import now

from scoring.board.standings import standing_of
from scoring.board.visibility import Visibility, audience_of, visibility_of
from tasks.models import Phase, Submission
from tasks.seasons.access import may_have_inputs


def may_have_gold(phase: Phase, viewer: object) -> bool:
    """Where the phase gives it out, the viewer sees the numbers and may have the inputs (the season's terms
    are accepted, where it has some), and no phase needs it secret any more: none on it is open, keeps it
    under an embargo or has a frozen board, since whoever has the gold can compute what is not shown.
    """
    if not phase.gold_is_public or visibility_of(phase, audience_of(phase, viewer)) != Visibility.SCORES:
        return False
    if not may_have_inputs(viewer, phase):
        return False
    at = now()
    same_gold = Phase.objects.filter(task=phase.task_id, split=phase.split)
    return not any(own.keeps_gold(at) for own in same_gold)


def open_run(phase: Phase, viewer: object, submission: int) -> Submission | None:
    """A run that stands on the board, where it is given out with the gold."""
    if not may_have_gold(phase, viewer) or standing_of(phase, viewer, submission) is None:
        return None
    run = Submission.objects.get(pk=submission)
    # What annotators answered is gold, and so no run.
    return run if run.file and run.kind != Submission.Kind.HUMAN else None
