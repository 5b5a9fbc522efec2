"""Acknowledging failures, so that what still needs attention stands out; and taking that back."""

import datetime as dt

from django.db import transaction
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.plain_text import check_length, one_line
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from tasks.models import Acknowledgement, Job, Submission
from tasks.models.jobs import MAX_NOTE
from tasks.models.seasons import bump_version


def acknowledge(*, run: Submission, job: Job | None = None, note: str, by: User) -> Acknowledgement:
    """Of the run, or of its ``job`` that could not score it again. Once more it changes nothing."""
    note = one_line(note)
    check_length("note", note, MAX_NOTE, _("the note has %(found)s characters; at most %(most)s fit"))
    with transaction.atomic():
        held = Submission.objects.select_for_update(of=("self",)).select_related("phase__task__season")
        own = held.get(pk=run.pk)
        failed_at = _failed_at(own, job)
        found, is_new = Acknowledgement.objects.get_or_create(
            submission=own, job=job, failed_at=failed_at, defaults={"note": note, "by": by}
        )
        if is_new:
            bump_version(own.phase_id)
            _noted(found, by, "failure-acknowledged", audit.Change("acknowledged", None, note))
    return found


def take_acknowledgement_back(*, acknowledgement: Acknowledgement, by: User) -> None:
    with transaction.atomic():
        rows = Acknowledgement.objects.select_for_update(of=("self",))
        held = rows.select_related("submission__phase__task__season", "job").filter(pk=acknowledgement.pk)
        for found in held:
            _noted(found, by, "failure-not-acknowledged", audit.Change("acknowledged", found.note, None))
            bump_version(found.submission.phase_id)
            found.delete()


def _failed_at(run: Submission, job: Job | None) -> dt.datetime:
    if job is None:
        if run.status == Submission.Status.FAILED:
            return run.status_since
        words = _("%(run)s has not failed; it is %(status)s")
        raise Refused(words % {"run": run, "status": run.get_status_display()})
    job.refresh_from_db(fields=["state", "finished_at"])
    if job.state != Job.State.FAILED or job.finished_at is None:
        words = _("the scoring of %(run)s under %(rules)s has not failed; it is %(state)s")
        raise Refused(words % {"run": run, "rules": job.rules, "state": Job.State(job.state).label})
    return job.finished_at


def _noted(found: Acknowledgement, by: User, action: str, change: audit.Change) -> None:
    run, job = found.submission, found.job
    facts: dict[str, object] = {"run": run, "rules": job.rules} if job else {"run": run}
    if action == "failure-acknowledged":
        facts["reason"] = found.note
    key, place = f"{action}/rules" if job else action, run.phase.task.season
    audit.record(key, actor=by, subject=run, place=place, facts=facts, changes=[change])
