"""Claim the jobs of a run, start a scorer in a separate process and publish the
results.
"""

from contextlib import closing

from citeboard.core.confinement import reason_for_refusing_uploads
from citeboard.core.instruments import trace_span
from scoring.worker.child import ScorerWaits
from scoring.worker.running import RunJobs
from scoring.worker.scorers import make_scorer
from tasks.jobs import leases
from tasks.jobs.interruptions import (
    DATABASE_ERRORS,
    WorkerStopping,
    retry_on_database_error,
)
from tasks.jobs.work import take_job, take_jobs
from tasks.models import Job

#: Jobs that earlier releases have queued call the handlers by these names.
score_next, score = take_jobs, take_job


def score_run(job: Job) -> None:
    """Score the run of a job for all of its rule sets in one process. Each job ends
    separately.
    """
    if undecided := reason_for_refusing_uploads():
        raise ScorerWaits(f"{undecided[:1].upper()}{undecided[1:]}.")
    jobs = RunJobs([job, *retry_on_database_error(leases.claim_other_rule_sets, job)])
    try:
        while jobs.unfinished:
            _run_scorer_process(jobs)
    except DATABASE_ERRORS:
        raise
    except Exception as reason:  # noqa: BLE001  (the jobs report any failure)
        jobs.end_unfinished(reason)


def _run_scorer_process(jobs: RunJobs) -> None:
    with closing(make_scorer()) as scorer:
        try:
            with trace_span("scorer", rule_sets=len(jobs.all)):
                jobs.score(scorer)
        except WorkerStopping as reason:
            # End the jobs first, because a stopping worker has little time left.
            jobs.end_unfinished(reason)
