"""The durable job engine claims jobs, renews leases and stores results for every kind
of work.

All jobs are rows of one table. Jobs compute, check and score runs, do background work,
compare the rows of boards, and send e-mails and webhooks. The rows contain the whole
state of jobs, and every change of a row is one conditional UPDATE. Each claim increases
the number of attempts. Owner and attempt identify a claim, so a worker whose claim has
expired cannot change the job. The database's clock determines when a lease expires. A
free worker takes the job with the smallest priority number. django-q2 only wakes
workers and does not assign jobs. Transactions lock rows in the order group, job,
submission, phase.
"""

import datetime as dt
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, models, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop
from django_q.tasks import async_task

from citeboard.core.commits import call_after_commit
from citeboard.core.database import database_time_expression, fetch_database_time
from citeboard.core.logs import request_id
from tasks.jobs import tallies
from tasks.jobs.queue_choice import (
    list_claimable_jobs,
    list_jobs_in_served_queues,
    list_turns_of_started_jobs,
    record_worker_group_heartbeat,
    sort_by_fair_share,
)
from tasks.models import Job, WorkerGroup

State = Job.State

#: A wake-up calls the function WAKEUP_FUNCTION, whose dotted name avoids a circular import.
WAKEUP_FUNCTION = "tasks.jobs.work.take_jobs"
KIND_OBJECTS_BY_KIND = {
    **dict.fromkeys(Job.OF_RUNS, "tasks.jobs.leases.RUN_JOB_KIND"),
    Job.Kind.BACKGROUND: "scoring.worker.background.BACKGROUND_WORK_JOBS",
    Job.Kind.COMPARE: "scoring.results.board.comparison_state.BOARD_COMPARISON_JOBS",
    Job.Kind.MAIL: "tasks.jobs.mails.NOTIFICATION_MAIL_JOBS",
    Job.Kind.INVITATION: "tasks.jobs.mails.INVITATION_MAIL_JOBS",
    Job.Kind.WEBHOOK: "tasks.jobs.deliveries.WEBHOOK_DELIVERY_JOBS",
}

#: A sweep wakes workers for at most MAX_JOBS_WOKEN waiting jobs.
#: A woken worker wakes the next worker, so that further jobs are not forgotten.
MAX_JOBS_WOKEN = 20
#: A deferred job is queued again after at most MAX_DEFERRAL_SECONDS seconds and one sweep interval.
MAX_DEFERRAL_SECONDS = 300

log = logging.getLogger(__name__)


class JobKind:
    """The behaviour of jobs of one kind."""

    #: `handler` names the function that does the work, or is empty if sweeps do it.
    handler = ""
    model: type[models.Model] | None = None
    related: tuple[str, ...] = ()
    #: `lease` is the duration of a lease in seconds, or 0 for the site's setting.
    lease = 0
    is_given_up = True
    lost_reason = "The worker that was at it was gone."
    stopped_reason = ""
    fault = gettext_noop(
        "The site failed because of an error of its own, which is in its log."
    )

    @property
    def rows(self) -> QuerySet[Any]:
        assert self.model is not None
        return self.model._default_manager.select_related(*self.related)  # noqa: SLF001  (documented)

    def moved(self, job: Job, state: Job.State, reason: str) -> None:
        """Update the status of the related row, in the transaction that claims, queues
        or defers the job.
        """

    def fail_after_last_attempt(self, job: Job, reason: str) -> bool:
        return end_lease(
            job,
            state=State.FAILED,
            finished_at=database_time_expression(),
            reason=reason,
        )


def get_job_kind(job: Job) -> JobKind:
    kind: JobKind = import_string(KIND_OBJECTS_BY_KIND[Job.Kind(job.kind)])
    return kind


class JobClaimLost(Exception):
    """An error about a job that another worker has claimed, or whose related row was
    deleted.
    """


def get_related_row(job: Job) -> Any:
    """Return the row of another table that refers to the job. Raises JobClaimLost."""
    if (row := get_job_kind(job).rows.filter(job=job.pk).first()) is None:
        raise JobClaimLost
    return row


def make_job_log_fields(job: Job) -> dict[str, object]:
    about = {"job": job.pk, "attempt": job.attempt, "trace": job.trace}
    return about | (
        {"submission": job.submission_id} if job.submission_id else {"kind": job.kind}
    )


def create_job(kind: Job.Kind, priority: Job.Priority, **facts: Any) -> Job:
    """Create a job in the transaction that creates the row to which the job belongs.
    After creating the job, the caller must call `wake_worker`.
    """
    trace = request_id.get()
    trace = "" if trace == "-" else trace
    return Job.all_kinds.create(kind=kind, priority=priority, trace=trace, **facts)


def wake_worker(job: Job) -> None:
    """Wake a worker. The caller must be in the transaction that makes the job ready.

    If the queue is in the database, the wake-up is committed or rolled back with the
    job. Redis is not part of the transaction, so the wake-up is sent on commit. If the
    wake-up is lost, a regular job (the sweeper) wakes a worker later.
    """
    if not get_job_kind(job).handler:
        return
    Job.all_kinds.filter(pk=job.pk).update(woken_at=database_time_expression())
    _wake_queue(job.queue)


def _wake_queue(queue: str) -> None:
    enqueue = partial(async_task, WAKEUP_FUNCTION, cluster=queue)
    if "orm" in settings.Q_CLUSTER:
        enqueue()
    else:
        call_after_commit(enqueue)


def select_job_with_own_lease(job: Job) -> QuerySet[Job]:
    return Job.all_kinds.filter(
        pk=job.pk, state=State.RUNNING, lease_owner=job.lease_owner, attempt=job.attempt
    )


def claim_job(number: int, owner: str, jobs: QuerySet[Job] | None = None) -> Job | None:
    """Claim the job with the id ``number`` and count the attempt. Return None if the
    job is not queued or is not among ``jobs``.
    """
    # PostgreSQL evaluates the state in the UPDATE again after waiting for a lock.
    same = Job.all_kinds.filter(pk=number, state=State.QUEUED)
    same = same if jobs is None else same.filter(pk__in=jobs.order_by().values("pk"))
    facts: dict[str, Any] = {
        "lease_owner": owner,
        "lease_expires_at": database_time_expression(settings.LEASE_SECONDS),
    }
    facts |= {
        "attempt": F("attempt") + 1,
        "started_at": database_time_expression(),
        "woken_at": None,
    }
    # A job gets at least the season's current turn (fair share).
    # The turns of a season's started jobs never decrease.
    present = Subquery(
        list_turns_of_started_jobs(
            season=OuterRef("season"), priority=OuterRef("priority")
        )[:1]
    )
    facts["turn"] = Greatest("turn", Coalesce(present, 0))
    with transaction.atomic():
        if not same.update(state=State.RUNNING, progress=0, reason="", **facts):
            return None
        job = Job.all_kinds.select_related("submission__phase__task", "gold").get(
            pk=number
        )
        if job.attempt > 1:
            tallies.increment_counter(tallies.RESTARTED_JOBS_COUNTER)
        kind = get_job_kind(job)
        if kind.model is not None and not (
            kind.rows.filter(job=number).exists() and renew_lease(job)
        ):
            job.delete()
            return None
        kind.moved(job, State.RUNNING, "")
    log.info(
        "Job %s claimed, attempt %s",
        job.pk,
        job.attempt,
        extra=make_job_log_fields(job),
    )
    return job


def claim_next_job(owner: str, group: str) -> Job | None:
    # Workers without a claimable job return here, before any row is locked.
    while list_claimable_jobs(group).exists():
        with transaction.atomic():
            # This lock makes the processes of a group claim jobs one after the other.
            if not WorkerGroup.objects.select_for_update().filter(name=group).exists():
                record_worker_group_heartbeat(group)
                WorkerGroup.objects.select_for_update().get(name=group)
            first = next(iter(sort_by_fair_share(list_claimable_jobs(group))), None)
            job = None if first is None else claim_job(first.pk, owner)
        # The claim can fail, since another process may have claimed the job meanwhile.
        if job is not None:
            return job
    return None


def wake_next_worker(job: Job) -> None:
    """Wake another worker if a job is waiting. Each worker that claims a job calls this
    function, since one wake-up wakes one worker.
    """
    others = (
        list_jobs_in_served_queues()
        if job.submission_id is None
        else list_jobs_in_served_queues().exclude(submission=job.submission_id)
    )
    if (queue := others.order_by().values_list("queue", flat=True).first()) is not None:
        _wake_queue(queue)


def renew_lease(job: Job, **facts: object) -> bool:
    """Renew the lease of a running job. Return False if the worker's claim has expired."""
    seconds = get_job_kind(job).lease or settings.LEASE_SECONDS
    return bool(
        select_job_with_own_lease(job).update(
            lease_expires_at=database_time_expression(seconds), **facts
        )
    )


def end_lease(job: Job, *, is_counted: bool = True, **facts: object) -> bool:
    """Store the result of the job and end its lease. Return False if the worker's claim
    has expired. If ``is_counted`` is False, this attempt does not count towards the
    maximum.
    """
    facts |= {} if is_counted else {"attempt": F("attempt") - 1}
    is_ours = bool(
        select_job_with_own_lease(job).update(lease_expires_at=None, **facts)
    )
    if is_ours and facts.get("state") == State.DONE and job.started_at is not None:
        seconds = (fetch_database_time() - job.started_at).total_seconds()
        tallies.observe_duration(
            tallies.JOB_DURATION_COUNTER, job.kind, max(seconds, 0.0)
        )
    return is_ours


def requeue_job(
    job: Job, reason: str, *, is_counted: bool = True, **facts: object
) -> bool:
    with transaction.atomic():
        facts = {"state": State.QUEUED, "progress": 0, "reason": reason, **facts}
        if not end_lease(job, is_counted=is_counted, **facts):
            return False
        get_job_kind(job).moved(job, State.QUEUED, reason)
        wake_worker(job)
    log.warning(
        "Job %s is queued again: %s", job.pk, reason, extra=make_job_log_fields(job)
    )
    return True


def release_job(job: Job) -> bool:
    return requeue_job(job, get_job_kind(job).stopped_reason, is_counted=False)


def defer_job(job: Job, reason: str, *, until: dt.datetime | None = None) -> bool:
    """End the claim on a job that waits for a missing dependency. The sweeper queues a
    waiting job again after increasing intervals.
    """
    waited = (timezone.now() - job.created_at).total_seconds()
    waking = until or database_time_expression(
        min(max(waited - settings.LEASE_SECONDS, 0) / 4, MAX_DEFERRAL_SECONDS)
    )
    waiting: dict[str, Any] = {
        "state": State.WAITING,
        "reason": reason,
        "woken_at": waking,
    }
    with transaction.atomic():
        if not end_lease(job, is_counted=False, progress=0, **waiting):
            return False
        get_job_kind(job).moved(job, State.WAITING, reason)
    level = logging.WARNING if waited < settings.LEASE_SECONDS else logging.INFO
    log.log(level, "Job %s waits: %s", job.pk, reason, extra=make_job_log_fields(job))
    return True


def resume_waiting_job(job: Job) -> bool:
    with transaction.atomic():
        moved = Job.all_kinds.filter(pk=job.pk, state=State.WAITING).update(
            state=State.QUEUED
        )
        if moved:
            wake_worker(job)
    return bool(moved)


def retry_or_fail_crashed(job: Job, reason: str) -> bool:
    """Queue a job again that ended without a result, or fail the job after the maximum
    number of attempts.
    """
    kind = get_job_kind(job)
    if kind.is_given_up and job.attempt >= settings.MAX_ATTEMPTS:
        return kind.fail_after_last_attempt(job, reason)
    return requeue_job(job, reason)


def restart_finished_job(job: Job, **facts: object) -> bool:
    """Queue a finished job again as if the job were new."""
    with transaction.atomic():
        facts = {
            "attempt": 0,
            "progress": 0,
            "reason": "",
            "finished_at": None,
            **facts,
        }
        ended = Job.all_kinds.filter(pk=job.pk).exclude(state__in=Job.MOVING)
        if moved := ended.update(state=State.QUEUED, **facts):
            get_job_kind(job).moved(job, State.QUEUED, "")
            wake_worker(job)
    return bool(moved)


def expire_lease(job: Job, now: dt.datetime) -> bool:
    """End a worker's claim on the job, unless the worker has renewed the lease since
    ``job`` was loaded.
    """
    with transaction.atomic():
        lost = select_job_with_own_lease(job).filter(lease_expires_at__lt=now)
        if not lost.update(progress=0, leases_lost=F("leases_lost") + 1):
            return False
        tallies.increment_counter(tallies.LOST_LEASES_COUNTER, job.queue)
        return retry_or_fail_crashed(job, get_job_kind(job).lost_reason)


def expire_lost_leases(now: dt.datetime, *kinds: Job.Kind) -> int:
    """Queue jobs again whose lease expired, or fail the jobs after the maximum number
    of attempts. If ``kinds`` is given, only jobs of these kinds are queued or failed.
    """
    jobs = Job.all_kinds.filter(
        state=State.RUNNING, lease_expires_at__lt=now, kind__in=kinds or Job.Kind
    )
    related = jobs.select_related("submission__phase__task", "gold")
    return apply_to_each_job(related, lambda job: expire_lease(job, now))


def expire_leases_of_owner(owner: str) -> int:
    running = Job.all_kinds.filter(state=State.RUNNING, lease_owner__startswith=owner)
    return running.update(lease_expires_at=database_time_expression(-1))


def wake_unclaimed_jobs(*, before: dt.datetime) -> int:
    late = Q(woken_at__lt=before) | Q(woken_at__isnull=True)
    unclaimed = Job.all_kinds.filter(
        late, state=State.QUEUED, priority__lt=Job.Priority.POST
    )
    return apply_to_each_job(
        unclaimed.order_by("priority", "created_at", "pk")[:MAX_JOBS_WOKEN],
        _wake_unclaimed_job,
    )


def _wake_unclaimed_job(job: Job) -> bool:
    with transaction.atomic():
        same = Job.all_kinds.filter(
            pk=job.pk, state=State.QUEUED, woken_at=job.woken_at
        )
        if not same.update(woken_at=database_time_expression()):
            return False
        wake_worker(job)
    log.info("Job %s is woken again", job.pk, extra=make_job_log_fields(job))
    return True


def list_orphaned_jobs() -> QuerySet[Job]:
    """Return jobs that belong to a deleted row."""
    is_orphaned = Q(pk__in=())
    for name, path in KIND_OBJECTS_BY_KIND.items():
        if (model := import_string(path).model) is not None:
            is_orphaned |= Q(
                ~Exists(model.objects.filter(job=OuterRef("pk"))), kind=name
            )
    return Job.all_kinds.filter(is_orphaned)


def apply_to_each_job(jobs: Iterable[Job], move: Callable[[Job], bool]) -> int:
    """Call ``move`` for each job and return the number of jobs for which ``move``
    returned True. If ``move`` raises an exception, the function continues with the next
    job, unless the database is unavailable.
    """
    moved = 0
    for job in jobs:
        try:
            moved += move(job)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            log.exception(
                "Job %s could not be set moving", job.pk, extra=make_job_log_fields(job)
            )
    return moved


class SweeperJobKind(JobKind):
    """A kind of job that the sweeper processes, such as an e-mail. A failed job of this
    kind is repeated after a pause.
    """

    is_given_up = False
    name: Job.Kind

    @property
    def due(self) -> QuerySet[Job]:
        # Jobs that are due within a second count, as SQLite drops microseconds.
        now = fetch_database_time() + dt.timedelta(seconds=1)
        due = Job.all_kinds.filter(kind=self.name, state=State.QUEUED, due_at__lte=now)
        return due.order_by("due_at", "pk")

    def claim_due_jobs(self, *, most: int, until: float) -> Iterator[tuple[Job, Any]]:
        owner = secrets.token_hex(8)
        expire_lost_leases(fetch_database_time(), self.name)
        for number in list(self.due.values_list("pk", flat=True)[:most]):
            if time.monotonic() > until:
                return
            if (job := claim_job(number, owner, self.due)) is not None:
                yield job, get_related_row(job)
