"""Background jobs: asked for, claimed by one worker at a time, and ended; each by one conditional UPDATE."""

import datetime as dt
import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from django.conf import settings
from django.core.files.base import File
from django.db import IntegrityError, transaction

from citeboard.core import storage
from citeboard.core.database import database_now, from_now
from citeboard.teams.models import User
from scoring.models import BackgroundJob
from tasks.jobs.engine import BACKGROUND, QueuedKind
from tasks.models import Phase, Season, Submission
from tasks.submissions.uploads import Upload
from tasks.types import Problem
from tasks.types.problems import capped

Kind, State = BackgroundJob.Kind, BackgroundJob.State

#: Seconds; a worker renews its lease in a thread, many times within it.
LEASE = 60
#: Rows and files go so long after the job has ended; of archives that newer ones have replaced, sooner.
KEPT = dt.timedelta(days=30)
PAPERS_KEPT, REPLACED_KEPT = dt.timedelta(days=7), dt.timedelta(hours=1)
#: Woken again, or forgotten, in one sweep.
MAX_SWEPT = 20


class BackgroundWork(QueuedKind[BackgroundJob]):
    model, lease = BackgroundJob, LEASE
    related = ("season", "phase__task__season", "submission__phase__task__season", "asked_by")
    function, name = BACKGROUND, "background"
    lost_reason = "The worker that was at it was gone."
    when_queued: ClassVar = {"progress": 0, "doing": ""}

    def fail_last(self, row: BackgroundJob, reason: str, attempts: int) -> bool:
        return fail(row, f"{reason} It was begun {attempts} times, and is not begun again by itself.")


WORK = BackgroundWork()
next_queued, crashed, renew = WORK.next_queued, WORK.crashed, WORK.heartbeat


def ask(
    kind: BackgroundJob.Kind,
    season: Season,
    given: Mapping[str, Any],
    *,
    by: User | None,
    phase: Phase | None = None,
    submission: Submission | None = None,
    upload: Upload | None = None,
) -> BackgroundJob:
    """Queue it. Where the same is queued or under way for the same person, that job instead."""
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
        season=season, kind=kind, digest=digest, state__in=BackgroundJob.MOVING
    )
    if found := same.first():
        return found
    name = ""
    if upload:
        with upload.path.open("rb") as sent:
            name = storage.statistics.save(new_name("upload"), File(sent))
    try:
        with transaction.atomic():
            job = BackgroundJob.objects.create(
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
            WORK.wake(job)
    except IntegrityError:
        if name:
            storage.statistics.delete(name)
        # It may have ended meanwhile.
        return BackgroundJob.objects.filter(season=season, kind=kind, digest=digest).latest("pk")
    return job


def new_name(suffix: str) -> str:
    return f"background/{secrets.token_hex(16)}.{suffix}"


def claim(number: int, owner: str) -> BackgroundJob | None:
    return WORK.claim(BackgroundJob.objects.filter(state=State.QUEUED), number, owner, progress=0, reason="")


def tell(job: BackgroundJob, progress: float, doing: str) -> bool:
    return WORK.heartbeat(job, progress=progress, doing=doing)


def complete(job: BackgroundJob, record: Callable[[], Mapping[str, Any]], *, file: str = "") -> bool:
    """Write what came out and end the job, all of it or nothing; False where it is ours no longer."""
    with transaction.atomic():
        if not _ended(job, State.DONE, progress=1, file=file):
            return False
        BackgroundJob.objects.filter(pk=job.pk).update(result=record())
    return True


def fail(job: BackgroundJob, reason: str, problems: Sequence[Problem] = ()) -> bool:
    shown, more = capped(problems)
    listed = [problem.as_dict() for problem in shown]
    with transaction.atomic():
        return _ended(job, State.FAILED, reason=reason, problems=listed, more=more)


def _ended(job: BackgroundJob, state: BackgroundJob.State, *, file: str = "", **facts: Any) -> bool:
    if not WORK.end_lease(job, state=state, finished_at=from_now(), doing="", file=file, **facts):
        return False
    if sent := job.file:
        transaction.on_commit(lambda: storage.statistics.delete(sent), robust=True)
    return True


def release(job: BackgroundJob) -> bool:
    return WORK.requeue(job, "", is_counted=False)


def defer(job: BackgroundJob, reason: str) -> bool:
    waits: dict[str, Any] = {
        "state": State.QUEUED,
        "reason": reason,
        "progress": 0,
        "doing": "",
        "woken_at": from_now(),
    }
    return WORK.end_lease(job, is_counted=False, **waits)


def sweep_background() -> int:
    now = database_now()
    return WORK.expire_lost(now) + WORK.wake_again(before=now - dt.timedelta(seconds=settings.LEASE_SECONDS))


def forget_old(now: dt.datetime | None = None) -> int:
    now = now or database_now()
    ended = BackgroundJob.objects.exclude(state__in=BackgroundJob.MOVING)
    papers = ended.filter(kind=Kind.PAPER)
    old = list(ended.filter(finished_at__lt=now - KEPT)[:MAX_SWEPT])
    old += papers.filter(finished_at__lt=now - PAPERS_KEPT)[:MAX_SWEPT]
    newest: set[tuple[int, int | None]] = set()
    for paper in papers.filter(state=State.DONE).order_by("-finished_at", "-pk"):
        view = (paper.season_id, paper.asked_by_id)
        if view in newest and paper.finished_at is not None and paper.finished_at < now - REPLACED_KEPT:
            old.append(paper)
        newest.add(view)
    forgotten = {job.pk: job for job in old}
    for job in forgotten.values():
        # Row first: a file without a row is orphaned, and a row without its file would be lost.
        job.delete()
        if job.file:
            storage.statistics.delete(job.file)
    return len(forgotten)
