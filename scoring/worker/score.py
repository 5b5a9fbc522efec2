"""Score a run: claim its jobs, run a scorer in a process of its own and publish the results."""

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

#: Wakes of earlier releases refer to these names.
score_next, score = take_jobs, take_job


def score_run(job: Job) -> None:
    """Score the job and the other rule sets of its run in one process; end each job by itself."""
    if undecided := why_nothing_is_read():
        raise ScorerWaits(f"{undecided[:1].upper()}{undecided[1:]}.")
    jobs = RunJobs([job, *retry_on_database_error(leases.claim_others, job)])
    try:
        with closing(ready_scorer()) as scorer:
            try:
                with span("scorer", rule_sets=len(jobs.all)):
                    jobs.score(scorer)
            except Stopping as reason:
                # Closing the scorer takes time, which a stopping process may not have.
                jobs.end_unfinished(reason)
    except DATABASE_ERRORS:
        raise
    except Exception as reason:  # noqa: BLE001  (the jobs report any failure)
        jobs.end_unfinished(reason)
