"""Who works on a job, and what becomes of it. Every change is one conditional UPDATE of the job's row.

A claim is recognised by its owner and its attempt, so whoever lost the job changes nothing any more. Its time
goes by the database's clock. Rows are locked in one order everywhere: a group of workers, the job, its
submission, the phase.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from citeboard.core.database import from_now
from citeboard.core.logs import request_id
from tasks.jobs.groups import lock_group
from tasks.jobs.queue import wake
from tasks.jobs.queue_choice import claimable, facts_of, next_job
from tasks.models import Gold, Job, Phase, Registration, Submission
from tasks.models.seasons import bump_version
from tasks.notifications.events import tell_failed, tell_scored
from tasks.registration.entries import lock_entry

log = logging.getLogger(__name__)

State = Job.State
Step = Job.Step
Status = Submission.Status

MOVING = (State.QUEUED, State.RUNNING, State.WAITING)
ENDED = (State.DONE, State.FAILED, State.CANCELLED)
#: States from which a submission follows its job. A scored run stays scored while it is scored anew, and
#: what its team cancelled or withdrew stays so.
FOLLOWING = (*Submission.MOVING, Status.FAILED)

#: The rules of a job that scores nothing.
NO_RULES = ""

LOST = "The worker that scored the run was gone."
STOPPED = "The worker was stopped; the run is scored again by itself."


def options_digest(options: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(dict(options), sort_keys=True).encode()).hexdigest()


def create_jobs(submission: Submission, gold: Gold) -> list[Job]:
    """The jobs that were missing for scoring the run against the gold under each of the task's rule sets.

    To be called in a transaction; each new job is woken in it.
    """
    found = [
        _job(submission, gold, rules, sets_status=position == 0)
        for position, rules in enumerate(submission.phase.task.rules)
    ]
    return [job for job, is_new in found if is_new]


def create_writing_job(submission: Submission, gold: Gold) -> Job:
    """The job that computes a baseline's run; to be called in a transaction, in which it is woken."""
    return _job(submission, gold, NO_RULES, sets_status=True, step=Step.WRITE)[0]


def create_check(submission: Submission, gold: Gold) -> Job:
    """The job that checks a run before any scores it; the same."""
    return _job(submission, gold, NO_RULES, sets_status=True, step=Step.CHECK)[0]


def _job(
    submission: Submission, gold: Gold, rules: str, *, sets_status: bool, step: Job.Step = Job.Step.SCORE
) -> tuple[Job, bool]:
    """The job, and whether it was missing."""
    options = submission.phase.task.options
    job, is_new = Job.objects.get_or_create(
        submission=submission,
        gold=gold,
        rules=rules,
        options_digest=options_digest(options),
        defaults={"options": options, "sets_status": sets_status, "step": step, "trace": _trace()}
        | facts_of(submission, step),
    )
    if is_new:
        wake(job)
        log.info("Job %s is made", job.pk, extra=described(job))
    return job, is_new


def _trace() -> str:
    given = request_id.get()
    return "" if given == "-" else given


def claim(job_id: int, owner: str) -> Job | None:
    """Take a queued job and count the attempt; None if there is nothing to take."""
    with transaction.atomic():
        taken = Job.objects.filter(pk=job_id, state=State.QUEUED).update(
            state=State.RUNNING,
            attempt=F("attempt") + 1,
            lease_owner=owner,
            lease_expires_at=from_now(settings.LEASE_SECONDS),
            started_at=from_now(),
            progress=0,
            reason="",
        )
        if not taken:
            return None
        job = Job.objects.select_related("submission__phase__task", "gold").get(pk=job_id)
        _sync_submission_status(job, Status.CHECKING if job.step == Step.CHECK else Status.SCORING)
    log.info("Job %s claimed, attempt %s", job.pk, job.attempt, extra=described(job))
    return job


def claim_next(owner: str, group: str) -> Job | None:
    """Take the job whose turn it is of those that a worker of this group may take; None if there is none."""
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
    """A sign of life that renews the lease; False once the job is no longer ours."""
    return bool(leased(job).update(lease_expires_at=from_now(settings.LEASE_SECONDS), progress=progress))


def complete(job: Job, record: Callable[[], object]) -> bool:
    """Publish what came out: all of it in one transaction, and only while the job is ours.

    A run that was computed is queued to be scored.
    """
    with transaction.atomic():
        if not _end(leased(job), State.DONE, progress=1, reason=""):
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
        if not _end(leased(job), State.DONE, progress=1, reason=""):
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
    """Check anew, against this gold, a run whose check failed; False for any other run."""
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
    """End the job for good, for a reason its team can read; ``problems`` are those of its file.

    ``hit_limit`` where it ran into its limit of computing time or memory.
    """
    return _fail(job, leased(job), reason, problems=list(problems), hit_limit=hit_limit)


def crashed(job: Job, reason: str) -> bool:
    """The scorer ended without a word: begin again, or fail once every attempt is used up."""
    return _again_or_fail(job, leased(job), reason)


def expire_lease(job: Job, now: dt.datetime) -> bool:
    """The worker gave no sign of life until its lease ended: the same, unless it gave one meanwhile."""
    with transaction.atomic():
        is_lost = _again_or_fail(job, leased(job).filter(lease_expires_at__lt=now), LOST)
        if is_lost:
            Job.objects.filter(pk=job.pk).update(leases_lost=F("leases_lost") + 1)
    return is_lost


def release(job: Job) -> bool:
    """Leave the job to another worker, in good order: this attempt is not counted."""
    return _requeue(job, leased(job), STOPPED, attempt=F("attempt") - 1)


def defer(job: Job, reason: str, *, until: dt.datetime | None = None) -> bool:
    """Something is missing that is not the run's fault: the job waits, uncounted, and a sweep resumes it.

    A sweep leaves it alone ``until`` then, where whoever brings what is missing resumes it.
    """
    waiting = {"state": State.WAITING, "reason": reason, "woken_at": until or from_now()}
    with transaction.atomic():
        if not leased(job).update(lease_expires_at=None, attempt=F("attempt") - 1, **waiting):
            return False
        _sync_submission_status(job, Status.WAITING, reason)
    log.warning("Job %s waits: %s", job.pk, reason, extra=described(job))
    return True


def resume(job: Job) -> bool:
    """Try again what waits; its submission goes on waiting until a worker begins."""
    with transaction.atomic():
        moved = Job.objects.filter(pk=job.pk, state=State.WAITING).update(state=State.QUEUED)
        if moved:
            wake(job)
    return bool(moved)


def cancel_jobs(submission_id: int) -> None:
    """End whatever still moves; a worker that scores it notices at its next sign of life."""
    _end(Job.objects.filter(submission_id=submission_id, state__in=MOVING), State.CANCELLED, reason="")


def restart(job: Job) -> bool:
    """Score anew what has ended, with all attempts before it; False while it has not ended."""
    with transaction.atomic():
        facts = facts_of(job.submission, Job.Step(job.step))
        moved = Job.objects.filter(pk=job.pk, state__in=ENDED).update(
            state=State.QUEUED, attempt=0, progress=0, reason="", finished_at=None, **facts
        )
        if moved:
            _sync_submission_status(job, _waiting_status(job))
            wake(job)
    return bool(moved)


def described(job: Job) -> dict[str, object]:
    """What each log line about a job carries."""
    return {"job": job.pk, "submission": job.submission_id, "attempt": job.attempt, "trace": job.trace}


def leased(job: Job) -> QuerySet[Job]:
    """The job's row, as long as it is held by the claim that ``job`` was read under."""
    return Job.objects.filter(
        pk=job.pk, state=State.RUNNING, lease_owner=job.lease_owner, attempt=job.attempt
    )


def _end(jobs: QuerySet[Job], state: Job.State, **changes: object) -> int:
    return jobs.update(state=state, finished_at=from_now(), lease_expires_at=None, **changes)


def _again_or_fail(job: Job, row: QuerySet[Job], reason: str) -> bool:
    if job.attempt < settings.MAX_ATTEMPTS:
        return _requeue(job, row, reason)
    times = "once" if job.attempt == 1 else f"{job.attempt} times"
    return _fail(job, row, f"{reason} It was begun {times}, which is as often as a run is begun.")


def _requeue(job: Job, row: QuerySet[Job], reason: str, **changes: object) -> bool:
    with transaction.atomic():
        queued = {"state": State.QUEUED, "lease_expires_at": None, "reason": reason, "progress": 0}
        if not row.update(**queued, **changes):
            return False
        _sync_submission_status(job, _waiting_status(job), reason)
        wake(job)
    log.warning("Job %s is queued again: %s", job.pk, reason, extra=described(job))
    return True


def _fail(job: Job, row: QuerySet[Job], reason: str, **facts: object) -> bool:
    with transaction.atomic():
        if not _end(row, State.FAILED, reason=reason):
            return False
        _sync_submission_status(job, Status.FAILED, reason, **facts)
        tell_failed(job, has_problems=bool(facts.get("problems")))
        bump_version(job.submission.phase_id)
    log.warning("Job %s failed: %s", job.pk, reason, extra=described(job))
    return True


def _waiting_status(job: Job) -> Submission.Status:
    """What a submission is while this job of it is in the queue."""
    return Status.CHECKING if job.step == Step.CHECK else Status.QUEUED


def _sync_submission_status(job: Job, status: Submission.Status, reason: str = "", **facts: object) -> bool:
    """Whether the submission follows the job; what is said of a failure goes with the next status."""
    if not job.sets_status:
        return False
    known = {"problems": [], "hit_limit": False, **facts}
    following = Submission.objects.filter(pk=job.submission_id, status__in=FOLLOWING)
    return bool(following.update(status=status, status_since=from_now(), reason=reason, **known))


#: Failed and cancelled runs cost nothing and stay so: a score would use up one of their team's tries.
SCORED_AGAIN = (*Submission.MOVING, Submission.Status.SCORED)
#: A baseline whose run is still being computed is scored when it is there.
UNWRITTEN = Q(kind=Submission.Kind.BASELINE, file="")


def rescore(phase: Phase, most: int | None = None) -> list[Job]:
    """Queue what is missing: each run against the gold of this moment, under each of the task's rule sets.

    What is scored stays on the board meanwhile. Once more, it creates nothing. ``most`` limits how many runs
    are seen to at once.
    """
    with transaction.atomic():
        gold = _gold_of_this_moment(phase)
        if gold is None:
            return []
        runs = _runs_without_jobs(phase, gold).select_related("phase__task").order_by("pk")[:most]
        return [job for run in runs for job in create_jobs(run, gold)]


def _runs_without_jobs(phase: Phase, gold: Gold) -> QuerySet[Submission]:
    """Those that lack a job under some of the rule sets."""
    own = Q(
        jobs__gold=gold,
        jobs__rules__in=phase.task.rules,
        jobs__options_digest=options_digest(phase.task.options),
    )
    return _runs(phase).annotate(queued=Count("jobs", filter=own)).filter(queued__lt=len(phase.task.rules))


def _runs(phase: Phase) -> QuerySet[Submission]:
    """Those that are scored, or wait for it; what is still computed or checked is scored after that."""
    checks = Job.objects.filter(submission=OuterRef("pk"), step=Job.Step.CHECK, state__in=MOVING)
    runs = Submission.objects.filter(phase=phase, status__in=SCORED_AGAIN)
    return runs.exclude(UNWRITTEN).filter(~Exists(checks))


def _gold_of_this_moment(phase: Phase) -> Gold | None:
    """To be asked for in a transaction.

    A run that is being sent holds its team's entry: it is waited for, and later ones see the new gold.
    """
    list(Registration.objects.select_for_update().filter(season=phase.task.season_id).order_by("pk"))
    return Gold.objects.current(phase)
