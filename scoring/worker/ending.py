"""End scoring jobs that have no result. A scoring job without a result fails, waits or
starts again.
"""

from functools import partial

from django.conf import settings

from scoring.worker.child import (
    DeclaredMeasureFailed,
    PairsWithoutEntailmentLabels,
    ScorerProcess,
    ScorerProcessDied,
    ScoringFailedByFaultOfSite,
    ScoringOfRunFailed,
)
from scoring.worker.entailment_labels import wait_for_labels
from scoring.worker.gathering import CollectedJudgementsOfRun
from scoring.worker.judging import queue_judging_where_consented
from scoring.worker.local_copies import delete_local_gold
from scoring.worker.scorers import build_pending_pairs_file_name
from tasks.jobs import engine, leases
from tasks.jobs.interruptions import retry_on_database_error
from tasks.jobs.work import store_job_failure
from tasks.models import Job
from tasks.seasons.own_measures import record_measure_failure
from tasks.types.base import remove_judge_from_rule_set

SCORER_RESTART_MESSAGE = "The scorer failed by a fault that is not the run's; it begins again from a fresh copy of the gold."  # noqa: E501


def end_failed_scoring_job(job: Job, reason: Exception) -> None:
    """End a scoring job and store the reason. If the site caused the error, start the
    job again with a new copy of the gold.
    """
    if (
        isinstance(reason, ScoringFailedByFaultOfSite)
        and job.attempt < settings.MAX_ATTEMPTS
    ):
        delete_local_gold(job.gold)
        reason = ScorerProcessDied(SCORER_RESTART_MESSAGE)
    if isinstance(reason, DeclaredMeasureFailed):
        retry_on_database_error(
            record_measure_failure, job.submission.phase.task, reason.why
        )
    if isinstance(reason, ScoringOfRunFailed):
        fail = partial(leases.fail_job, hit_limit=reason.hit_limit)
        retry_on_database_error(fail, job, str(reason), reason.problems)
    else:
        store_job_failure(job, reason)


def end_job_without_scorer_result(
    job: Job, scorer: ScorerProcess, gathered: CollectedJudgementsOfRun | None
) -> None:
    """End a scoring job for which the scorer printed no result, and store the reason."""
    verdict = scorer.verdict(remove_judge_from_rule_set(job.rules))
    if gathered is None or not isinstance(verdict, PairsWithoutEntailmentLabels):
        end_failed_scoring_job(job, verdict)
        return
    # The job waits for labels, unless the missing labels were imported during scoring.
    pending = scorer.folder / build_pending_pairs_file_name(job)
    decided = gathered.decided
    has_waited = retry_on_database_error(
        wait_for_labels, job, verdict, pending, decided
    )
    if not has_waited:
        return
    retry_on_database_error(queue_judging_where_consented, job)
    if retry_on_database_error(lambda: gathered.is_outdated):
        retry_on_database_error(engine.resume_waiting_job, job)
