"""Jobs of runs: made, claimed by whose turn it is, and ended; a submission follows its job.

Rows are locked in one order everywhere: a group of workers, the job, its submission, the phase.
"""

import datetime as dt
import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q

from citeboard.core.database import from_now
from citeboard.core.logs import request_id
from tasks.jobs.engine import SCORE, QueuedKind
from tasks.jobs.groups import lock_group
from tasks.jobs.queue_choice import claimable, facts_of, next_job
from tasks.models import Gold, Job, Phase, Registration, Submission
from tasks.models.seasons import bump_version
from tasks.notifications.events import tell_failed, tell_scored
from tasks.registration.entries import lock_entry

log = logging.getLogger(__name__)

State, Step, Status = Job.State, Job.Step, Submission.Status

MOVING = (State.QUEUED, State.RUNNING, State.WAITING)
ENDED = (State.DONE, State.FAILED, State.CANCELLED)
#: States from which a submission follows its job. A scored run stays scored while it is scored anew, and
#: what its team cancelled or withdrew stays so.
FOLLOWING = (*Submission.MOVING, Status.FAILED)
#: The rules of a job that scores nothing.
NO_RULES = ""
#: Failed and cancelled runs cost nothing and stay so: a score would use up one of their team's tries.
SCORED_AGAIN = (*Submission.MOVING, Status.SCORED)
#: A baseline whose run is still being computed is scored when it is there.
UNWRITTEN = Q(kind=Submission.Kind.BASELINE, file="")

STOPPED = "The worker was stopped; the run is scored again by itself."


class Jobs(QueuedKind[Job]):
    model = Job
    related = ("submission__phase__task", "gold")
    function, name = SCORE, "job"
    lost_reason = "The worker that scored the run was gone."
    when_lost: ClassVar = {"leases_lost": F("leases_lost") + 1}

    def was_queued(self, row: Job, reason: str) -> None:
        _sync_submission_status(row, _waiting_status(row), reason)

    def fail_last(self, row: Job, reason: str, attempts: int) -> bool:
        times = "once" if attempts == 1 else f"{attempts} times"
        return fail(row, f"{reason} It was begun {times}, which is as often as a run is begun.")

    def described(self, row: Job) -> dict[str, object]:
        return {"job": row.pk, "submission": row.submission_id, "attempt": row.attempt, "trace": row.trace}


JOBS = Jobs()
wake, crashed, described = JOBS.wake, JOBS.crashed, JOBS.described


def options_digest(options: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(dict(options), sort_keys=True).encode()).hexdigest()


def create_jobs(submission: Submission, gold: Gold) -> list[Job]:
    """The jobs that were missing for scoring the run against the gold under each of the task's rule sets."""
    jobs = [
        _job(submission, gold, rules, sets_status=position == 0)
        for position, rules in enumerate(submission.phase.task.rules)
    ]
    return [job for job, is_new in jobs if is_new]


def create_writing_job(submission: Submission, gold: Gold) -> Job:
    return _job(submission, gold, NO_RULES, sets_status=True, step=Step.WRITE)[0]


def create_check(submission: Submission, gold: Gold) -> Job:
    return _job(submission, gold, NO_RULES, sets_status=True, step=Step.CHECK)[0]


def _job(
    submission: Submission, gold: Gold, rules: str, *, sets_status: bool, step: Job.Step = Job.Step.SCORE
) -> tuple[Job, bool]:
    options, trace = submission.phase.task.options, request_id.get()
    facts = {"options": options, "sets_status": sets_status, "step": step}
    facts |= {"trace": "" if trace == "-" else trace, **facts_of(submission, step)}
    job, is_new = Job.objects.get_or_create(
        submission=submission,
        gold=gold,
        rules=rules,
        options_digest=options_digest(options),
        defaults=facts,
    )
    if is_new:
        wake(job)
        log.info("Job %s is made", job.pk, extra=described(job))
    return job, is_new


def claim(job_id: int, owner: str) -> Job | None:
    queued = Job.objects.filter(state=State.QUEUED)
    with transaction.atomic():
        job = JOBS.claim(queued, job_id, owner, started_at=from_now(), progress=0, reason="")
        if job is None:
            return None
        _sync_submission_status(job, Status.CHECKING if job.step == Step.CHECK else Status.SCORING)
    log.info("Job %s claimed, attempt %s", job.pk, job.attempt, extra=described(job))
    return job


def claim_next(owner: str, group: str) -> Job | None:
    # Most wakes that come twice end here, before anything is locked.
    while claimable(group).exists():
        with transaction.atomic():
            lock_group(group)
            chosen = next_job(claimable(group))
            job = None if chosen is None else claim(chosen, owner)
        # Another may have taken it, or the last of the sender whose turn it was.
        if job is not None:
            return job
    return None


def heartbeat(job: Job, progress: float) -> bool:
    return JOBS.heartbeat(job, progress=progress)


def complete(job: Job, record: Callable[[], object]) -> bool:
    with transaction.atomic():
        if not JOBS.end_lease(job, state=State.DONE, finished_at=from_now(), progress=1, reason=""):
            return False
        record()
        has_moved = _sync_submission_status(job, Status.QUEUED if job.writes_run else Status.SCORED)
        if not job.writes_run:
            tell_scored(job, is_first=has_moved)
        bump_version(job.submission.phase_id)
    log.info("Job %s %s", job.pk, "computed a run" if job.writes_run else "scored", extra=described(job))
    return True


def accept(job: Job, warnings: Sequence[Mapping[str, Any]]) -> bool:
    """The run can be scored: make the jobs that do it in the transaction that ends the check."""
    submission = job.submission
    with transaction.atomic():
        # As when a run is sent: either a new gold sees this run, or this run sees the new gold.
        if submission.team is not None:
            lock_entry(submission.phase, submission.team)
        if not JOBS.end_lease(job, state=State.DONE, finished_at=from_now(), progress=1, reason=""):
            return False
        # Rules and options may be others than when the check began.
        submission = Submission.objects.select_related("phase__task").get(pk=submission.pk)
        gold = Gold.objects.current(submission.phase)
        assert gold is not None, "gold is never taken away"
        Submission.objects.filter(pk=submission.pk).update(warnings=[*submission.warnings, *warnings])
        create_jobs(submission, gold)
        _sync_submission_status(job, Status.QUEUED)
    log.info("Job %s checked", job.pk, extra=described(job))
    return True


def check_again(submission: Submission, gold: Gold) -> bool:
    with transaction.atomic():
        last = submission.jobs.filter(step=Step.CHECK).order_by("pk").last()
        if last is None or last.state != State.FAILED:
            return False
        job = create_check(submission, gold)
        if not restart(job):
            _sync_submission_status(job, Status.CHECKING)
    return True


def fail(
    job: Job, reason: str, problems: Sequence[Mapping[str, Any]] = (), *, hit_limit: bool = False
) -> bool:
    with transaction.atomic():
        if not JOBS.end_lease(job, state=State.FAILED, finished_at=from_now(), reason=reason):
            return False
        _sync_submission_status(job, Status.FAILED, reason, problems=list(problems), hit_limit=hit_limit)
        tell_failed(job, has_problems=bool(problems))
        bump_version(job.submission.phase_id)
    log.warning("Job %s failed: %s", job.pk, reason, extra=described(job))
    return True


def release(job: Job) -> bool:
    """Leave the job to another worker, in good order: this attempt is not counted."""
    return JOBS.requeue(job, STOPPED, is_counted=False)


def defer(job: Job, reason: str, *, until: dt.datetime | None = None) -> bool:
    """Something is missing that is not the run's fault: the job waits, uncounted, and a sweep resumes it."""
    waiting: dict[str, Any] = {"state": State.WAITING, "reason": reason, "woken_at": until or from_now()}
    with transaction.atomic():
        if not JOBS.end_lease(job, is_counted=False, **waiting):
            return False
        _sync_submission_status(job, Status.WAITING, reason)
    log.warning("Job %s waits: %s", job.pk, reason, extra=described(job))
    return True


def resume(job: Job) -> bool:
    with transaction.atomic():
        moved = Job.objects.filter(pk=job.pk, state=State.WAITING).update(state=State.QUEUED)
        if moved:
            wake(job)
    return bool(moved)


def cancel_jobs(submission_id: int) -> None:
    moving = Job.objects.filter(submission_id=submission_id, state__in=MOVING)
    moving.update(state=State.CANCELLED, finished_at=from_now(), lease_expires_at=None, reason="")


def restart(job: Job) -> bool:
    with transaction.atomic():
        facts = facts_of(job.submission, Job.Step(job.step))
        moved = Job.objects.filter(pk=job.pk, state__in=ENDED).update(
            state=State.QUEUED, attempt=0, progress=0, reason="", finished_at=None, **facts
        )
        if moved:
            _sync_submission_status(job, _waiting_status(job))
            wake(job)
    return bool(moved)


def rescore(phase: Phase, most: int | None = None) -> list[Job]:
    """Queue what is missing: each run against the gold of this moment, under each of the task's rule sets."""
    rules = phase.task.rules
    with transaction.atomic():
        # A run that is being sent holds its team's entry: it is waited for, and later ones see the new gold.
        list(Registration.objects.select_for_update().filter(season=phase.task.season_id).order_by("pk"))
        gold = Gold.objects.current(phase)
        if gold is None:
            return []
        # What is still computed or checked is scored after that.
        checks = Job.objects.filter(submission=OuterRef("pk"), step=Step.CHECK, state__in=MOVING)
        runs = Submission.objects.filter(~Exists(checks), phase=phase, status__in=SCORED_AGAIN)
        options = options_digest(phase.task.options)
        wanted = Q(jobs__gold=gold, jobs__rules__in=rules, jobs__options_digest=options)
        missing = runs.exclude(UNWRITTEN).annotate(queued=Count("jobs", filter=wanted))
        missing = missing.filter(queued__lt=len(rules)).select_related("phase__task").order_by("pk")
        return [job for run in missing[:most] for job in create_jobs(run, gold)]


def _waiting_status(job: Job) -> Submission.Status:
    return Status.CHECKING if job.step == Step.CHECK else Status.QUEUED


def _sync_submission_status(job: Job, status: Submission.Status, reason: str = "", **facts: object) -> bool:
    if not job.sets_status:
        return False
    facts = {"problems": [], "hit_limit": False, **facts}
    following = Submission.objects.filter(pk=job.submission_id, status__in=FOLLOWING)
    return bool(following.update(status=status, status_since=from_now(), reason=reason, **facts))
