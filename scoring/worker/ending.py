"""End scoring jobs that have no result. A scoring job without a result fails, waits or
starts again.
"""

from functools import partial

from django.conf import settings

from scoring.worker.child import (
    MeasureStopped,
    PairsPending,
    RunFailed,
    Scorer,
    ScorerDied,
    SiteFault,
)
from scoring.worker.entailment_labels import wait_for_labels
from scoring.worker.gathering import GatheredJudgements
from scoring.worker.judging import ask_where_agreed
from scoring.worker.local_copies import delete_local_gold
from scoring.worker.scorers import pending_file_name
from tasks.jobs import engine, leases
from tasks.jobs.interruptions import retry_on_database_error
from tasks.jobs.work import store_job_failure
from tasks.models import Job
from tasks.seasons.own_measures import record_measure_failure
from tasks.types.base import base_rules

RESTART_MESSAGE = "The scorer failed by a fault that is not the run's; it begins again from a fresh copy of the gold."  # noqa: E501


def end_job(job: Job, reason: Exception) -> None:
    """End a scoring job and store the reason. If the site caused the error, start the
    job again with a new copy of the gold.
    """
    if isinstance(reason, SiteFault) and job.attempt < settings.MAX_ATTEMPTS:
        delete_local_gold(job.gold)
        reason = ScorerDied(RESTART_MESSAGE)
    if isinstance(reason, MeasureStopped):
        retry_on_database_error(
            record_measure_failure, job.submission.phase.task, reason.why
        )
    if isinstance(reason, RunFailed):
        fail = partial(leases.fail_job, hit_limit=reason.hit_limit)
        retry_on_database_error(fail, job, str(reason), reason.problems)
    else:
        store_job_failure(job, reason)


def end_without_result(
    job: Job, scorer: Scorer, gathered: GatheredJudgements | None
) -> None:
    """End a scoring job for which the scorer printed no result, and store the reason."""
    verdict = scorer.verdict(base_rules(job.rules))
    if gathered is None or not isinstance(verdict, PairsPending):
        end_job(job, verdict)
        return
    # The job waits for labels, unless the missing labels were imported during scoring.
    pending = scorer.folder / pending_file_name(job)
    decided = gathered.decided
    has_waited = retry_on_database_error(
        wait_for_labels, job, verdict, pending, decided
    )
    if not has_waited:
        return
    retry_on_database_error(ask_where_agreed, job)
    if retry_on_database_error(lambda: gathered.is_outdated):
        retry_on_database_error(engine.resume_waiting_job, job)
