"""The function `take_jobs`, which wake-ups call, claims jobs, calls the handler of each
job, and stores the results.
"""

import logging
import os
from collections.abc import Callable

from django.db import InterfaceError, OperationalError
from django.utils.module_loading import import_string

from citeboard.core.instruments import open_trace_span
from citeboard.core.logs import request_id
from citeboard.core.processes import build_process_group_name, build_unique_process_name
from citeboard.core.words import join_lines
from citeboard.core.writability import is_writable
from tasks.jobs import engine, interruptions
from tasks.models import Job

log = logging.getLogger(__name__)


class JobWaitsForDependency(Exception):
    """An error about a job that must wait for a missing dependency, which the message
    names.
    """


class JobProcessDied(Exception):
    """An error about a job whose process died without an error message."""


def claim_and_do_next_job() -> bool:
    """Claim the next job that the worker group of this process may take, and do the
    work. Return False if there was no job to claim.
    """
    group = build_process_group_name(os.getpgrp())
    return _claim_and_do_job(
        lambda: engine.claim_next_job(build_unique_process_name(), group)
    )


def take_jobs(*_: object) -> None:
    """Claim jobs and do their work until the worker group may take no more jobs. The
    arguments are ignored, because wake-ups of earlier releases name a job.
    """
    while claim_and_do_next_job():
        pass


def claim_and_do_job_by_id(number: int) -> None:
    _claim_and_do_job(lambda: engine.claim_job(number, build_unique_process_name()))


def _claim_and_do_job(claim: Callable[[], Job | None]) -> bool:
    """Claim a job and do its work. Return True if more jobs may be waiting. An error of
    the work is stored with the job and not raised.
    """
    if not is_writable():
        # While the database is read-only, no job is claimed.
        return False
    with interruptions.defer_sigterm():
        job = None
        try:
            job = (
                None
                if interruptions.is_stop_requested()
                else interruptions.retry_on_database_error(claim)
            )
            if job is not None:
                # Log lines contain the id of the HTTP request that created the job.
                token = request_id.set(job.trace or f"job-{job.pk}")
                try:
                    interruptions.default_on_database_error(
                        lambda: engine.wake_next_worker(job), otherwise=None
                    )
                    with open_trace_span(
                        f"job {job.kind}",
                        continued=job.trace,
                        job=job.pk,
                        attempt=job.attempt,
                    ):
                        _call_job_handler(job)
                finally:
                    request_id.reset(token)
        except interruptions.DATABASE_ERRORS as reason:
            # The sweeper queues the job again when this worker's lease has expired.
            message = "The database failed while a worker was at job %s: %s"
            log.error(message, job and job.pk, join_lines(reason))  # noqa: TRY400  (not worth a traceback)
            return False
        return job is not None and not interruptions.is_stop_requested()


def _call_job_handler(job: Job) -> None:
    try:
        import_string(engine.get_job_kind(job).handler)(job)
    except Exception as reason:  # noqa: BLE001  (whatever it is, the job says so)
        store_job_failure(job, reason)


def store_job_failure(job: Job, reason: Exception) -> None:
    """Store the result of a job whose work raised the exception ``reason``."""
    match reason:
        case JobProcessDied():
            interruptions.retry_on_database_error(
                engine.retry_or_fail_crashed, job, str(reason)
            )
        case JobWaitsForDependency():
            interruptions.retry_on_database_error(engine.defer_job, job, str(reason))
        case interruptions.WorkerStopping():
            interruptions.retry_on_database_error(engine.release_job, job)
        case engine.JobClaimLost():
            log.warning(
                "Job %s is not ours any more",
                job.pk,
                extra=engine.make_job_log_fields(job),
            )
        case OperationalError() | InterfaceError():
            raise reason
        case _:
            log.error(
                "Job %s failed by a fault",
                job.pk,
                extra=engine.make_job_log_fields(job),
                exc_info=reason,
            )
            interruptions.retry_on_database_error(
                engine.retry_or_fail_crashed, job, engine.get_job_kind(job).fault
            )
