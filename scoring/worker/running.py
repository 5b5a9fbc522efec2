"""Run a scorer for all jobs of a run, publish its results, renew the leases of the
jobs, and end the jobs.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from django.conf import settings

from scoring.worker.child import PairsWithoutEntailmentLabels, ScorerProcess
from scoring.worker.ending import end_failed_scoring_job, end_job_without_scorer_result
from scoring.worker.gathering import start_judgement_collection
from scoring.worker.publishing import publish_job_result
from scoring.worker.scorers import (
    SCORER_POLL_SECONDS,
    build_pending_pairs_file_name,
    build_scorer_command,
    build_scoring_limits,
)
from tasks.jobs import engine, interruptions
from tasks.jobs.interruptions import (
    DATABASE_ERRORS,
    default_on_database_error,
    retry_on_database_error,
)
from tasks.models import Job
from tasks.types.base import remove_judge_from_rule_set

#: Maximum number of seconds between two renewals of a job's lease.
#: A scorer whose run was cancelled is stopped within this time.
HEARTBEAT_SECONDS = 2.0
log = logging.getLogger(__name__)


class ClaimedJobsOfRun:
    """The jobs of one run that this worker has claimed. `unfinished` contains those of
    the jobs that have not ended.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.all = tuple(jobs)
        self.unfinished = list(jobs)
        self._gathered = retry_on_database_error(
            start_judgement_collection, self.all[0]
        )

    def score(self, scorer: ScorerProcess) -> None:
        """Wait until the scorer ends, publish each of its results and end the job of
        each result.

        If the judgement ledger has judgements that the scorer lacked, some jobs remain
        unfinished and the caller must start another scorer. If this method raises an
        exception, the caller must end the jobs that are unfinished.
        """
        command = build_scorer_command(self.all, scorer.folder, self._gathered)
        task = self.all[0].submission.phase.task
        scorer.start_command(command, build_scoring_limits(task, len(self.all)))
        heartbeat_seconds = min(HEARTBEAT_SECONDS, settings.LEASE_SECONDS / 4)
        last_heartbeat = step_began = time.monotonic()
        has_ended = is_logged = False
        while not has_ended:
            has_ended = scorer.wait_for_end(within=SCORER_POLL_SECONDS)
            if scorer.pid and not is_logged:
                self._log_process_id(scorer.pid)
                is_logged = True
            for result in scorer.results():
                for job in self._select_jobs_of_result(result):
                    self.unfinished.remove(job)
                    publishing = partial(
                        publish_job_result,
                        job,
                        scorer,
                        result,
                        time.monotonic() - step_began,
                        self._gathered,
                    )
                    _publish_or_end(job, publishing)
                    step_began = time.monotonic()
                    scorer.start_step_deadline()
            interruptions.raise_if_stop_requested()
            if time.monotonic() - last_heartbeat > heartbeat_seconds:
                self._renew_leases_of_unfinished_jobs(scorer)
                if not self.unfinished:
                    return
                last_heartbeat = time.monotonic()
        if self._look_up_missing_judgements(scorer):
            return
        self._log_last_scorer_output(scorer)
        self._end_jobs_without_results(scorer)

    def _look_up_missing_judgements(self, scorer: ScorerProcess) -> bool:
        """Look up the judgements in the ledger that the scorer lacked. Return True if
        the ledger has at least one of these judgements.
        """
        has_more = False
        if self._gathered is None:
            return has_more
        for job in self.unfinished:
            pending = scorer.folder / build_pending_pairs_file_name(job)
            is_pending = isinstance(
                scorer.verdict(remove_judge_from_rule_set(job.rules)),
                PairsWithoutEntailmentLabels,
            )
            if is_pending and retry_on_database_error(self._gathered.add, pending):
                has_more = True
        return has_more

    def end_unfinished_jobs(self, reason: Exception) -> None:
        while self.unfinished:
            end_failed_scoring_job(self.unfinished.pop(0), reason)

    def _select_jobs_of_result(self, result: Mapping[str, Any]) -> list[Job]:
        """Return the unfinished jobs to which a result of the scorer belongs."""
        if len(self.all) == 1:
            # Results of checks and of baselines contain no name of a rule set.
            return list(self.unfinished)
        rules = result.get("rules")
        return [
            job
            for job in self.unfinished
            if remove_judge_from_rule_set(job.rules) == rules
        ]

    def _renew_leases_of_unfinished_jobs(self, scorer: ScorerProcess) -> None:
        """Renew the lease of each unfinished job, and end jobs whose lease another
        worker has taken over.
        """
        for job in list(self.unfinished):
            heartbeat = partial(engine.renew_lease, job, progress=scorer.progress)
            if not default_on_database_error(heartbeat, otherwise=True):
                self.unfinished.remove(job)
                end_failed_scoring_job(job, engine.JobClaimLost())

    def _end_jobs_without_results(self, scorer: ScorerProcess) -> None:
        """End the jobs for which the scorer printed no result before it ended.

        The scorer had started the work for the first of these jobs. The jobs after the
        first are queued again, unless the scorer refused the run for all rule sets.
        """
        is_under_way = True
        while self.unfinished:
            job = self.unfinished.pop(0)
            if is_under_way or scorer.has_refused_all_runs:
                end_job_without_scorer_result(job, scorer, self._gathered)
                is_under_way = False
            else:
                requeue = partial(engine.requeue_job, is_counted=False)
                reason = "The scorer ended with another rule set of the run."
                retry_on_database_error(requeue, job, reason)

    def _log_process_id(self, pid: int) -> None:
        for job in self.all:
            log.info(
                "Job %s is scored by process %s",
                job.pk,
                pid,
                extra=engine.make_job_log_fields(job),
            )

    def _log_last_scorer_output(self, scorer: ScorerProcess) -> None:
        if scorer.last_output_lines:
            job = self.all[0]
            log.warning(
                "The scorer of job %s said: %s",
                job.pk,
                scorer.last_output_lines,
                extra=engine.make_job_log_fields(job),
            )


def _publish_or_end(job: Job, publishing: Callable[[], bool]) -> None:
    """Publish a result of the scorer, or end the job and store the reason if the result
    cannot be published.
    """
    try:
        is_published = publishing()
    except DATABASE_ERRORS:
        raise
    except Exception as reason:  # noqa: BLE001  (the job reports any failure)
        end_failed_scoring_job(job, reason)
    else:
        if not is_published:
            end_failed_scoring_job(job, engine.JobClaimLost())
