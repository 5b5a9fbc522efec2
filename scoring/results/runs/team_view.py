"""Decide which state and events of a run its team may see, if the phase does not show
teams that their runs were scored.
"""

import copy
import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.audit import find_history_of_subjects
from scoring.results.board.visibility import may_see_outcome
from tasks.models import Job, Phase, Submission

SubmissionStatus = Submission.Status
#: Pages show the state DISPLAYED_RECEIVED_STATE, which is never stored, if the real state is hidden.
DISPLAYED_RECEIVED_STATE = "received"
STATES_SHOWN_AS_RECEIVED = (
    SubmissionStatus.QUEUED,
    SubmissionStatus.SCORING,
    SubmissionStatus.WAITING,
    SubmissionStatus.SCORED,
)


def is_outcome_hidden_from(run: Submission, viewer: object) -> bool:
    """Return True if the viewer may see the run but not the progress of its scoring. If
    a run failed, the viewer always sees the failure.
    """
    is_veiled = (
        run.phase.visible_detail_of_own_runs == Phase.OwnRunDetail.NOTHING
        and run.status in STATES_SHOWN_AS_RECEIVED
    )
    return is_veiled and not may_see_outcome(run, viewer)


def copy_run_without_hidden_outcome(run: Submission, viewer: object) -> Submission:
    """Return the run, or a copy with the state “received” if the viewer may not see the
    real state.
    """
    if not is_outcome_hidden_from(run, viewer):
        return run
    shown = copy.copy(run)
    shown.status, shown.status_since, shown.reason = (
        DISPLAYED_RECEIVED_STATE,
        run.submitted_at,
        "",
    )
    if hasattr(shown, "progress"):
        shown.progress = None
    return shown


JOB_END_LABELS = {
    Job.State.DONE: gettext_lazy("done"),
    Job.State.FAILED: gettext_lazy("failed"),
    Job.State.CANCELLED: gettext_lazy("stopped"),
}


@dataclass(frozen=True, kw_only=True)
class Event:
    """An event in the history of a run. ``by`` is the user who caused the event, or
    empty if the site caused the event.
    """

    at: dt.datetime
    words: str
    by: str = ""
    changes: list[dict[str, Any]] = field(default_factory=list)


def list_events_of_run(run: Submission, viewer: object) -> list[Event]:
    """Return the events in the history of a run, in chronological order. Viewers who
    may not see the progress of the run get no events about scoring.
    """
    events = (
        []
        if run.begun_at is None
        else [Event(at=run.begun_at, words=_("the upload began"))]
    )
    by = str(run.submitted_by) if run.submitted_by else ""
    name = (
        f"{run.filename}, SHA-256 {run.sha256[:12]}"
        if run.filename
        else _("no file yet")
    )
    events.append(
        Event(
            at=run.submitted_at, words=_("received: %(file)s") % {"file": name}, by=by
        )
    )
    if not is_outcome_hidden_from(run, viewer):
        events += _iterate_job_events(run)
    events += (
        Event(at=one.at, words=one.words, by=one.who, changes=one.changes)
        for one in find_history_of_subjects(run)
    )
    return sorted(events, key=lambda event: event.at)


def _iterate_job_events(run: Submission) -> Iterator[Event]:
    for job in run.jobs.select_related("gold"):
        what = str(Job.Kind(job.kind).label)
        if job.rules:
            what = _("%(step)s under “%(rules)s” against gold v%(number)s") % {
                "step": what,
                "rules": job.rules,
                "number": job.gold.number,
            }
        if job.started_at is not None:
            began = (
                _("%(what)s began, attempt %(attempt)s")
                if job.attempt > 1
                else _("%(what)s began")
            )
            yield Event(
                at=job.started_at, words=began % {"what": what, "attempt": job.attempt}
            )
        if job.finished_at is not None and job.state in JOB_END_LABELS:
            why = f": {job.reason}" if job.reason else ""
            yield Event(
                at=job.finished_at,
                words=f"{what}: {JOB_END_LABELS[Job.State(job.state)]}{why}",
            )
