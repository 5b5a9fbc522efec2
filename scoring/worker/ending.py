"""End the jobs of a run that have no result: fail, defer or begin them again."""

from functools import partial

from django.conf import settings

from scoring.worker.child import (
    MeasureStopped,
    OurFault,
    PairsPending,
    RunFailed,
    Scorer,
    ScorerDied,
)
from scoring.worker.entailment_labels import is_outdated, wait_for_labels
from scoring.worker.local_copies import forget_gold
from scoring.worker.scorers import pending_file
from tasks.jobs import engine, leases
from tasks.jobs.interruptions import retry_on_database_error
from tasks.jobs.work import settle
from tasks.models import Job
from tasks.seasons.own_measures import tell_organisers

BEGUN_AGAIN = "The scorer failed by a fault that is not the run's; it begins again from a fresh copy of the gold."  # noqa: E501


def end_job(job: Job, reason: Exception) -> None:
    """End the job with the reason; after a fault of ours, begin it again with new gold."""
    if isinstance(reason, OurFault) and job.attempt < settings.MAX_ATTEMPTS:
        forget_gold(job.gold)
        reason = ScorerDied(BEGUN_AGAIN)
    if isinstance(reason, MeasureStopped):
        retry_on_database_error(tell_organisers, job.submission.phase.task, reason.why)
    if isinstance(reason, RunFailed):
        fail = partial(leases.fail, hit_limit=reason.hit_limit)
        retry_on_database_error(fail, job, str(reason), reason.problems)
    else:
        settle(job, reason)


def end_without_result(job: Job, scorer: Scorer) -> None:
    """End the job with the reason why the scorer printed no result for it."""
    verdict = scorer.verdict(job.rules)
    if not isinstance(verdict, PairsPending):
        end_job(job, verdict)
        return
    # The job waits for labels, and goes on at once if some arrived during the scoring.
    pending = scorer.folder / pending_file(job)
    has_waited = retry_on_database_error(wait_for_labels, job, verdict, pending)
    if has_waited and retry_on_database_error(is_outdated, job, scorer.folder):
        retry_on_database_error(engine.resume, job)
