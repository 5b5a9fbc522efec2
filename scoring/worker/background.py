"""Background jobs: asked for, claimed by one worker at a time, and ended; each by one conditional UPDATE.

A claim is recognised by its owner and its attempt, so a worker that lost the job changes nothing any more.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.core.files.base import File
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet

from citeboard.core import storage
from citeboard.core.database import database_now, from_now
from citeboard.teams.models import User
from scoring.models import BackgroundJob
from tasks.jobs.queue import BACKGROUND, give_wake
from tasks.models import Job, Phase, Season, Submission
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

LOST = "The worker that was at it was gone."

log = logging.getLogger(__name__)


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
    facts = {
        "given": dict(given),
        "phase": phase and phase.pk,
        "submission": submission and submission.pk,
        "by": by and by.pk,
        "file": _sha256(upload) if upload else "",
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    same = BackgroundJob.objects.filter(
        season=season, kind=kind, digest=digest, state__in=BackgroundJob.MOVING
    )
    if found := same.first():
        return found
    name = _stored(upload) if upload else ""
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
            _wake(job)
    except IntegrityError:
        if name:
            storage.statistics.delete(name)
        # It may have ended meanwhile.
        return BackgroundJob.objects.filter(season=season, kind=kind, digest=digest).latest("pk")
    return job


def _sha256(upload: Upload) -> str:
    with upload.path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stored(upload: Upload) -> str:
    with upload.path.open("rb") as file:
        return storage.statistics.save(new_name("upload"), File(file))


def new_name(suffix: str) -> str:
    return f"background/{secrets.token_hex(16)}.{suffix}"


def _wake(job: BackgroundJob) -> None:
    BackgroundJob.objects.filter(pk=job.pk).update(woken_at=from_now())
    give_wake(BACKGROUND, job.pk, name=f"background-{job.pk}", queue=Job.LIGHT)


def claim(number: int, owner: str) -> BackgroundJob | None:
    """Take it and count the attempt; None where another worker has it, or it has ended."""
    queued = BackgroundJob.objects.filter(pk=number, state=State.QUEUED)
    lease = {"lease_owner": owner, "lease_expires_at": from_now(LEASE)}
    with transaction.atomic():
        if not queued.update(state=State.RUNNING, attempt=F("attempt") + 1, **lease, progress=0, reason=""):
            return None
        related = ("season", "phase__task__season", "submission__phase__task__season", "asked_by")
        return BackgroundJob.objects.select_related(*related).get(pk=number)


def held(job: BackgroundJob) -> QuerySet[BackgroundJob]:
    return BackgroundJob.objects.filter(
        pk=job.pk, state=State.RUNNING, lease_owner=job.lease_owner, attempt=job.attempt
    )


def renew(job: BackgroundJob) -> bool:
    """False once the job is no longer ours."""
    return bool(held(job).update(lease_expires_at=from_now(LEASE)))


def tell(job: BackgroundJob, progress: float, doing: str) -> bool:
    """The same, and how far it is."""
    facts = {"progress": progress, "doing": doing}
    return bool(held(job).update(lease_expires_at=from_now(LEASE), **facts))


def complete(job: BackgroundJob, record: Callable[[], Mapping[str, Any]], *, file: str = "") -> bool:
    """Write what came out and end the job, all of it or nothing; False where it is ours no longer.

    ``file`` is what came out of it as a file; what was sent goes.
    """
    with transaction.atomic():
        if not _ended(job, State.DONE, progress=1, file=file):
            return False
        BackgroundJob.objects.filter(pk=job.pk).update(result=record())
    return True


def fail(job: BackgroundJob, reason: str, problems: Sequence[Problem] = ()) -> bool:
    """For good, with words for whoever asked."""
    shown, more = capped(problems)
    listed = [problem.as_dict() for problem in shown]
    with transaction.atomic():
        return _ended(job, State.FAILED, reason=reason, problems=listed, more=more)


def _ended(job: BackgroundJob, state: BackgroundJob.State, *, file: str = "", **facts: object) -> bool:
    ended = {"state": state, "finished_at": from_now(), "lease_expires_at": None, "doing": "", "file": file}
    if not held(job).update(**ended, **facts):
        return False
    if job.file:
        sent = job.file
        transaction.on_commit(lambda: storage.statistics.delete(sent), robust=True)
    return True


def crashed(job: BackgroundJob, reason: str) -> bool:
    """Begin again, or fail once every attempt is used up."""
    if job.attempt < settings.MAX_ATTEMPTS:
        return _requeue(job, reason)
    return fail(job, f"{reason} It was begun {job.attempt} times, and is not begun again by itself.")


def release(job: BackgroundJob) -> bool:
    """Leave it to another worker in good order: this attempt is not counted."""
    return _requeue(job, "", attempt=F("attempt") - 1)


def defer(job: BackgroundJob, reason: str) -> bool:
    """The same where something is away: a sweep wakes it again."""
    waits = {"state": State.QUEUED, "lease_expires_at": None, "attempt": F("attempt") - 1}
    return bool(held(job).update(**waits, reason=reason, progress=0, doing="", woken_at=from_now()))


def _requeue(job: BackgroundJob, reason: str, **facts: object) -> bool:
    queued = {"state": State.QUEUED, "lease_expires_at": None, "progress": 0, "doing": ""}
    with transaction.atomic():
        moved = held(job).update(**queued, reason=reason, **facts)
        if moved:
            _wake(job)
    return bool(moved)


def next_queued() -> int | None:
    """The one that has waited longest, for workers whose wakes are lost."""
    queued = BackgroundJob.objects.filter(state=State.QUEUED).order_by("created_at", "pk")
    return queued.values_list("pk", flat=True).first()


def held_by(owner: str) -> int:
    """How many the workers hold whose names begin so."""
    return BackgroundJob.objects.filter(state=State.RUNNING, lease_owner__startswith=owner).count()


def end_leases(owner: str) -> int:
    """What the processes of this group held, when the group is known to be gone."""
    return BackgroundJob.objects.filter(state=State.RUNNING, lease_owner__startswith=owner).update(
        lease_expires_at=from_now(-1)
    )


def sweep_background() -> int:
    """Set moving again what a lost worker or a lost wake has left; how many."""
    now = database_now()
    lost = BackgroundJob.objects.filter(state=State.RUNNING, lease_expires_at__lt=now)
    moved = sum(_expired(job, now) for job in lost)
    before = now - dt.timedelta(seconds=settings.LEASE_SECONDS)
    unclaimed = BackgroundJob.objects.filter(
        Q(woken_at__lt=before) | Q(woken_at=None), state=State.QUEUED
    ).order_by("created_at", "pk")
    for job in unclaimed[:MAX_SWEPT]:
        with transaction.atomic():
            same = BackgroundJob.objects.filter(pk=job.pk, state=State.QUEUED, woken_at=job.woken_at)
            if same.update(woken_at=from_now()):
                _wake(job)
                moved += 1
    return moved


def _expired(job: BackgroundJob, now: dt.datetime) -> bool:
    """Take it from its worker, unless that has renewed its lease since it was looked at."""
    with transaction.atomic():
        is_lost = held(job).filter(lease_expires_at__lt=now).update(progress=0)
        return bool(is_lost) and crashed(job, LOST)


def forget_old(now: dt.datetime | None = None) -> int:
    """Rows of jobs that ended long ago, and archives that are old or that newer ones have replaced."""
    now = now or database_now()
    ended = BackgroundJob.objects.exclude(state__in=BackgroundJob.MOVING)
    papers = ended.filter(kind=Kind.PAPER)
    old = list(ended.filter(finished_at__lt=now - KEPT)[:MAX_SWEPT])
    old += papers.filter(finished_at__lt=now - PAPERS_KEPT)[:MAX_SWEPT]
    old += _replaced(papers.filter(state=State.DONE), now - REPLACED_KEPT)
    forgotten = {job.pk: job for job in old}
    for job in forgotten.values():
        # Row first: a file without a row is orphaned, and a row without its file would be lost.
        job.delete()
        if job.file:
            storage.statistics.delete(job.file)
    return len(forgotten)


def _replaced(papers: QuerySet[BackgroundJob], before: dt.datetime) -> Iterable[BackgroundJob]:
    newest: set[tuple[int, int | None]] = set()
    for paper in papers.order_by("-finished_at", "-pk"):
        view = (paper.season_id, paper.asked_by_id)
        if view in newest and paper.finished_at is not None and paper.finished_at < before:
            yield paper
        newest.add(view)
