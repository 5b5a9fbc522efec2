"""How a site stands, for its operators: the page and the API give what is gathered here."""

import datetime as dt
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

import django
from django.conf import settings
from django.db import connection
from django.db.models import Count, Max, Min

from citeboard.core import health
from citeboard.core.database import EPOCH, SchemaState, database_now, schema_state
from citeboard.core.maintenance import last_done
from citeboard.core.models import SchemaEpoch
from citeboard.core.processes import host_of
from citeboard.core.release import release
from scoring.distribution.backend import version
from scoring.ops import metrics
from scoring.ops.backups import BACKUP
from scoring.ops.doctor import Finding, examine
from tasks.jobs.groups import MAX_SILENCE, why_unserved
from tasks.jobs.mails import MailState, mail_state
from tasks.jobs.sweeper import last_sweep
from tasks.models import Job, WorkerGroup

#: Of the doctor's checks, those that look and try nothing: a page may be asked for often.
EXAMINED = ["database", "clock", "disk", "queue", "queues", "workers", "sweeper", "jobs", "labels"]
SHOWN = 50
OF_A_RUN = ("submission__phase__task__season", "submission__team")


@dataclass(frozen=True, kw_only=True)
class Queue:
    name: str
    queued: int
    running: int
    waiting: int
    oldest_seconds: float
    leases_lost: int
    why_unserved: str


@dataclass(frozen=True, kw_only=True)
class Group:
    name: str
    host: str
    queues: Sequence[str]
    workers: int
    seen_at: dt.datetime
    is_living: bool


@dataclass(frozen=True, kw_only=True)
class Waiting:
    reason: str
    jobs: int
    since: dt.datetime
    submission: int


@dataclass(frozen=True, kw_only=True)
class Failure:
    job: int
    submission: int
    run: str
    step: str
    reason: str
    at: dt.datetime
    trace: str


@dataclass(frozen=True, kw_only=True)
class Place:
    files: str
    data_folder: str
    free: int | None
    size: int | None


@dataclass(frozen=True, kw_only=True)
class Versions:
    version: str
    release: str
    python: str
    django: str
    database: str
    epoch: int
    known_epoch: int
    schema: SchemaState


@dataclass(frozen=True, kw_only=True)
class SiteState:
    at: dt.datetime
    findings: Sequence[Finding]
    missing: Sequence[health.Missing]
    queues: Sequence[Queue]
    groups: Sequence[Group]
    waiting: Sequence[Waiting]
    failures: Sequence[Failure]
    failures_in_all: int
    place: Place
    mails: MailState
    last_sweep: dt.datetime | None
    last_backup: dt.datetime | None
    versions: Versions


def site_state() -> SiteState:
    """Some thirty queries, none of which grows with the number of runs on boards."""
    now = database_now()
    failed = Job.objects.filter(state=Job.State.FAILED, finished_at__gt=now - dt.timedelta(days=1))
    jobs = Job.objects.filter(state=Job.State.WAITING).order_by().values("reason")
    waiting = jobs.annotate(jobs=Count("pk"), since=Min("created_at"), submission=Min("submission"))
    oldest, lost = metrics.oldest_queued(now), metrics.leases_lost()
    try:
        disk = shutil.disk_usage(settings.DATA_DIR)
    except OSError:
        disk = None
    return SiteState(
        at=now,
        findings=examine(EXAMINED),
        missing=health.missing(health.clock_skew()),
        queues=[
            Queue(
                name=name,
                queued=states[Job.State.QUEUED],
                running=states[Job.State.RUNNING],
                waiting=states[Job.State.WAITING],
                oldest_seconds=oldest.get(name, 0.0),
                leases_lost=lost[name],
                why_unserved=why_unserved(name),
            )
            for name, states in metrics.jobs_by_queue().items()
        ],
        groups=[
            Group(
                name=group.name,
                host=host_of(group.name),
                queues=group.queues,
                workers=group.workers,
                seen_at=group.seen_at,
                is_living=group.seen_at > now - dt.timedelta(seconds=MAX_SILENCE),
            )
            for group in WorkerGroup.objects.order_by("-seen_at")[:SHOWN]
        ],
        waiting=[Waiting(**row) for row in waiting.order_by("since")[:SHOWN]],
        failures=[
            Failure(
                job=job.pk,
                submission=job.submission.pk,
                run=str(job.submission),
                step=job.kind,
                reason=job.reason,
                at=job.finished_at,
                trace=job.trace,
            )
            for job in failed.select_related(*OF_A_RUN).order_by("-finished_at")[:SHOWN]
            if job.finished_at is not None
        ],
        failures_in_all=failed.count(),
        place=Place(
            files=str(settings.BUCKET or settings.FILES_DIR),
            data_folder=str(settings.DATA_DIR),
            free=disk and disk.free,
            size=disk and disk.total,
        ),
        mails=mail_state(),
        last_sweep=last_sweep(),
        last_backup=last_done(BACKUP),
        versions=Versions(
            version=version(settings.BASE_DIR),
            release=release(),
            python=platform.python_version(),
            django=django.get_version(),
            database=f"{connection.display_name} {'.'.join(map(str, connection.get_database_version()))}",
            epoch=SchemaEpoch.objects.aggregate(last=Max("number"))["last"] or 1,
            known_epoch=EPOCH,
            schema=schema_state(),
        ),
    )
