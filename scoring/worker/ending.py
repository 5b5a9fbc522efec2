"""End scoring jobs that have no result. A scoring job without a result fails, waits or
starts again.
"""

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
from scoring.worker.entailment_labels import wait_for_labels
from scoring.worker.gathering import Gathered
from scoring.worker.judging import ask_where_agreed
from scoring.worker.local_copies import forget_gold
from scoring.worker.scorers import pending_file
from tasks.jobs import engine, leases
from tasks.jobs.interruptions import retry_on_database_error
from tasks.jobs.work import settle
from tasks.models import Job
from tasks.seasons.own_measures import tell_organisers
from tasks.types.base import base_rules

BEGUN_AGAIN = "The scorer failed by a fault that is not the run's; it begins again from a fresh copy of the gold."  # noqa: E501


def end_job(job: Job, reason: Exception) -> None:
    """End a scoring job and store the reason. If the site caused the error, start the
    job again with a new copy of the gold.
    """
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


def end_without_result(job: Job, scorer: Scorer, gathered: Gathered | None) -> None:
    """End a scoring job for which the scorer printed no result, and store the reason."""
    verdict = scorer.verdict(base_rules(job.rules))
    if gathered is None or not isinstance(verdict, PairsPending):
        end_job(job, verdict)
        return
    # The job waits for labels, unless the missing labels were imported during scoring.
    pending = scorer.folder / pending_file(job)
    decided = gathered.decided
    has_waited = retry_on_database_error(
        wait_for_labels, job, verdict, pending, decided
    )
    if not has_waited:
        return
    retry_on_database_error(ask_where_agreed, job)
    if retry_on_database_error(lambda: gathered.is_outdated):
        retry_on_database_error(engine.resume, job)
