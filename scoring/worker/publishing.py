"""Store the output of a scorer, which is a baseline's run, the result of a check, or
the scores of a rule set.
"""

import hashlib
import secrets
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.core.files.base import File

from citeboard.core import storage
from scoring.models import Evaluation
from scoring.worker import local_copies
from scoring.worker.baseline_runs import store_baseline_run
from scoring.worker.checking import accept_checked_run_for_scoring
from scoring.worker.child import ScorerProcess, ScorerProcessDied
from scoring.worker.gathering import CollectedJudgementsOfRun
from scoring.worker.recording import record_scores
from scoring.worker.release import select_published_scores
from scoring.worker.scorers import BASELINE_RUN_FILE_NAME, build_statistics_file_name
from tasks.jobs import leases
from tasks.jobs.interruptions import retry_on_database_error
from tasks.models import Job


def publish_job_result(
    job: Job,
    scorer: ScorerProcess,
    result: Mapping[str, Any],
    seconds: float,
    gathered: CollectedJudgementsOfRun | None = None,
) -> bool:
    """Store the result of a scorer for a job, and end the job. Return False if another
    worker took over the job.

    ``gathered`` has the judgements that were passed to the scorer.
    """
    if job.kind == Job.Kind.WRITE:
        rests_on = str(result.get("rests_on", ""))
        return store_baseline_run(job, scorer.folder / BASELINE_RUN_FILE_NAME, rests_on)
    if result["gold"]["sha256"] != job.gold.plain_digest:
        local_copies.delete_local_gold(job.gold)
        raise ScorerProcessDied(
            "The gold that the scorer read is not the gold of this phase."
        )
    if job.kind == Job.Kind.CHECK:
        return accept_checked_run_for_scoring(job, scorer, result)
    return _publish_scores(job, scorer, result, seconds, gathered)


def _publish_scores(
    job: Job,
    scorer: ScorerProcess,
    result: Mapping[str, Any],
    seconds: float,
    gathered: CollectedJudgementsOfRun | None,
) -> bool:
    path = scorer.folder / build_statistics_file_name(job)
    told = select_published_scores(job, result, path)
    name = store_statistics_file(job, path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    is_published = False
    try:
        record = partial(
            record_scores,
            job=job,
            result=result,
            statistics=name,
            seconds=seconds,
            told=told,
            answers=digest,
            gathered=gathered,
        )
        is_published = retry_on_database_error(leases.complete_job, job, record)
    finally:
        if not is_published:
            retry_on_database_error(delete_unused_statistics, name)
    return is_published


def store_statistics_file(job: Job, path: Path) -> str:
    """Store the file with the statistics of a scored run, and return the name of the
    stored file.
    """
    # File names are never reused, so that backups of the database name the right files.
    name = f"{job.submission_id}/job-{job.pk}-{job.attempt}-{secrets.token_hex(4)}.npz"
    with local_copies.convert_storage_errors(), path.open("rb") as content:
        return storage.statistics_file_storage.save(name, File(content))


def delete_unused_statistics(name: str) -> None:
    """Delete a file of statistics unless an evaluation refers to the file.

    If the connection was lost, the transaction that saved an evaluation may still have
    been committed.
    """
    if not Evaluation.objects.filter(statistics=name).exists():
        storage.statistics_file_storage.delete(name)
