"""The state of the site for operators on a page, in the API and as Prometheus metrics."""

import datetime as dt
import os
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import django
import psutil
from django.conf import settings
from django.db import connection
from django.db.models import (
    Avg,
    Count,
    DurationField,
    ExpressionWrapper,
    F,
    Max,
    Min,
    Q,
    Sum,
    Value,
)
from django.db.models.functions import Coalesce
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from citeboard.core import health
from citeboard.core.database import (
    SCHEMA_EPOCH,
    SchemaState,
    fetch_database_time,
    read_schema_state,
)
from citeboard.core.instruments import PROMETHEUS_FOLDER_VARIABLE
from citeboard.core.models import SchemaEpoch, find_time_of_last_run
from citeboard.core.processes import extract_host_name
from citeboard.core.release import compute_release_digest
from citeboard.core.writability import is_writable
from citeboard.ops.backups import LAST_BACKUP_ROW_NAME
from citeboard.ops.doctor import Finding, run_health_checks
from scoring.distribution.backend import read_project_version
from tasks.jobs import tallies
from tasks.jobs.mails import OutgoingMailState, load_outgoing_mail_state
from tasks.jobs.queue_choice import (
    MAX_SILENCE_SECONDS,
    explain_unserved_queue,
    list_living_worker_groups,
)
from tasks.jobs.sweeper import load_last_sweep_time
from tasks.models import Job, Submission, Tallied, WorkerGroup

#: SITE_STATE_CHECK_NAMES contains the `doctor` checks for the page of the site's state.
#: Clients may request the page of the site's state often, so its checks write nothing.
SITE_STATE_CHECK_NAMES = [
    "database",
    "clock",
    "disk",
    "queue",
    "queues",
    "workers",
    "sweeper",
    "jobs",
    "labels",
]
MAX_FAILURES_SHOWN = 50
SELECTED_RUN_RELATIONS = ("submission__phase__task__season", "submission__team")


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
    mails: OutgoingMailState
    last_sweep: dt.datetime | None
    last_backup: dt.datetime | None
    versions: Versions


def collect_site_state() -> SiteState:
    """Return the state of the site for its operators.

    The function makes about thirty queries, whatever the number of scored runs.
    """
    now = fetch_database_time()
    failed = Job.objects.filter(
        state=Job.State.FAILED, finished_at__gt=now - dt.timedelta(days=1)
    )
    jobs = Job.objects.filter(state=Job.State.WAITING).order_by().values("reason")
    waiting = jobs.annotate(
        jobs=Count("pk"), since=Min("created_at"), submission=Min("submission")
    )
    oldest, lost = measure_longest_queue_waits(now), count_lost_leases()
    groups, gone = (
        WorkerGroup.objects.order_by("-seen_at"),
        now - dt.timedelta(seconds=MAX_SILENCE_SECONDS),
    )
    try:
        disk = shutil.disk_usage(settings.DATA_DIR)
    except OSError:
        disk = None
    return SiteState(
        at=now,
        findings=run_health_checks(SITE_STATE_CHECK_NAMES),
        missing=health.find_missing_requirements(health.measure_clock_skew_or_none()),
        queues=[
            Queue(
                name=name,
                **{state: states[state] for state in ("queued", "running", "waiting")},
                oldest_seconds=oldest.get(name, 0.0),
                leases_lost=lost.get(name, 0),
                why_unserved=explain_unserved_queue(name),
            )
            for name, states in count_jobs_by_queue().items()
        ],
        groups=[
            Group(
                **row,
                host=extract_host_name(row["name"]),
                is_living=row["seen_at"] > gone,
            )
            for row in groups.values("name", "queues", "workers", "seen_at")[
                :MAX_FAILURES_SHOWN
            ]
        ],
        waiting=[
            Waiting(**row) for row in waiting.order_by("since")[:MAX_FAILURES_SHOWN]
        ],
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
            for job in failed.select_related(*SELECTED_RUN_RELATIONS).order_by(
                "-finished_at"
            )[:MAX_FAILURES_SHOWN]
            if job.finished_at is not None
        ],
        failures_in_all=failed.count(),
        place=Place(
            files=str(settings.BUCKET or settings.FILES_DIR),
            data_folder=str(settings.DATA_DIR),
            free=disk and disk.free,
            size=disk and disk.total,
        ),
        mails=load_outgoing_mail_state(),
        last_sweep=load_last_sweep_time(),
        last_backup=find_time_of_last_run(LAST_BACKUP_ROW_NAME),
        versions=Versions(
            version=read_project_version(settings.BASE_DIR),
            release=compute_release_digest(),
            python=platform.python_version(),
            django=django.get_version(),
            database=f"{connection.display_name} {'.'.join(map(str, connection.get_database_version()))}",
            epoch=SchemaEpoch.objects.aggregate(last=Max("number"))["last"] or 1,
            known_epoch=SCHEMA_EPOCH,
            schema=read_schema_state(),
        ),
    )


def render_metrics() -> bytes:
    registry = CollectorRegistry()
    registry.register(_SiteMetricsCollector())
    processes = REGISTRY
    if PROMETHEUS_FOLDER_VARIABLE in os.environ:
        processes = CollectorRegistry()
        MultiProcessCollector(processes)  # type: ignore[no-untyped-call]
    return generate_latest(registry) + generate_latest(processes)


class _SiteMetricsCollector(Collector):
    """Collect the metrics that each scrape reads from the database and the machine."""

    def collect(self) -> Iterator[Metric]:
        now = fetch_database_time()
        jobs = GaugeMetricFamily(
            "citeboard_jobs", "Jobs by queue and state.", labels=["queue", "state"]
        )
        queues = count_jobs_by_queue()
        for queue, by_state in queues.items():
            for state, number in by_state.items():
                jobs.add_metric([queue, state], number)
        yield jobs
        about = "Since the first of the queued jobs was made, or was last begun; 0 where none is queued."
        yield _build_gauge_metric(
            "citeboard_oldest_queued_job_age_seconds",
            about,
            "queue",
            measure_longest_queue_waits(now),
        )
        steps = (
            Job.all_kinds.filter(state=Job.State.QUEUED).order_by().values_list("kind")
        )
        queued = dict.fromkeys(Job.Kind.values, 0) | dict(steps.annotate(n=Count("pk")))
        yield _build_gauge_metric(
            "citeboard_queued_jobs", "Jobs that are queued, by step.", "step", queued
        )
        yield from self._collect_recent_job_metrics(now)
        about = (
            "Seconds that jobs took that are done, from the claim to the end, by step."
        )
        yield _build_histogram_metric(
            "citeboard_job_seconds", about, "step", tallies.JOB_DURATION_COUNTER
        )
        about = "Seconds from when a run came in to its first score, by queue."
        yield _build_histogram_metric(
            "citeboard_upload_to_score_seconds",
            about,
            "queue",
            tallies.UPLOAD_TO_SCORE_DURATION_COUNTER,
        )
        about = "Times that a job was begun once more, as its worker lost its lease or its scorer died."
        again = tallies.load_counter_values(tallies.RESTARTED_JOBS_COUNTER).get("", 0)
        yield CounterMetricFamily("citeboard_jobs_begun_again", about, again)
        about = "Leases that ended without a sign of life of their worker."
        lost = CounterMetricFamily("citeboard_leases_lost", about, labels=["queue"])
        for queue, number in sorted(
            (dict.fromkeys(queues, 0) | count_lost_leases()).items()
        ):
            lost.add_metric([queue], number)
        yield lost
        by_status = Tallied.objects.filter(what=tallies.RUN_COUNT_KIND).values_list(
            "state"
        )
        runs = dict.fromkeys(Submission.Status.values, 0) | dict(
            by_status.annotate(n=Sum("number"))
        )
        yield _build_gauge_metric("citeboard_runs", "Runs by status.", "status", runs)
        yield _build_gauge_metric(
            "citeboard_workers",
            "Workers of the groups that give a sign of life.",
            "group",
            {group.name: group.workers for group in list_living_worker_groups()},
        )
        for name, what, kinds in (
            ("mails", "E-mails", (Job.Kind.MAIL, Job.Kind.INVITATION)),
            ("webhook_deliveries", "Events for webhooks", (Job.Kind.WEBHOOK,)),
        ):
            posts = Job.all_kinds.filter(kind__in=kinds).order_by()
            states = {
                "waiting": (Job.State.QUEUED, Job.State.RUNNING),
                "failed": (Job.State.FAILED,),
            }
            numbers = {
                word: posts.filter(state__in=inside).count()
                for word, inside in states.items()
            }
            yield _build_gauge_metric(
                f"citeboard_{name}",
                f"{what} that wait or were given up.",
                "state",
                numbers,
            )
        with suppress(OSError):
            disk = shutil.disk_usage(settings.DATA_DIR)
            about = "Bytes of the disk of the data folder."
            yield _build_gauge_metric(
                "citeboard_disk_bytes",
                about,
                "of",
                {"all": disk.total, "free": disk.free},
            )
        about = "1 while this machine can write to the database, 0 while it cannot."
        yield GaugeMetricFamily("citeboard_can_write", about, int(is_writable()))
        memory = psutil.virtual_memory()
        about = "Bytes of the memory of the machine that is asked."
        yield _build_gauge_metric(
            "citeboard_memory_bytes",
            about,
            "of",
            {"all": memory.total, "free": memory.available},
        )
        for name, about, at in (
            ("sweep", "Since the last sweep ended.", load_last_sweep_time()),
            (
                "backup",
                "Since the last backup was begun.",
                find_time_of_last_run(LAST_BACKUP_ROW_NAME),
            ),
        ):
            if at is not None:
                seconds = (now - at).total_seconds()
                yield GaugeMetricFamily(
                    f"citeboard_last_{name}_age_seconds", about, seconds
                )

    def _collect_recent_job_metrics(self, now: dt.datetime) -> Iterator[Metric]:
        # The filter by start time uses an index, but omits jobs longer than a day.
        begun = Job.all_kinds.filter(
            started_at__gt=now - dt.timedelta(days=1)
        ).order_by()
        # To group by `kind`, SQLite would use the index on kinds and scan all jobs.
        steps_begun = begun.annotate(step=Coalesce("kind", Value(""))).values_list(
            "step"
        )
        ended = Q(
            kind__in=Job.OF_RUNS,
            state=Job.State.DONE,
            finished_at__gt=now - RECENT_JOBS_PERIOD,
        )
        taken = {
            "mean": Avg(_JOB_DURATION, filter=ended),
            "most": Max(_JOB_DURATION, filter=ended),
        }
        steps = list(
            steps_begun.annotate(n=Count("pk", filter=ended), **taken).filter(n__gt=0)
        )
        means, longest = (
            {row[0]: row[place].total_seconds() for row in steps} for place in (2, 3)
        )
        for name, about, values in (
            (
                "jobs_done_recently",
                "Jobs done",
                {step: number for step, number, *_ in steps},
            ),
            ("job_seconds_mean", "Mean seconds of the jobs done", means),
            ("job_seconds_max", "Seconds of the longest job done", longest),
        ):
            yield _build_gauge_metric(
                f"citeboard_{name}", f"{about} within the last hour.", "step", values
            )


def _build_histogram_metric(name: str, about: str, label: str, tally: str) -> Metric:
    family = HistogramMetricFamily(name, about, labels=[label])
    uppers = [
        *(str(float(upper)) for upper in tallies.HISTOGRAM_BUCKET_SECONDS),
        "+Inf",
    ]
    for value, (counts, seconds) in sorted(
        tallies.load_duration_histogram(tally).items()
    ):
        family.add_metric([value], list(zip(uppers, counts, strict=True)), seconds)
    return family


def _build_gauge_metric(
    name: str, about: str, label: str, values: Mapping[str, float]
) -> Metric:
    family = GaugeMetricFamily(name, about, labels=[label])
    for value, number in sorted(values.items()):
        family.add_metric([value], number)
    return family


RECENT_JOBS_PERIOD = dt.timedelta(hours=1)
_JOB_DURATION = ExpressionWrapper(
    F("finished_at") - F("started_at"), output_field=DurationField()
)


def count_jobs_by_queue() -> dict[str, dict[str, int]]:
    jobs = Tallied.objects.filter(what=tallies.JOB_COUNT_KIND).values_list(
        "queue", "state"
    )
    numbers = {
        (queue, state): number
        for queue, state, number in jobs.annotate(n=Sum("number"))
        if number
    }
    return {
        queue: {state: numbers.get((queue, state), 0) for state in Job.State.values}
        for queue in sorted({Job.LIGHT} | {queue for queue, _ in numbers})
    }


def measure_longest_queue_waits(now: dt.datetime) -> dict[str, float]:
    queued = Job.objects.filter(state=Job.State.QUEUED).order_by()
    rows = queued.values_list("queue").annotate(
        first=Min(Coalesce("started_at", "created_at"))
    )
    return {Job.LIGHT: 0.0} | {
        queue: (now - first).total_seconds() for queue, first in rows
    }


def count_lost_leases() -> dict[str, int]:
    """Return the number of job leases that expired without a heartbeat, by queue."""
    return {Job.LIGHT: 0} | tallies.load_counter_values(tallies.LOST_LEASES_COUNTER)
