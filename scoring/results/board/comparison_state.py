"""The state of the jobs that compare the rows of boards, with the phase's version at
each completed comparison.
"""

import datetime as dt

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q

from citeboard.core.database import from_now
from scoring.models import BoardOrder, Evaluation
from tasks.jobs.engine import Kind, begin_anew, end_lease, leased, new_job, wake
from tasks.models import Job, Phase

#: A periodic job queues the comparisons of at most MAX_ASKED boards.
MAX_ASKED = 20


class Boards(Kind):
    handler = "scoring.worker.compare_board.compare"
    model, related = BoardOrder, ("job",)
    #: The lease in seconds exceeds the duration of the longest comparison of a board.
    #: After a failure, the comparison restarts when the lease expires.
    lease = 120


BOARDS = Boards()


def order_of(phase_id: int, rules: str) -> BoardOrder:
    orders = BoardOrder.objects.filter(phase=phase_id, rules=rules).select_related(
        "job"
    )
    if (order := orders.first()) is None:
        try:
            with transaction.atomic():
                job = new_job(
                    Job.Kind.COMPARE, Job.Priority.COMPARISON, state=Job.State.DONE
                )
                return BoardOrder.objects.create(
                    phase_id=phase_id, rules=rules, job=job
                )
        except IntegrityError:
            return orders.get()
    return order


def ask(phase_id: int, rules: str) -> bool:
    """Queue a job that compares the rows of a board, or return False if the job is
    already queued.

    A job that already compares the board checks for new rows before the job ends.
    """
    job, first = order_of(phase_id, rules).job, Job.Priority.COMPARISON
    same = Job.all_kinds.filter(pk=job.pk)
    if same.filter(state=Job.State.RUNNING, woken_at=None).update(woken_at=from_now()):
        return True
    if begin_anew(job, created_at=from_now(), priority=first):
        return True
    same.filter(state=Job.State.QUEUED).update(priority=first)
    return False


def ask_again() -> int:
    since = from_now(-BOARDS.lease)
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
            if compared_at != version and not is_moving and ordered < MAX_ASKED:
                ordered += ask(pk, rules)
    return ordered


def classes_seen(phase_id: int) -> list[tuple[str, dt.datetime | None]]:
    orders = BoardOrder.objects.filter(phase=phase_id).order_by("rules")
    return list(orders.values_list("rules", "classes_at"))


def finish(order: BoardOrder, job: Job, version: int) -> bool:
    """Mark the comparison of a board's rows as complete for this version of the phase.
    Return False if a new request has arrived, so that the job runs again.
    """
    facts = {
        "state": Job.State.DONE,
        "finished_at": from_now(),
        "lease_expires_at": None,
    }
    with transaction.atomic():
        if leased(job).filter(woken_at=None).update(**facts):
            BoardOrder.objects.filter(pk=order.pk).update(version=version)
            return True
    return not leased(job).update(woken_at=None)


def give_way(job: Job, priority: Job.Priority) -> None:
    """Queue the job that compares a board's rows behind all waiting jobs of the same
    priority.
    """
    facts = {"state": Job.State.QUEUED, "created_at": from_now(), "priority": priority}
    with transaction.atomic():
        if end_lease(job, is_counted=False, **facts):
            wake(job)
