"""What `/metrics` says: of queues and runs by the database, of requests and pages as processes counted."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator, Mapping

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from citeboard.core.database_time import database_now
from citeboard.core.instruments import SHARED_FOLDER
from citeboard.core.last_done import last_done
from scoring.ops import queue_facts
from scoring.ops.backup.writing import BACKUP
from tasks.jobs.sweeper import last_sweep


def exposition() -> bytes:
    """The text that Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(_Rows())
    processes = REGISTRY
    if SHARED_FOLDER in os.environ:
        processes = CollectorRegistry()
        MultiProcessCollector(processes)  # type: ignore[no-untyped-call]
    return generate_latest(registry) + generate_latest(processes)


class _Rows(Collector):
    """What rows say now: every process of every machine says the same."""

    def collect(self) -> Iterator[Metric]:
        now = database_now()
        yield _jobs()
        about = "Since the first of the queued jobs was made, or was last begun; 0 where none is queued."
        yield _gauge(
            "citeboard_oldest_queued_job_age_seconds", about, "queue", queue_facts.oldest_queued(now)
        )
        yield from _recent(now)
        yield _durations()
        about = "Jobs that were begun more than once, as their worker lost its lease or its scorer died."
        yield GaugeMetricFamily("citeboard_jobs_begun_again", about, queue_facts.jobs_begun_again())
        yield _leases_lost()
        yield _gauge("citeboard_runs", "Runs by status.", "status", queue_facts.runs_by_status())
        for name, about, at in (
            ("sweep", "Since the last sweep ended.", last_sweep()),
            ("backup", "Since the last backup was begun.", last_done(BACKUP)),
        ):
            if at is not None:
                yield GaugeMetricFamily(
                    f"citeboard_last_{name}_age_seconds", about, (now - at).total_seconds()
                )


def _gauge(name: str, about: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, about, labels=[label])
    for value, number in sorted(values.items()):
        family.add_metric([value], number)
    return family


def _jobs() -> Metric:
    family = GaugeMetricFamily("citeboard_jobs", "Jobs by queue and state.", labels=["queue", "state"])
    for queue, by_state in queue_facts.jobs_by_queue().items():
        for state, number in by_state.items():
            family.add_metric([queue, state], number)
    return family


def _leases_lost() -> Metric:
    about = "Leases that ended without a sign of life of their worker."
    family = CounterMetricFamily("citeboard_leases_lost", about, labels=["queue"])
    for queue, number in sorted(queue_facts.leases_lost().items()):
        family.add_metric([queue], number)
    return family


def _durations() -> Metric:
    about = "Seconds that jobs took that are done, from the claim to the end, by step."
    family = HistogramMetricFamily("citeboard_job_seconds", about, labels=["step"])
    uppers = [*(str(float(upper)) for upper in queue_facts.BUCKETS), "+Inf"]
    for step, (counts, seconds) in sorted(queue_facts.step_buckets().items()):
        family.add_metric([step], list(zip(uppers, counts, strict=True)), seconds)
    return family


def _recent(now: dt.datetime) -> Iterator[Metric]:
    number, mean, most = (
        GaugeMetricFamily(f"citeboard_{name}", f"{about} within the last hour.", labels=["step"])
        for name, about in (
            ("jobs_done_recently", "Jobs done"),
            ("job_seconds_mean", "Mean seconds of the jobs done"),
            ("job_seconds_max", "Seconds of the longest job done"),
        )
    )
    for times in queue_facts.step_times(now):
        number.add_metric([times.step], times.done)
        mean.add_metric([times.step], times.mean)
        most.add_metric([times.step], times.longest)
    yield from (number, mean, most)
