"""The function that the queue wakes: claim the next job, call its handler, and store the result."""

import logging
import os
from collections.abc import Callable

from django.db import InterfaceError, OperationalError
from django.utils.module_loading import import_string

from citeboard.core.instruments import span
from citeboard.core.logs import request_id
from citeboard.core.processes import group_name, process_name
from citeboard.core.words import one_line
from citeboard.core.writability import is_writable
from tasks.jobs import engine, interruptions
from tasks.models import Job

log = logging.getLogger(__name__)


class JobWaits(Exception):
    """Something is missing, which is not the job's fault. The message names it."""


class JobDied(Exception):
    """The process that did the work ended without a message."""


def take_next() -> bool:
    """Take the next job that this group may take, and do it; return False if there was none."""
    group = group_name(os.getpgrp())
    return _claimed_and_done(lambda: engine.claim_next(process_name(), group))


def take_jobs(*_: object) -> None:
    """As long as this group may take one. A wake of an earlier release names one, which is its turn's."""
    while take_next():
        pass


def take_job(number: int) -> None:
    _claimed_and_done(lambda: engine.claim(number, process_name()))


def _claimed_and_done(claim: Callable[[], Job | None]) -> bool:
    """Do one job and return whether there was one. The job stores errors; the queue never sees them."""
    if not is_writable():
        # The sweep wakes workers again.
        return False
    with interruptions.held_back():
        job = None
        try:
            job = (
                None
                if interruptions.is_asked()
                else interruptions.retry_on_database_error(claim)
            )
            if job is not None:
                # Log lines carry the id of the request that made the job.
                token = request_id.set(job.trace or f"job-{job.pk}")
                try:
                    interruptions.default_on_database_error(
                        lambda: engine.wake_next(job), otherwise=None
                    )
                    with span(
                        f"job {job.kind}",
                        continued=job.trace,
                        job=job.pk,
                        attempt=job.attempt,
                    ):
                        _work(job)
                finally:
                    request_id.reset(token)
        except interruptions.DATABASE_ERRORS as reason:
            # The job stays ours in name until its lease ends, and then a sweep queues it again.
            words = "The database failed while a worker was at job %s: %s"
            log.error(words, job and job.pk, one_line(reason))  # noqa: TRY400  (not worth a traceback)
            return False
        return job is not None and not interruptions.is_asked()


def _work(job: Job) -> None:
    try:
        import_string(engine.kind_of(job).handler)(job)
    except Exception as reason:  # noqa: BLE001  (whatever it is, the job says so)
        settle(job, reason)


def settle(job: Job, reason: Exception) -> None:
    """Write what becomes of a job whose work has ended so."""
    match reason:
        case JobDied():
            interruptions.retry_on_database_error(engine.crashed, job, str(reason))
        case JobWaits():
            interruptions.retry_on_database_error(engine.defer, job, str(reason))
        case interruptions.Stopping():
            interruptions.retry_on_database_error(engine.release, job)
        case engine.JobLost():
            log.warning(
                "Job %s is not ours any more", job.pk, extra=engine.described(job)
            )
        case OperationalError() | InterfaceError():
            raise reason
        case _:
            log.error(
                "Job %s failed by a fault",
                job.pk,
                extra=engine.described(job),
                exc_info=reason,
            )
            interruptions.retry_on_database_error(
                engine.crashed, job, engine.kind_of(job).fault
            )
