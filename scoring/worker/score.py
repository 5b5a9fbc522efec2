"""Claim the jobs of a run, start a scorer in a separate process and publish the
results.
"""

from contextlib import closing

from citeboard.core.confinement import find_reason_for_refusing_uploads
from citeboard.core.instruments import open_trace_span
from scoring.worker.child import ScorerWaitsForDependency
from scoring.worker.running import ClaimedJobsOfRun
from scoring.worker.scorers import create_scorer_process
from tasks.jobs import leases
from tasks.jobs.interruptions import (
    DATABASE_ERRORS,
    WorkerStopping,
    retry_on_database_error,
)
from tasks.jobs.work import claim_and_do_job_by_id, take_jobs
from tasks.models import Job

#: Jobs that earlier releases have queued call the handlers by these names.
score_next, score = take_jobs, claim_and_do_job_by_id


def score_run(job: Job) -> None:
    """Score the run of a job for all of its rule sets in one process. Each job ends
    separately.
    """
    if undecided := find_reason_for_refusing_uploads():
        raise ScorerWaitsForDependency(f"{undecided[:1].upper()}{undecided[1:]}.")
    jobs = ClaimedJobsOfRun(
        [job, *retry_on_database_error(leases.claim_other_rule_sets, job)]
    )
    try:
        while jobs.unfinished:
            _run_scorer_process(jobs)
    except DATABASE_ERRORS:
        raise
    except Exception as reason:  # noqa: BLE001  (the jobs report any failure)
        jobs.end_unfinished_jobs(reason)


def _run_scorer_process(jobs: ClaimedJobsOfRun) -> None:
    with closing(create_scorer_process()) as scorer:
        try:
            with open_trace_span("scorer", rule_sets=len(jobs.all)):
                jobs.score(scorer)
        except WorkerStopping as reason:
            # End the jobs first, because a stopping worker has little time left.
            jobs.end_unfinished_jobs(reason)
