"""The state of the jobs that compare the rows of boards, with the phase's version at
each completed comparison.
"""

import datetime as dt

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q

from citeboard.core.database import database_time_expression
from scoring.models import BoardOrder, Evaluation
from tasks.jobs.engine import (
    JobKind,
    create_job,
    end_lease,
    restart_finished_job,
    select_job_with_own_lease,
    wake_worker,
)
from tasks.models import Job, Phase

#: A periodic job queues the comparisons of at most MAX_BOARD_COMPARISONS_QUEUED boards.
MAX_BOARD_COMPARISONS_QUEUED = 20


class BoardComparisonJobKind(JobKind):
    handler = "scoring.worker.compare_board.compare"
    model, related = BoardOrder, ("job",)
    #: The lease in seconds exceeds the duration of the longest comparison of a board.
    #: After a failure, the comparison restarts when the lease expires.
    lease = 120


BOARD_COMPARISON_JOBS = BoardComparisonJobKind()


def get_or_create_board_order(phase_id: int, rules: str) -> BoardOrder:
    orders = BoardOrder.objects.filter(phase=phase_id, rules=rules).select_related(
        "job"
    )
    if (order := orders.first()) is None:
        try:
            with transaction.atomic():
                job = create_job(
                    Job.Kind.COMPARE, Job.Priority.COMPARISON, state=Job.State.DONE
                )
                return BoardOrder.objects.create(
                    phase_id=phase_id, rules=rules, job=job
                )
        except IntegrityError:
            return orders.get()
    return order


def queue_board_comparison(phase_id: int, rules: str) -> bool:
    """Queue a job that compares the rows of a board, or return False if the job is
    already queued.

    A job that already compares the board checks for new rows before the job ends.
    """
    job, first = get_or_create_board_order(phase_id, rules).job, Job.Priority.COMPARISON
    same = Job.all_kinds.filter(pk=job.pk)
    if same.filter(state=Job.State.RUNNING, woken_at=None).update(
        woken_at=database_time_expression()
    ):
        return True
    if restart_finished_job(job, created_at=database_time_expression(), priority=first):
        return True
    same.filter(state=Job.State.QUEUED).update(priority=first)
    return False


def queue_outdated_board_comparisons() -> int:
    since = database_time_expression(-BOARD_COMPARISON_JOBS.lease)
    is_busy = Q(job__state__in=Job.MOVING) | Q(
        job__state=Job.State.FAILED, job__finished_at__gt=since
    )
    rows = BoardOrder.objects.annotate(is_busy=is_busy).values_list(
        "phase", "rules", "version", "is_busy"
    )
    orders = {
        (phase, rules): (version, is_moving)
        for phase, rules, version, is_moving in rows
    }
    ordered = 0
    phases = Phase.objects.filter(
        Exists(Evaluation.objects.filter(phase=OuterRef("pk")))
    ).order_by("pk")
    for pk, version, rule_sets in phases.values_list("pk", "version", "task__rules"):
        for rules in rule_sets:
            compared_at, is_moving = orders.get((pk, rules), (None, False))
            if (
                compared_at != version
                and not is_moving
                and ordered < MAX_BOARD_COMPARISONS_QUEUED
            ):
                ordered += queue_board_comparison(pk, rules)
    return ordered


def list_class_comparison_times(phase_id: int) -> list[tuple[str, dt.datetime | None]]:
    orders = BoardOrder.objects.filter(phase=phase_id).order_by("rules")
    return list(orders.values_list("rules", "classes_at"))


def finish_board_comparison(order: BoardOrder, job: Job, version: int) -> bool:
    """Mark the comparison of a board's rows as complete for this version of the phase.
    Return False if a new request has arrived, so that the job runs again.
    """
    facts = {
        "state": Job.State.DONE,
        "finished_at": database_time_expression(),
        "lease_expires_at": None,
    }
    with transaction.atomic():
        if select_job_with_own_lease(job).filter(woken_at=None).update(**facts):
            BoardOrder.objects.filter(pk=order.pk).update(version=version)
            return True
    return not select_job_with_own_lease(job).update(woken_at=None)


def requeue_comparison_behind_others(job: Job, priority: Job.Priority) -> None:
    """Queue the job that compares a board's rows behind all waiting jobs of the same
    priority.
    """
    facts = {
        "state": Job.State.QUEUED,
        "created_at": database_time_expression(),
        "priority": priority,
    }
    with transaction.atomic():
        if end_lease(job, is_counted=False, **facts):
            wake_worker(job)
