"""The function `take_jobs`, which wake-ups call, claims jobs, calls the handler of each
job, and stores the results.
"""

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
    """An error about a job that must wait for a missing dependency, which the message
    names.
    """


class JobDied(Exception):
    """An error about a job whose process died without an error message."""


def take_next() -> bool:
    """Claim the next job that the worker group of this process may take, and do the
    work. Return False if there was no job to claim.
    """
    group = group_name(os.getpgrp())
    return _claimed_and_done(lambda: engine.claim_next(process_name(), group))


def take_jobs(*_: object) -> None:
    """Claim jobs and do their work until the worker group may take no more jobs. The
    arguments are ignored, because wake-ups of earlier releases name a job.
    """
    while take_next():
        pass


def take_job(number: int) -> None:
    _claimed_and_done(lambda: engine.claim(number, process_name()))


def _claimed_and_done(claim: Callable[[], Job | None]) -> bool:
    """Claim a job and do its work. Return True if more jobs may be waiting. An error of
    the work is stored with the job and not raised.
    """
    if not is_writable():
        # While the database is read-only, no job is claimed.
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
                # Log lines contain the id of the HTTP request that created the job.
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
                        _handle_job(job)
                finally:
                    request_id.reset(token)
        except interruptions.DATABASE_ERRORS as reason:
            # The sweeper queues the job again when this worker's lease has expired.
            message = "The database failed while a worker was at job %s: %s"
            log.error(message, job and job.pk, one_line(reason))  # noqa: TRY400  (not worth a traceback)
            return False
        return job is not None and not interruptions.is_asked()


def _handle_job(job: Job) -> None:
    try:
        import_string(engine.kind_of(job).handler)(job)
    except Exception as reason:  # noqa: BLE001  (whatever it is, the job says so)
        settle(job, reason)


def settle(job: Job, reason: Exception) -> None:
    """Store the result of a job whose work raised the exception ``reason``."""
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
