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

from citeboard.core.database import database_time_expression, fetch_database_time
from citeboard.core.logs import request_id
from tasks.delivery.notifications.events import notify_run_failed, notify_run_scored
from tasks.jobs import tallies
from tasks.jobs.engine import (
    JobKind,
    claim_job,
    end_lease,
    make_job_log_fields,
    restart_finished_job,
    wake_worker,
)
from tasks.jobs.queue_choice import compute_scheduling_fields
from tasks.models import Gold, Job, LateReading, Phase, Registration, Submission
from tasks.models.seasons import increment_board_version
from tasks.registration.entries import lock_approved_entry
from tasks.types.base import JUDGE_SEPARATOR
from tasks.types.judge_views import judge_key, replace_first_judge_in_options

log = logging.getLogger(__name__)

State, Status = Job.State, Submission.Status

#: A job changes the status of a submission only if the status is in STATUSES_FOLLOWING_JOBS.
#: Scored, cancelled and withdrawn runs keep their status while they are rescored.
STATUSES_FOLLOWING_JOBS = (*Submission.MOVING, Status.FAILED)
#: A run refused after the deadline can be replaced within MINUTES_TO_REPLACE_REFUSED_RUN.
MINUTES_TO_REPLACE_REFUSED_RUN = 15
EMPTY_RULE_SET_NAME = ""
#: Runs with a status in RESCORED_STATUSES are rescored.
#: Failed runs are not rescored, since a score would then use up a try.
RESCORED_STATUSES = (*Submission.MOVING, Status.SCORED)
#: Baselines whose runs have not been computed yet are scored afterwards.
IS_UNWRITTEN_BASELINE = Q(kind=Submission.Kind.BASELINE, file="")


ProblemDicts = Sequence[Mapping[str, Any]]


def make_admin_wait_subquery() -> Exists:
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


def make_admin_wait_filter() -> Q:
    """Return a condition for the same runs as `make_admin_wait_subquery`, in a query that starts
    from the few waiting jobs.
    """
    waiting = Job.objects.filter(state=State.WAITING, pending_labels=None)
    return Q(pk__in=waiting.values("submission"))


class RunJobKind(JobKind):
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
            if done.exclude(rules__contains=JUDGE_SEPARATOR).exists():
                _publish_scored_rule_sets(job)
                return
            moving = Status.WAITING
        _update_submission_status(job, moving, reason)

    def fail_after_last_attempt(self, job: Job, reason: str) -> bool:
        times = "once" if job.attempt == 1 else f"{job.attempt} times"
        return fail_job(
            job, f"{reason} It was begun {times}, which is as often as a run is begun."
        )


def _publish_scored_rule_sets(job: Job) -> None:
    if _update_submission_status(job, Status.SCORED):
        notify_run_scored(job, is_first=True)
        increment_board_version(job.submission.phase_id, job.submission.team_id)


RUN_JOB_KIND = RunJobKind()


def compute_options_digest(options: Mapping[str, str]) -> str:
    return hashlib.sha256(
        json.dumps(dict(options), sort_keys=True).encode()
    ).hexdigest()


def create_scoring_jobs(submission: Submission, gold: Gold) -> list[Job]:
    """Create jobs that score the run against the gold under each rule set of the task.
    Return only the new scoring jobs.
    """
    jobs = [
        _get_or_create_job(submission, gold, rules, sets_status=position == 0)
        for position, rules in enumerate(submission.phase.task.rules)
    ]
    return [job for job, is_new in jobs if is_new]


def create_baseline_writing_job(submission: Submission, gold: Gold) -> Job:
    return _get_or_create_job(
        submission, gold, EMPTY_RULE_SET_NAME, sets_status=True, kind=Job.Kind.WRITE
    )[0]


def create_check_job(submission: Submission, gold: Gold) -> Job:
    return _get_or_create_job(
        submission, gold, EMPTY_RULE_SET_NAME, sets_status=True, kind=Job.Kind.CHECK
    )[0]


def _get_or_create_job(
    submission: Submission,
    gold: Gold,
    rules: str,
    *,
    sets_status: bool,
    kind: Job.Kind = Job.Kind.SCORE,
) -> tuple[Job, bool]:
    options, trace = submission.phase.task.options, request_id.get()
    facts = {
        "options": replace_first_judge_in_options(rules, options),
        "sets_status": sets_status,
    }
    facts |= {"kind": kind}
    facts |= {
        "trace": "" if trace == "-" else trace,
        **compute_scheduling_fields(submission, kind),
    }
    job, is_new = Job.objects.get_or_create(
        submission=submission,
        gold=gold,
        rules=rules,
        options_digest=compute_options_digest(options),
        defaults=facts,
    )
    if is_new:
        wake_worker(job)
        log.info("Job %s is made", job.pk, extra=make_job_log_fields(job))
    return job, is_new


def claim_other_rule_sets(job: Job) -> list[Job]:
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
    runs_program = job.submission.phase.task.task_type.has_official_program_metrics
    with transaction.atomic():
        numbers = [
            number
            for number, rules in same.order_by("pk").values_list("pk", "rules")
            if runs_program(rules) == runs_program(job.rules)
            and judge_key(rules) == judge_key(job.rules)
        ]
        claimed = [claim_job(number, job.lease_owner) for number in numbers]
    return [other for other in claimed if other is not None]


def complete_job(job: Job, record: Callable[[], object]) -> bool:
    with transaction.atomic():
        if not end_lease(
            job,
            state=State.DONE,
            finished_at=database_time_expression(),
            progress=1,
            reason="",
        ):
            return False
        record()
        has_moved = _update_submission_status(
            job, Status.QUEUED if job.is_baseline_writing_job else Status.SCORED
        )
        if not job.is_baseline_writing_job:
            notify_run_scored(job, is_first=has_moved)
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
                seconds = (fetch_database_time() - arrived["first"]).total_seconds()
                tallies.observe_duration(
                    tallies.UPLOAD_TO_SCORE_DURATION_COUNTER,
                    job.queue,
                    max(seconds, 0.0),
                )
        increment_board_version(job.submission.phase_id, job.submission.team_id)
    log.info(
        "Job %s %s",
        job.pk,
        "computed a run" if job.is_baseline_writing_job else "scored",
        extra=make_job_log_fields(job),
    )
    return True


def accept_checked_run(
    job: Job, warnings: ProblemDicts, record: Callable[[], object] | None = None
) -> bool:
    """End the check of a run and create the scoring jobs in one transaction."""
    submission = job.submission
    with transaction.atomic():
        # The entry is locked, as rescoring with new gold locks all entries.
        # Either the rescoring includes this run, or this run uses the new gold.
        if submission.team is not None:
            lock_approved_entry(submission.phase, submission.team)
        if not end_lease(
            job,
            state=State.DONE,
            finished_at=database_time_expression(),
            progress=1,
            reason="",
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
        create_scoring_jobs(submission, gold)
        _update_submission_status(job, Status.QUEUED)
    log.info("Job %s checked", job.pk, extra=make_job_log_fields(job))
    return True


def retry_failed_check(submission: Submission, gold: Gold) -> bool:
    with transaction.atomic():
        last = submission.jobs.filter(kind=Job.Kind.CHECK).order_by("pk").last()
        if last is None or last.state != State.FAILED:
            return False
        job = create_check_job(submission, gold)
        if not restart_job(job):
            _update_submission_status(job, Status.CHECKING)
    return True


def fail_job(
    job: Job, reason: str, problems: ProblemDicts = (), *, hit_limit: bool = False
) -> bool:
    with transaction.atomic():
        if not end_lease(
            job,
            state=State.FAILED,
            finished_at=database_time_expression(),
            reason=reason,
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
                facts["replace_until"] = database_time_expression(
                    60 * MINUTES_TO_REPLACE_REFUSED_RUN
                )
        _update_submission_status(job, status, reason, **facts)
        Submission.objects.filter(pk=job.submission.pk).update(has_failed=True)
        if status == Status.FAILED:
            notify_run_failed(job, has_problems=bool(problems))
        increment_board_version(job.submission.phase_id, job.submission.team_id)
    log.warning("Job %s failed: %s", job.pk, reason, extra=make_job_log_fields(job))
    return True


def cancel_jobs_of_run(submission_id: int) -> None:
    moving = Job.objects.filter(submission_id=submission_id, state__in=Job.MOVING)
    moving.update(
        state=State.CANCELLED,
        finished_at=database_time_expression(),
        lease_expires_at=None,
        reason="",
    )


def restart_job(job: Job) -> bool:
    return restart_finished_job(
        job, **compute_scheduling_fields(job.submission, Job.Kind(job.kind))
    )


def queue_missing_scorings(phase: Phase, most: int | None = None) -> list[Job]:
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
            ~Exists(checks), phase=phase, status__in=RESCORED_STATUSES
        )
        options = compute_options_digest(phase.task.options)
        wanted = Q(jobs__gold=gold, jobs__rules__in=rules, jobs__options_digest=options)
        missing = runs.exclude(IS_UNWRITTEN_BASELINE).annotate(
            queued=Count("jobs", filter=wanted)
        )
        missing = (
            missing.filter(queued__lt=len(rules))
            .select_related("phase__task")
            .order_by("pk")
        )
        return [job for run in missing[:most] for job in create_scoring_jobs(run, gold)]


def _update_submission_status(
    job: Job, status: Submission.Status, reason: str = "", **facts: object
) -> bool:
    if not job.sets_status:
        return False
    facts = {"problems": [], "hit_limit": False, "replace_until": None, **facts}
    following = Submission.objects.filter(
        pk=job.submission.pk, status__in=STATUSES_FOLLOWING_JOBS
    )
    return bool(
        following.update(
            status=status,
            status_since=database_time_expression(),
            reason=reason,
            **facts,
        )
    )
