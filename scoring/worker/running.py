"""Run one scorer for the jobs of a run: publish its results, renew the leases and end each job."""

import logging
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.conf import settings

from scoring.worker.child import Scorer
from scoring.worker.ending import end_job, end_without_result
from scoring.worker.publishing import publish
from scoring.worker.scorers import POLL_SECONDS, limits_for, scorer_command
from tasks.jobs import engine, interruptions
from tasks.jobs.interruptions import (
    DATABASE_ERRORS,
    default_on_database_error,
    retry_on_database_error,
)
from tasks.models import Job

#: The longest time between heartbeats, and until a cancelled run ends.
HEARTBEAT_SECONDS = 2.0
log = logging.getLogger(__name__)


class RunJobs:
    """The claimed jobs of one run; `unfinished` lists the jobs that have not ended yet."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.all = tuple(jobs)
        self.unfinished = list(jobs)

    def score(self, scorer: Scorer) -> None:
        """Run the scorer to its end, publish each result and end each job.

        If this raises, the caller must end the unfinished jobs.
        """
        command = scorer_command(self.all, scorer.folder)
        task = self.all[0].submission.phase.task
        scorer.begin(command, limits_for(task, len(self.all)))
        heartbeat_seconds = min(HEARTBEAT_SECONDS, settings.LEASE_SECONDS / 4)
        last_heartbeat = step_began = time.monotonic()
        has_ended = is_logged = False
        while not has_ended:
            has_ended = scorer.ended(within=POLL_SECONDS)
            if scorer.pid and not is_logged:
                self._log_process(scorer.pid)
                is_logged = True
            for result in scorer.results():
                for job in self._jobs_of(result):
                    self.unfinished.remove(job)
                    _publish_or_end(job, scorer, result, time.monotonic() - step_began)
                    step_began = time.monotonic()
                    scorer.begin_step()
            interruptions.check()
            if time.monotonic() - last_heartbeat > heartbeat_seconds:
                self._renew_leases(scorer)
                if not self.unfinished:
                    return
                last_heartbeat = time.monotonic()
        self._log_last_words(scorer)
        self._end_without_results(scorer)

    def end_unfinished(self, reason: Exception) -> None:
        while self.unfinished:
            end_job(self.unfinished.pop(0), reason)

    def _jobs_of(self, result: Mapping[str, Any]) -> list[Job]:
        """Return the unfinished jobs that the result belongs to."""
        if len(self.all) == 1:
            # The result of a check or of a baseline names no rule set.
            return list(self.unfinished)
        return [job for job in self.unfinished if job.rules == result.get("rules")]

    def _renew_leases(self, scorer: Scorer) -> None:
        """Renew the lease of each unfinished job; end the jobs that lost their lease."""
        for job in list(self.unfinished):
            heartbeat = partial(engine.heartbeat, job, progress=scorer.progress)
            if not default_on_database_error(heartbeat, otherwise=True):
                self.unfinished.remove(job)
                end_job(job, engine.JobLost())

    def _end_without_results(self, scorer: Scorer) -> None:
        """End the jobs that have no result after the scorer has ended.

        The first job is the one that the scorer was working on. The others are queued
        again, unless the scorer has refused all.
        """
        is_under_way = True
        while self.unfinished:
            job = self.unfinished.pop(0)
            if is_under_way or scorer.has_refused_all:
                end_without_result(job, scorer)
                is_under_way = False
            else:
                requeue = partial(engine.requeue, is_counted=False)
                reason = "The scorer ended with another rule set of the run."
                retry_on_database_error(requeue, job, reason)

    def _log_process(self, pid: int) -> None:
        for job in self.all:
            log.info(
                "Job %s is scored by process %s",
                job.pk,
                pid,
                extra=engine.described(job),
            )

    def _log_last_words(self, scorer: Scorer) -> None:
        if scorer.last_words:
            job = self.all[0]
            log.warning(
                "The scorer of job %s said: %s",
                job.pk,
                scorer.last_words,
                extra=engine.described(job),
            )


def _publish_or_end(
    job: Job, scorer: Scorer, result: Mapping[str, Any], seconds: float
) -> None:
    """Publish a result; if this fails, end the job with the reason."""
    try:
        is_published = publish(job, scorer, result, seconds)
    except DATABASE_ERRORS:
        raise
    except Exception as reason:  # noqa: BLE001  (the job reports any failure)
        end_job(job, reason)
    else:
        if not is_published:
            end_job(job, engine.JobLost())
