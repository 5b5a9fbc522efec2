"""What is done with what a scorer has found, by the step of its job: all of it in the end, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from scoring.worker.baseline_run import keep_written
from scoring.worker.checking import accept
from scoring.worker.child import Scorer, ScorerDied
from scoring.worker.database_retries import retry_on_database_error
from scoring.worker.local_copies import forget_gold
from scoring.worker.record import discard_statistics, keep_statistics, record_scores
from scoring.worker.scorer_commands import WRITTEN
from tasks.jobs import leases
from tasks.models import Job

Result = Mapping[str, Any]


def publish(job: Job, scorer: Scorer, result: Result, seconds: float) -> bool:
    """False if the job is not ours any more. Raises RunFailed, ScorerDied or ScorerWaits."""
    if job.step == Job.Step.WRITE:
        return keep_written(job, scorer.folder / WRITTEN, str(result.get("rests_on", "")))
    if result["gold"]["sha256"] != job.gold.digest:
        forget_gold(job.gold)
        raise ScorerDied("The gold that the scorer read is not the gold of this phase.")
    if job.step == Job.Step.CHECK:
        return retry_on_database_error(accept, job, result)
    return _record(job, scorer, result, seconds)


def _record(job: Job, scorer: Scorer, result: Result, seconds: float) -> bool:
    name = keep_statistics(job, scorer.statistics)
    published = False
    try:
        record = partial(record_scores, job=job, result=result, statistics=name, seconds=seconds)
        published = retry_on_database_error(leases.complete, job, record)
    finally:
        if not published:
            retry_on_database_error(discard_statistics, name)
    return published
