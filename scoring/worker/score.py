"""What the queue wakes: claim a job, have a process of its own score it, publish what came out.

A wake may come twice or for nothing, so the claim alone decides who works, and on what. Nothing is done in a
transaction but the claim, the signs of life and the end.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from django.conf import settings

from citeboard.core.logs import request_id
from citeboard.core.machine import group_name, process_name
from citeboard.core.words import one_line
from scoring.worker import stopping, warm_process
from scoring.worker.child import PairsPending, RunFailed, Scorer, ScorerDied, ScorerWaits
from scoring.worker.database_retries import (
    DATABASE_ERRORS,
    default_on_database_error,
    retry_on_database_error,
)
from scoring.worker.label_copies import is_outdated
from scoring.worker.pending_labels import wait_for_labels
from scoring.worker.publish import publish
from scoring.worker.scorer_commands import scorer_command
from tasks.jobs import leases
from tasks.models import Job

TICK = 0.25  # seconds between looks at the scorer
MAX_SILENCE = 2.0  # seconds between signs of life; a cancelled run ends within so many
FAULT = "The site failed to score the run by a fault of its own, which its organisers can see."

log = logging.getLogger(__name__)


class JobLost(Exception):
    """The job was cancelled, or its lease ended and it is another's now."""


def score_next(woken_for: int) -> None:
    """Score what there is for this worker, one job after the other by whose turn it is."""
    group = group_name(os.getpgrp())
    while _claimed_and_scored(lambda: leases.claim_next(process_name(), group), woken_for):
        pass


def score(job_id: int) -> None:
    """Score this job if nobody else does, whatever its turn and queue."""
    _claimed_and_scored(lambda: leases.claim(job_id, process_name()), job_id)


def _claimed_and_scored(claim: Callable[[], Job | None], woken_for: int) -> bool:
    """Whether there was a job. What happens is told in the job and never raised to the queue."""
    with stopping.held_back():
        try:
            job = None if stopping.is_asked() else retry_on_database_error(claim)
            if job is not None:
                with _traced(job):
                    _work(job)
        except DATABASE_ERRORS as reason:
            # The job stays ours in name until its lease ends, and then a sweep queues it again.
            words = "The database failed while a worker was woken for job %s: %s"
            log.error(words, woken_for, one_line(reason))  # noqa: TRY400  (an outage is not worth a traceback)
            return False
        return job is not None and not stopping.is_asked()


def _work(job: Job) -> None:
    try:
        with closing(warm_process.scorer()) as scorer:
            try:
                result, seconds = _score(job, scorer)
            except PairsPending as missing:
                _wait(job, scorer, missing)
                return
            _publish(job, scorer, result, seconds)
    except RunFailed as reason:
        fail = partial(leases.fail, hit_limit=reason.hit_limit)
        retry_on_database_error(fail, job, str(reason), reason.problems)
    except ScorerDied as reason:
        retry_on_database_error(leases.crashed, job, str(reason))
    except ScorerWaits as reason:
        retry_on_database_error(leases.defer, job, str(reason))
    except stopping.Stopping:
        retry_on_database_error(leases.release, job)
    except JobLost:
        log.warning("Job %s is not ours any more", job.pk, extra=leases.described(job))
    except DATABASE_ERRORS:
        raise
    except Exception:
        log.exception("Job %s could not be scored", job.pk, extra=leases.described(job))
        retry_on_database_error(leases.crashed, job, FAULT)


def _wait(job: Job, scorer: Scorer, missing: PairsPending) -> None:
    """Put the job off until its labels come; if some came while it was scored, it goes on at once."""
    if not retry_on_database_error(wait_for_labels, job, missing, scorer.pending):
        return
    if retry_on_database_error(is_outdated, job, scorer.folder):
        retry_on_database_error(leases.resume, job)


def _score(job: Job, scorer: Scorer) -> tuple[dict[str, Any], float]:
    """What the scorer says, and how long it took, with signs of life meanwhile."""
    silent_since = time.monotonic()
    command = scorer_command(job, scorer.folder)
    began = time.monotonic()
    scorer.begin(command, warm_process.limits_for(job.submission.phase.task))
    log.info("Job %s is scored by process %s", job.pk, scorer.process.pid, extra=leases.described(job))
    warm_process.prepare()
    while not scorer.ended(within=TICK):
        stopping.check()
        if time.monotonic() - silent_since > min(MAX_SILENCE, settings.LEASE_SECONDS / 4):
            _beat(job, scorer.progress)
            silent_since = time.monotonic()
    if scorer.last_words:
        log.warning("The scorer of job %s said: %s", job.pk, scorer.last_words, extra=leases.described(job))
    return scorer.result(), time.monotonic() - began


def _beat(job: Job, progress: float) -> None:
    if not default_on_database_error(lambda: leases.heartbeat(job, progress), otherwise=True):
        raise JobLost


def _publish(job: Job, scorer: Scorer, result: dict[str, Any], seconds: float) -> None:
    if not publish(job, scorer, result, seconds):
        raise JobLost


@contextmanager
def _traced(job: Job) -> Iterator[None]:
    """Log lines carry the id of the request that brought the run."""
    token = request_id.set(job.trace or f"job-{job.pk}")
    try:
        yield
    finally:
        request_id.reset(token)
