"""A run that a built-in baseline has written: checked like any other, kept, and queued to be scored."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path

from scoring.tools.baselines import baseline
from scoring.worker.baseline_requests import described
from scoring.worker.child import RunFailed
from scoring.worker.database_retries import retry_on_database_error
from scoring.worker.local_copies import storage_in_use
from tasks.jobs import leases
from tasks.jobs.leases import create_jobs
from tasks.models import Gold, Job, Submission
from tasks.submissions.run_acts import replace
from tasks.submissions.run_card import Findings, as_warnings
from tasks.submissions.submit import check_run
from tasks.submissions.uploads import StoredRun, Upload, checksum, discard, stored_run
from tasks.types.problems import capped


def keep_written(job: Job, path: Path, rests_on: str) -> bool:
    """End the job with its run in place; False if the job is not ours any more.

    What it rests on, where that is said, goes into its description. Raises RunFailed where the baseline's own
    run cannot be scored.
    """
    upload = Upload(path, f"{job.submission.built_in}.jsonl")
    found = check_run(phase=job.submission.phase, upload=upload)
    if found.errors:
        raise RunFailed(f"The run that it computed cannot be scored: {found.errors[0]}")
    with ExitStack() as stack:
        with storage_in_use():
            stored = stack.enter_context(stored_run(upload, checksum(path), is_checked=True))
        record = partial(_record, job, stored, found, rests_on)
        is_completed = retry_on_database_error(leases.complete, job, record)
    # A commit may have succeeded although its answer was lost; then the file is in use.
    if not is_completed and not Submission.objects.filter(file=stored.file).exists():
        discard(stored.file)
    return is_completed


def _record(job: Job, stored: StoredRun, found: Findings, rests_on: str) -> None:
    """The run stands on its own now; what the baseline computed before gives way to it."""
    Submission.objects.filter(pk=job.submission_id).update(
        file=stored.file,
        filename=stored.filename,
        sha256=stored.sha256,
        size=stored.size,
        warnings=as_warnings(*capped(found.problems)),
        description=" ".join(filter(None, [described(baseline(job.submission.built_in)), rests_on])),
    )
    submission = Submission.objects.select_related("phase__task").get(pk=job.submission_id)
    gold = Gold.objects.current(submission.phase)
    assert gold is not None, "gold is never taken away"
    # A large one is checked by its scorer alone: nobody waits to be told of faults by line.
    create_jobs(submission, gold)
    earlier = Submission.objects.filter(
        phase=submission.phase, built_in=submission.built_in, number__lt=submission.number
    )
    for before in earlier.exclude(status=Submission.Status.WITHDRAWN):
        replace(before, submission)
