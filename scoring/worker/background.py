"""Queue, run, finish and delete background jobs. A worker runs one background job at a
time.
"""

import datetime as dt
import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.core.files.base import File
from django.db import IntegrityError, transaction

from citeboard.core import storage
from citeboard.core.commits import call_after_commit
from citeboard.core.database import database_time_expression, fetch_database_time
from citeboard.teams.models import User
from scoring.models import BackgroundJob
from tasks.jobs import engine
from tasks.models import Job, Phase, Season, Submission
from tasks.submissions.uploads import UploadedRunFile
from tasks.types import Problem
from tasks.types.problems import select_problems_to_list

BackgroundJobKind, BackgroundJobState = BackgroundJob.Kind, BackgroundJob.State

#: The row and the files of a finished job are deleted after this time.
#: Archives and zips for papers are deleted earlier, above all if a newer file exists.
FINISHED_JOB_RETENTION = dt.timedelta(days=30)
PAPER_FILE_RETENTION, REPLACED_FILE_RETENTION = (
    dt.timedelta(days=7),
    dt.timedelta(hours=1),
)
MAX_OLD_JOBS_DELETED_AT_ONCE = 20


class BackgroundWorkJobKind(engine.JobKind):
    handler = "citeboard.background.work.execute_claimed_job"
    model, lease = BackgroundJob, 60
    related = (
        "season",
        "phase__task__season",
        "submission__phase__task__season",
        "asked_by",
    )

    def moved(self, job: Job, state: Job.State, reason: str) -> None:
        BackgroundJob.objects.filter(job=job).update(doing="")

    def fail_after_last_attempt(self, job: Job, reason: str) -> bool:
        words = f"{reason} It was begun {job.attempt} times, and is not begun again by itself."
        return fail_background_job(load_background_job(job), words)


BACKGROUND_WORK_JOBS = BackgroundWorkJobKind()


def load_background_job(job: Job) -> BackgroundJob:
    row: BackgroundJob = engine.get_related_row(job)
    row.job = job
    return row


def queue_background_job(
    kind: BackgroundJob.Kind,
    season: Season,
    given: Mapping[str, Any],
    *,
    by: User | None,
    phase: Phase | None = None,
    submission: Submission | None = None,
    upload: UploadedRunFile | None = None,
    queue: str = Job.LIGHT,
) -> BackgroundJob:
    """Queue a background job and return its row. If the same user already has an equal
    job that is unfinished, return that job.
    """
    digest = ""
    if upload:
        with upload.path.open("rb") as sent:
            digest = hashlib.file_digest(sent, "sha256").hexdigest()
    facts = {
        "given": dict(given),
        "phase": phase and phase.pk,
        "submission": submission and submission.pk,
        "by": by and by.pk,
        "file": digest,
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    same = BackgroundJob.objects.filter(
        season=season, kind=kind, digest=digest
    ).select_related("job")
    if found := same.filter(finished_at=None).first():
        return found
    name = ""
    if upload:
        with upload.path.open("rb") as sent:
            name = storage.statistics_file_storage.save(
                make_random_storage_name("upload"), File(sent)
            )
    try:
        with transaction.atomic():
            job = BackgroundJob.objects.create(
                job=engine.create_job(
                    Job.Kind.BACKGROUND, Job.Priority.BACKGROUND, queue=queue
                ),
                kind=kind,
                season=season,
                phase=phase,
                submission=submission,
                given=dict(given),
                digest=digest,
                file=name,
                filename=upload.filename if upload else "",
                asked_by=by,
            )
            engine.wake_worker(job.job)
    except IntegrityError:
        if name:
            storage.statistics_file_storage.delete(name)
        # If the equal job has ended meanwhile, this query returns its row.
        return same.latest("pk")
    return job


def make_random_storage_name(suffix: str) -> str:
    return f"background/{secrets.token_hex(16)}.{suffix}"


def update_background_job_progress(
    job: BackgroundJob, progress: float, doing: str
) -> bool:
    with transaction.atomic():
        is_ours = engine.renew_lease(job.job, progress=progress)
        return is_ours and bool(
            BackgroundJob.objects.filter(pk=job.pk).update(doing=doing)
        )


def complete_background_job(
    job: BackgroundJob,
    record: Callable[[], Mapping[str, Any]],
    *,
    file: str = "",
    problems: Sequence[Problem] = (),
) -> bool:
    """Save the result of a background job and mark the job as done in one transaction.
    Return False if another worker has taken over the job.

    The argument ``problems`` is read after ``record`` was called, because ``record``
    may append problems.
    """
    with transaction.atomic():
        if not engine.end_lease(
            job.job,
            state=BackgroundJobState.DONE,
            finished_at=database_time_expression(),
            progress=1,
        ):
            return False
        result = record()
        shown, more = select_problems_to_list(problems)
        listed = [problem.as_dict() for problem in shown]
        _finish_row_and_delete_sent_file(
            job, file=file, result=result, problems=listed, more=more
        )
    return True


def fail_background_job(
    job: BackgroundJob, reason: str, problems: Sequence[Problem] = ()
) -> bool:
    shown, more = select_problems_to_list(problems)
    listed = [problem.as_dict() for problem in shown]
    with transaction.atomic():
        if not engine.end_lease(
            job.job,
            state=BackgroundJobState.FAILED,
            finished_at=database_time_expression(),
            reason=reason,
        ):
            return False
        _finish_row_and_delete_sent_file(job, problems=listed, more=more)
    return True


def _finish_row_and_delete_sent_file(
    job: BackgroundJob, *, file: str = "", **facts: Any
) -> None:
    BackgroundJob.objects.filter(pk=job.pk).update(
        finished_at=database_time_expression(), doing="", file=file, **facts
    )
    if sent := job.file:
        call_after_commit(lambda: storage.statistics_file_storage.delete(sent))


def delete_old_background_jobs(now: dt.datetime | None = None) -> int:
    now = now or fetch_database_time()
    ended = BackgroundJob.objects.filter(finished_at__isnull=False).select_related(
        "job"
    )
    papers = ended.filter(kind__in=[BackgroundJobKind.PAPER, BackgroundJobKind.ARCHIVE])
    old = list(
        ended.filter(finished_at__lt=now - FINISHED_JOB_RETENTION)[
            :MAX_OLD_JOBS_DELETED_AT_ONCE
        ]
    )
    old += papers.filter(finished_at__lt=now - PAPER_FILE_RETENTION)[
        :MAX_OLD_JOBS_DELETED_AT_ONCE
    ]
    newest: set[tuple[str, int, int | None]] = set()
    for paper in papers.filter(job__state=BackgroundJobState.DONE).order_by(
        "-finished_at", "-pk"
    ):
        view = (paper.kind, paper.season_id, paper.asked_by_id)
        if (
            view in newest
            and paper.finished_at is not None
            and paper.finished_at < now - REPLACED_FILE_RETENTION
        ):
            old.append(paper)
        newest.add(view)
    forgotten = {job.pk: job for job in old}
    for job in forgotten.values():
        # Delete the row before the file, because a row must not lack its file.
        job.job.delete()
        if job.file:
            storage.statistics_file_storage.delete(job.file)
    return len(forgotten)
