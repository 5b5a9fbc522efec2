"""A run as its team is told of it, where a phase shows teams not even that their runs were scored."""

from __future__ import annotations

import copy

from scoring.board.visibility import may_see_outcome
from tasks.models import Phase, Submission

Status = Submission.Status
#: What stands in the place of a state; no run is stored with it.
RECEIVED = "received"
HIDDEN = (Status.QUEUED, Status.SCORING, Status.WAITING, Status.SCORED)


def hides_outcome(run: Submission, viewer: object) -> bool:
    """Whether the viewer may see the run and not how far it has come. One that failed is always told."""
    is_veiled = run.phase.own_runs_show == Phase.OwnRuns.NOTHING and run.status in HIDDEN
    return is_veiled and not may_see_outcome(run, viewer)


def as_told(run: Submission, viewer: object) -> Submission:
    """The run, or a copy of it that says only that it was received, for those who may see no more."""
    if not hides_outcome(run, viewer):
        return run
    told = copy.copy(run)
    told.status, told.status_since, told.reason = RECEIVED, run.submitted_at, ""
    if hasattr(told, "progress"):
        told.progress = None
    return told
