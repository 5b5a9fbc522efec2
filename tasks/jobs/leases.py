"""Create, start and end the jobs of runs. The status of a run (submission) follows the
state of the run's job.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, Min, OuterRef, Q

from citeboard.core.database import database_now, from_now
from citeboard.core.logs import request_id
from tasks.delivery.notifications.events import tell_failed, tell_scored
from tasks.jobs import tallies
from tasks.jobs.engine import Kind, begin_anew, claim, described, end_lease, wake
from tasks.jobs.queue_choice import facts_of
from tasks.models import Gold, Job, LateReading, Phase, Registration, Submission
from tasks.models.seasons import bump_version
from tasks.registration.entries import lock_entry
from tasks.types.base import OF_JUDGE
from tasks.types.judge_views import further_judge, options_of

log = logging.getLogger(__name__)

State, Status = Job.State, Submission.Status

#: A job changes the status of a submission only if the status is in FOLLOWING.
#: Scored, cancelled and withdrawn runs keep their status while they are rescored.
FOLLOWING = (*Submission.MOVING, Status.FAILED)
#: A run refused after the deadline can be replaced within REPLACE_MINUTES.
REPLACE_MINUTES = 15
NO_RULES = ""
#: Runs with a status in SCORED_AGAIN are rescored.
#: Failed runs are not rescored, since a score would then use up a try.
SCORED_AGAIN = (*Submission.MOVING, Status.SCORED)
#: Baselines whose runs have not been computed yet are scored afterwards.
UNWRITTEN = Q(kind=Submission.Kind.BASELINE, file="")


Told = Sequence[Mapping[str, Any]]


def lacks_supply() -> Exists:
    """Return a condition for runs whose scoring waits for an administrator, for example
    to install a package.

    Runs that wait for entailment labels are not included, because other jobs produce
    the labels.
    """
    return Exists(
        Job.objects.filter(
            submission=OuterRef("pk"), state=State.WAITING, pending_labels=None
        )
    )


def is_unsupplied() -> Q:
    """Return a condition for the same runs as `lacks_supply`, in a query that starts
    from the few waiting jobs.
    """
    waiting = Job.objects.filter(state=State.WAITING, pending_labels=None)
    return Q(pk__in=waiting.values("submission"))


class Runs(Kind):
    handler = "scoring.worker.score.score_run"
    lost_reason = "The worker that scored the run was gone."
    stopped_reason = "The worker was stopped; the run is scored again by itself."
    fault = "The site failed to score the run by a fault of its own, which its organisers can see."

    def moved(self, job: Job, state: Job.State, reason: str) -> None:
        begun = Status.SCORING if state == State.RUNNING else Status.QUEUED
        moving = Status.CHECKING if job.kind == Job.Kind.CHECK else begun
        if state == State.WAITING:
            others = Job.objects.filter(submission=job.submission_id, gold=job.gold_id)
            done = others.filter(kind=Job.Kind.SCORE, state=State.DONE)
            # Scores by an additional judge alone do not give a run its rank.
            if done.exclude(rules__contains=OF_JUDGE).exists():
                _publish_other_rule_sets(job)
                return
            moving = Status.WAITING
        _sync_submission_status(job, moving, reason)

    def fail_last(self, job: Job, reason: str) -> bool:
        times = "once" if job.attempt == 1 else f"{job.attempt} times"
        return fail(
            job, f"{reason} It was begun {times}, which is as often as a run is begun."
        )


def _publish_other_rule_sets(job: Job) -> None:
    if _sync_submission_status(job, Status.SCORED):
        tell_scored(job, is_first=True)
        bump_version(job.submission.phase_id, job.submission.team_id)


RUNS = Runs()


def options_digest(options: Mapping[str, str]) -> str:
    return hashlib.sha256(
        json.dumps(dict(options), sort_keys=True).encode()
    ).hexdigest()


def create_jobs(submission: Submission, gold: Gold) -> list[Job]:
    """Create jobs that score the run against the gold under each rule set of the task.
    Return only the new scoring jobs.
    """
    jobs = [
        _job(submission, gold, rules, sets_status=position == 0)
        for position, rules in enumerate(submission.phase.task.rules)
    ]
    return [job for job, is_new in jobs if is_new]


def create_writing_job(submission: Submission, gold: Gold) -> Job:
    return _job(submission, gold, NO_RULES, sets_status=True, kind=Job.Kind.WRITE)[0]


def create_check(submission: Submission, gold: Gold) -> Job:
    return _job(submission, gold, NO_RULES, sets_status=True, kind=Job.Kind.CHECK)[0]


def _job(
    submission: Submission,
    gold: Gold,
    rules: str,
    *,
    sets_status: bool,
    kind: Job.Kind = Job.Kind.SCORE,
) -> tuple[Job, bool]:
    options, trace = submission.phase.task.options, request_id.get()
    facts = {"options": options_of(rules, options), "sets_status": sets_status}
    facts |= {"kind": kind}
    facts |= {"trace": "" if trace == "-" else trace, **facts_of(submission, kind)}
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


def claim_others(job: Job) -> list[Job]:
    """Claim the run's queued jobs for other rule sets too, so that one process scores
    the run under all rule sets.

    A waiting or failing official program must not delay other rule sets, so rule sets
    with and without the program are scored separately. Rule sets with different judges
    need different labels and are also scored separately.
    """
    if job.kind != Job.Kind.SCORE or job.submission.kind == Submission.Kind.HUMAN:
        return []
    same = Job.objects.filter(
        kind=job.kind,
        submission=job.submission_id,
        gold=job.gold_id,
        options_digest=job.options_digest,
        queue=job.queue,
        state=State.QUEUED,
    )
    runs_program = job.submission.phase.task.task_type.runs_program
    with transaction.atomic():
        numbers = [
            number
            for number, rules in same.order_by("pk").values_list("pk", "rules")
            if runs_program(rules) == runs_program(job.rules)
            and further_judge(rules) == further_judge(job.rules)
        ]
        claimed = [claim(number, job.lease_owner) for number in numbers]
    return [other for other in claimed if other is not None]


def complete(job: Job, record: Callable[[], object]) -> bool:
    with transaction.atomic():
        if not end_lease(
            job, state=State.DONE, finished_at=from_now(), progress=1, reason=""
        ):
            return False
        record()
        has_moved = _sync_submission_status(
            job, Status.QUEUED if job.writes_run else Status.SCORED
        )
        if not job.writes_run:
            tell_scored(job, is_first=has_moved)
            if has_moved:
                # After a scored run, the team's earlier failures need no attention.
                team = {
                    "phase": job.submission.phase_id,
                    "team": job.submission.team_id,
                }
                failed = Submission.objects.filter(
                    **team, has_failed=True, status=Status.FAILED
                )
                failed.filter(number__lt=job.submission.number).update(has_failed=False)
                # Imported runs have old submission times, so times of jobs are used.
                arrived = job.submission.jobs.aggregate(first=Min("created_at"))
                seconds = (database_now() - arrived["first"]).total_seconds()
                tallies.observe(tallies.UPLOAD_TO_SCORE, job.queue, max(seconds, 0.0))
        bump_version(job.submission.phase_id, job.submission.team_id)
    log.info(
        "Job %s %s",
        job.pk,
        "computed a run" if job.writes_run else "scored",
        extra=described(job),
    )
    return True


def accept(
    job: Job, warnings: Told, record: Callable[[], object] | None = None
) -> bool:
    """End the check of a run and create the scoring jobs in one transaction."""
    submission = job.submission
    with transaction.atomic():
        # The entry is locked, as rescoring with new gold locks all entries.
        # Either the rescoring includes this run, or this run uses the new gold.
        if submission.team is not None:
            lock_entry(submission.phase, submission.team)
        if not end_lease(
            job, state=State.DONE, finished_at=from_now(), progress=1, reason=""
        ):
            return False
        # Organisers may have changed rules and options since the check began.
        submission = Submission.objects.select_related("phase__task").get(
            pk=submission.pk
        )
        gold = Gold.objects.current(submission.phase)
        assert gold is not None, "gold is never taken away"
        Submission.objects.filter(pk=submission.pk).update(
            warnings=[*submission.warnings, *warnings]
        )
        if record is not None:
            record()
        create_jobs(submission, gold)
        _sync_submission_status(job, Status.QUEUED)
    log.info("Job %s checked", job.pk, extra=described(job))
    return True


def check_again(submission: Submission, gold: Gold) -> bool:
    with transaction.atomic():
        last = submission.jobs.filter(kind=Job.Kind.CHECK).order_by("pk").last()
        if last is None or last.state != State.FAILED:
            return False
        job = create_check(submission, gold)
        if not restart(job):
            _sync_submission_status(job, Status.CHECKING)
    return True


def fail(
    job: Job, reason: str, problems: Told = (), *, hit_limit: bool = False
) -> bool:
    with transaction.atomic():
        if not end_lease(
            job, state=State.FAILED, finished_at=from_now(), reason=reason
        ):
            return False
        status, facts = (
            Status.FAILED,
            {"problems": list(problems), "hit_limit": hit_limit},
        )
        if job.kind == Job.Kind.CHECK and problems and job.submission.team_id:
            late = LateReading.objects.filter(submission=job.submission_id).first()
            if late is not None and not late.is_named:
                # The sender named no task, and the file has the format of another task.
                status = Status.CANCELLED
            elif not job.submission.phase.is_late(
                job.submission.begun_at or job.submission.submitted_at
            ):
                # After the deadline, a run can replace another run only once.
                facts["replace_until"] = from_now(60 * REPLACE_MINUTES)
        _sync_submission_status(job, status, reason, **facts)
        Submission.objects.filter(pk=job.submission.pk).update(has_failed=True)
        if status == Status.FAILED:
            tell_failed(job, has_problems=bool(problems))
        bump_version(job.submission.phase_id, job.submission.team_id)
    log.warning("Job %s failed: %s", job.pk, reason, extra=described(job))
    return True


def cancel_jobs(submission_id: int) -> None:
    moving = Job.objects.filter(submission_id=submission_id, state__in=Job.MOVING)
    moving.update(
        state=State.CANCELLED, finished_at=from_now(), lease_expires_at=None, reason=""
    )


def restart(job: Job) -> bool:
    return begin_anew(job, **facts_of(job.submission, Job.Kind(job.kind)))


def rescore(phase: Phase, most: int | None = None) -> list[Job]:
    """Queue the missing scoring jobs, so that each run gets scores against the current
    gold under each rule set of the task.
    """
    rules = phase.task.rules
    with transaction.atomic():
        # Locking all entries waits for submissions in progress, which lock an entry.
        # Submissions after this transaction use the new gold.
        list(
            Registration.objects.select_for_update()
            .filter(season=phase.task.season_id)
            .order_by("pk")
        )
        gold = Gold.objects.current(phase)
        if gold is None:
            return []
        # Runs that are still being computed or checked are scored later.
        checks = Job.objects.filter(
            submission=OuterRef("pk"), kind=Job.Kind.CHECK, state__in=Job.MOVING
        )
        runs = Submission.objects.filter(
            ~Exists(checks), phase=phase, status__in=SCORED_AGAIN
        )
        options = options_digest(phase.task.options)
        wanted = Q(jobs__gold=gold, jobs__rules__in=rules, jobs__options_digest=options)
        missing = runs.exclude(UNWRITTEN).annotate(queued=Count("jobs", filter=wanted))
        missing = (
            missing.filter(queued__lt=len(rules))
            .select_related("phase__task")
            .order_by("pk")
        )
        return [job for run in missing[:most] for job in create_jobs(run, gold)]


def _sync_submission_status(
    job: Job, status: Submission.Status, reason: str = "", **facts: object
) -> bool:
    if not job.sets_status:
        return False
    facts = {"problems": [], "hit_limit": False, "replace_until": None, **facts}
    following = Submission.objects.filter(pk=job.submission.pk, status__in=FOLLOWING)
    return bool(
        following.update(status=status, status_since=from_now(), reason=reason, **facts)
    )
