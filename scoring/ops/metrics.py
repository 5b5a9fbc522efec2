"""What `/metrics` says: of queues and runs by the database, of requests and pages as processes counted."""

import datetime as dt
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import accumulate
from typing import Any

from django.conf import settings
from django.db.models import (
    Avg,
    Case,
    Count,
    DurationField,
    ExpressionWrapper,
    F,
    FloatField,
    Func,
    Max,
    Min,
    QuerySet,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from citeboard.core.database import database_now
from citeboard.core.instruments import SHARED_FOLDER
from citeboard.core.maintenance import last_done
from scoring.ops.backups import BACKUP
from tasks.jobs.sweeper import last_sweep
from tasks.models import Job, Submission


def exposition() -> bytes:
    registry = CollectorRegistry()
    registry.register(_Rows())
    processes = REGISTRY
    if SHARED_FOLDER in os.environ:
        processes = CollectorRegistry()
        MultiProcessCollector(processes)  # type: ignore[no-untyped-call]
    return generate_latest(registry) + generate_latest(processes)


class _Rows(Collector):
    def collect(self) -> Iterator[Metric]:
        now = database_now()
        jobs = GaugeMetricFamily("citeboard_jobs", "Jobs by queue and state.", labels=["queue", "state"])
        for queue, by_state in jobs_by_queue().items():
            for state, number in by_state.items():
                jobs.add_metric([queue, state], number)
        yield jobs
        about = "Since the first of the queued jobs was made, or was last begun; 0 where none is queued."
        yield _gauge("citeboard_oldest_queued_job_age_seconds", about, "queue", oldest_queued(now))
        recently = _done().filter(finished_at__gt=now - RECENT)
        times = recently.values_list("kind").annotate(n=Count("pk"), mean=Avg(_TAKEN), most=Max(_TAKEN))
        steps = [
            (step, count, mean.total_seconds(), most.total_seconds()) for step, count, mean, most in times
        ]
        for column, name, about in (
            (1, "jobs_done_recently", "Jobs done"),
            (2, "job_seconds_mean", "Mean seconds of the jobs done"),
            (3, "job_seconds_max", "Seconds of the longest job done"),
        ):
            values = {row[0]: row[column] for row in steps}
            yield _gauge(f"citeboard_{name}", f"{about} within the last hour.", "step", values)
        about = "Seconds that jobs took that are done, from the claim to the end, by step."
        durations = HistogramMetricFamily("citeboard_job_seconds", about, labels=["step"])
        uppers = [*(str(float(upper)) for upper in BUCKETS), "+Inf"]
        for step, (counts, seconds) in sorted(step_buckets().items()):
            durations.add_metric([step], list(zip(uppers, counts, strict=True)), seconds)
        yield durations
        about = "Jobs that were begun more than once, as their worker lost its lease or its scorer died."
        again = Job.objects.filter(attempt__gt=1).count()
        yield GaugeMetricFamily("citeboard_jobs_begun_again", about, again)
        about = "Leases that ended without a sign of life of their worker."
        lost = CounterMetricFamily("citeboard_leases_lost", about, labels=["queue"])
        for queue, number in sorted(leases_lost().items()):
            lost.add_metric([queue], number)
        yield lost
        runs = dict(Submission.objects.order_by().values_list("status").annotate(n=Count("pk")))
        by_status = {status: runs.get(status, 0) for status in Submission.Status.values}
        yield _gauge("citeboard_runs", "Runs by status.", "status", by_status)
        disk = GaugeMetricFamily(
            "citeboard_disk_bytes", "Bytes of the disk of the data folder.", labels=["of"]
        )
        with suppress(OSError):
            usage = shutil.disk_usage(settings.DATA_DIR)
            disk.add_metric(["all"], usage.total)
            disk.add_metric(["free"], usage.free)
        yield disk
        for name, about, at in (
            ("sweep", "Since the last sweep ended.", last_sweep()),
            ("backup", "Since the last backup was begun.", last_done(BACKUP)),
        ):
            if at is not None:
                seconds = (now - at).total_seconds()
                yield GaugeMetricFamily(f"citeboard_last_{name}_age_seconds", about, seconds)


def _gauge(name: str, about: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=[label])
    for value, number in sorted(values.items()):
        family.add_metric([value], number)
    return family


RECENT = dt.timedelta(hours=1)
#: Seconds at which the durations of jobs are divided; the last part has no end.
BUCKETS = (0.5, 1, 2, 5, 10, 30, 60, 300, 1800)
_TAKEN = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())


class _Seconds(Func):
    output_field = FloatField()

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        template = "((julianday(%(expressions)s)) * 86400)"
        return self.as_sql(compiler, connection, template=template, arg_joiner=") - julianday(", **extra)

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        template = "EXTRACT(EPOCH FROM %(expressions)s)::float"
        return self.as_sql(compiler, connection, template=f"({template})", arg_joiner=" - ", **extra)


def jobs_by_queue() -> dict[str, dict[str, int]]:
    rows = Job.objects.order_by().values_list("queue", "state").annotate(n=Count("pk"))
    found = {(queue, state): count for queue, state, count in rows}
    return {
        queue: {state: found.get((queue, state), 0) for state in Job.State.values}
        for queue in sorted({Job.LIGHT} | {queue for queue, _ in found})
    }


def oldest_queued(now: dt.datetime) -> dict[str, float]:
    queued = Job.objects.filter(state=Job.State.QUEUED).order_by()
    rows = queued.values_list("queue").annotate(first=Min(Coalesce("started_at", "created_at")))
    return {Job.LIGHT: 0.0} | {queue: (now - first).total_seconds() for queue, first in rows}


def leases_lost() -> dict[str, int]:
    """How often a lease has ended without a sign of life of its worker, by queue, since the site began."""
    rows = Job.objects.order_by().values_list("queue").annotate(n=Sum("leases_lost"))
    return {Job.LIGHT: 0} | dict(rows)


def step_buckets() -> dict[str, tuple[list[int], float]]:
    """Of the jobs of each step that are done: how many took up to each of BUCKETS, and at last how many there
    are; and the sum of their seconds.
    """
    places = [When(seconds__lte=upper, then=Value(place)) for place, upper in enumerate(BUCKETS)]
    measured = _done().annotate(seconds=_Seconds("finished_at", "started_at"))
    rows = (
        measured.annotate(place=Case(*places, default=Value(len(BUCKETS))))
        .values_list("kind", "place")
        .annotate(n=Count("pk"), total=Sum("seconds"))
    )
    numbers: dict[str, list[int]] = {}
    sums: dict[str, float] = {}
    for step, place, number, total in rows:
        numbers.setdefault(step, [0] * (len(BUCKETS) + 1))[place] = number
        sums[step] = sums.get(step, 0.0) + total
    return {step: (list(accumulate(found)), sums[step]) for step, found in numbers.items()}


def _done() -> QuerySet[Job]:
    return Job.objects.filter(
        state=Job.State.DONE, started_at__isnull=False, finished_at__isnull=False
    ).order_by()
