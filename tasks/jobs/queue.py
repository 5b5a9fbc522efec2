"""The queue wakes a worker that serves the job's queue; which job that takes is decided by the jobs' rows."""

from __future__ import annotations

from functools import partial

from django.conf import settings
from django.db import transaction
from django_q.tasks import async_task

from citeboard.core.database import from_now
from tasks.models import Job

#: Named and not imported, since scoring stands to the right of tasks: what a job, a board and a background
#: job are woken for.
SCORE = "scoring.worker.score.score_next"
COMPARE = "scoring.worker.compare_board.compare_board"
BACKGROUND = "scoring.background.work.do_job"


def wake(job: Job) -> None:
    """Ask for the job to be scored, in the transaction that makes it ready.

    Where the database holds the queue, the wake is committed or rolled back with the job. Redis knows nothing
    of transactions, so there the wake is given on commit; if that fails, the job stands and a sweep wakes it.
    """
    Job.objects.filter(pk=job.pk).update(woken_at=from_now())
    give_wake(SCORE, job.pk, name=f"job-{job.pk}", queue=job.queue)


def give_wake(function: str, number: int, *, name: str, queue: str) -> None:
    enqueue = partial(async_task, function, number, task_name=name, cluster=queue)
    if "orm" in settings.Q_CLUSTER:
        enqueue()
    else:
        transaction.on_commit(enqueue, robust=True)
