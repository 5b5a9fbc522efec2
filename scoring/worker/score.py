"""Claim the jobs of a run, start a scorer in a separate process and publish the
results.
"""

from contextlib import closing

from citeboard.core.confinement import why_nothing_is_read
from citeboard.core.instruments import span
from scoring.worker.child import ScorerWaits
from scoring.worker.running import RunJobs
from scoring.worker.scorers import ready_scorer
from tasks.jobs import leases
from tasks.jobs.interruptions import (
    DATABASE_ERRORS,
    Stopping,
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
    if undecided := why_nothing_is_read():
        raise ScorerWaits(f"{undecided[:1].upper()}{undecided[1:]}.")
    jobs = RunJobs([job, *retry_on_database_error(leases.claim_others, job)])
    try:
        while jobs.unfinished:
            _run_scorer(jobs)
    except DATABASE_ERRORS:
        raise
    except Exception as reason:  # noqa: BLE001  (the jobs report any failure)
        jobs.end_unfinished(reason)


def _run_scorer(jobs: RunJobs) -> None:
    with closing(ready_scorer()) as scorer:
        try:
            with span("scorer", rule_sets=len(jobs.all)):
                jobs.score(scorer)
        except Stopping as reason:
            # End the jobs first, because a stopping worker has little time left.
            jobs.end_unfinished(reason)
