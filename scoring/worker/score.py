"""What the queue wakes: claim a job, have a process of its own score it, publish what came out."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial

from django.conf import settings

from citeboard.core.confined.limits import Limits
from citeboard.core.logs import request_id
from citeboard.core.processes import group_name, process_name
from citeboard.core.words import one_line
from scoring.worker import interruptions
from scoring.worker.child import PairsPending, RunFailed, Scorer, ScorerDied, ScorerWaits
from scoring.worker.entailment_labels import is_outdated
from scoring.worker.interruptions import DATABASE_ERRORS, default_on_database_error, retry_on_database_error
from scoring.worker.local_copies import storage_in_use, work_folder
from scoring.worker.pending_labels import wait_for_labels
from scoring.worker.publish import publish
from scoring.worker.scorer_commands import scorer_command
from tasks.jobs import leases
from tasks.models import Job, Task

TICK = 0.25  # seconds between looks at the scorer
MAX_SILENCE = 2.0  # seconds between signs of life; a cancelled run ends within so many
FAULT = "The site failed to score the run by a fault of its own, which its organisers can see."

log = logging.getLogger(__name__)


class JobLost(Exception):
    pass


def score_next(woken_for: int) -> None:
    group = group_name(os.getpgrp())
    while _claimed_and_scored(lambda: leases.claim_next(process_name(), group), woken_for):
        pass


def score(job_id: int) -> None:
    _claimed_and_scored(lambda: leases.claim(job_id, process_name()), job_id)


def _claimed_and_scored(claim: Callable[[], Job | None], woken_for: int) -> bool:
    """Whether there was a job. What happens is told in the job and never raised to the queue."""
    with interruptions.held_back():
        try:
            job = None if interruptions.is_asked() else retry_on_database_error(claim)
            if job is not None:
                # Log lines carry the id of the request that brought the run.
                token = request_id.set(job.trace or f"job-{job.pk}")
                try:
                    _work(job)
                finally:
                    request_id.reset(token)
        except DATABASE_ERRORS as reason:
            # The job stays ours in name until its lease ends, and then a sweep queues it again.
            words = "The database failed while a worker was woken for job %s: %s"
            log.error(words, woken_for, one_line(reason))  # noqa: TRY400  (an outage is not worth a traceback)
            return False
        return job is not None and not interruptions.is_asked()


def _work(job: Job) -> None:
    try:
        with closing(ready_scorer()) as scorer:
            _score_and_publish(job, scorer)
    except RunFailed as reason:
        fail = partial(leases.fail, hit_limit=reason.hit_limit)
        retry_on_database_error(fail, job, str(reason), reason.problems)
    except ScorerDied as reason:
        retry_on_database_error(leases.crashed, job, str(reason))
    except ScorerWaits as reason:
        retry_on_database_error(leases.defer, job, str(reason))
    except interruptions.Stopping:
        retry_on_database_error(leases.release, job)
    except JobLost:
        log.warning("Job %s is not ours any more", job.pk, extra=leases.described(job))
    except DATABASE_ERRORS:
        raise
    except Exception:
        log.exception("Job %s could not be scored", job.pk, extra=leases.described(job))
        retry_on_database_error(leases.crashed, job, FAULT)


def _score_and_publish(job: Job, scorer: Scorer) -> None:
    silent_since = time.monotonic()
    command = scorer_command(job, scorer.folder)
    began = time.monotonic()
    scorer.begin(command, limits_for(job.submission.phase.task))
    log.info("Job %s is scored by process %s", job.pk, scorer.process.pid, extra=leases.described(job))
    prepare_scorer()
    while not scorer.ended(within=TICK):
        interruptions.check()
        if time.monotonic() - silent_since > min(MAX_SILENCE, settings.LEASE_SECONDS / 4):
            heartbeat = partial(leases.heartbeat, job, scorer.progress)
            if not default_on_database_error(heartbeat, otherwise=True):
                raise JobLost
            silent_since = time.monotonic()
    if scorer.last_words:
        log.warning("The scorer of job %s said: %s", job.pk, scorer.last_words, extra=leases.described(job))
    try:
        result = scorer.result()
    except PairsPending as missing:
        # Until its labels come; if some came while it was scored, it goes on at once.
        has_waited = retry_on_database_error(wait_for_labels, job, missing, scorer.pending)
        if has_waited and retry_on_database_error(is_outdated, job, scorer.folder):
            retry_on_database_error(leases.resume, job)
    else:
        if not publish(job, scorer, result, time.monotonic() - began):
            raise JobLost


#: The largest file that a scoring may write.
MAX_FILE_MB = 1024

_is_worker = False
_waiting: Scorer | None = None


def begin_work() -> None:
    global _is_worker  # noqa: PLW0603  (a process is a worker or is none)
    _is_worker = True
    prepare_scorer()


def prepare_scorer() -> None:
    global _waiting  # noqa: PLW0603  (there is one of them in a process)
    if _is_worker and _waiting is None:
        with suppress(ScorerWaits):
            _waiting = _started()


def ready_scorer() -> Scorer:
    global _waiting
    taken, _waiting = _waiting, None
    if taken is not None and taken.is_ready:
        return taken
    if taken is not None:
        taken.close()
    return _started()


def limits_for(task: Task) -> Limits:
    seconds = min(task.max_seconds or settings.SCORING_TIMEOUT, settings.SCORING_TIMEOUT)
    return Limits(
        cpu_seconds=seconds,
        # On a busy machine a second of computing takes longer, which is not the run's fault.
        wall_seconds=2 * seconds,
        memory_mb=min(task.max_memory_mb or settings.SCORING_MEMORY_MB, settings.SCORING_MEMORY_MB),
        file_mb=MAX_FILE_MB,
    )


def _started() -> Scorer:
    with storage_in_use():
        return Scorer(work_folder())
