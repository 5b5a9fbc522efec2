"""Metrics for `/metrics`, and OpenTelemetry spans with ids that derive from the id of
the request.

Without a configured collector, or without OpenTelemetry installed, a span does nothing.
"""

import logging
import os
import shutil
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
)
from prometheus_client.multiprocess import MultiProcessCollector

from citeboard.core import logs, middleware

#: prometheus_client reads the environment variable PROMETHEUS_FOLDER_VARIABLE at import.
PROMETHEUS_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
#: The metrics are stored in /dev/shm if possible.
#: A process that writes to a mapped file on a full disk crashes.
_METRICS_PARENT_FOLDER = Path(
    "/dev/shm"  # noqa: S108  (a folder of its own below)
    if os.access("/dev/shm", os.W_OK)  # noqa: S108
    else tempfile.gettempdir()
)

# prometheus_client cannot report creation times of metrics that processes share.
disable_created_metrics()  # type: ignore[no-untyped-call]

REQUEST_METRIC_NAME = "citeboard_http_request_seconds"
REQUEST_SECONDS_HISTOGRAM = Histogram(
    REQUEST_METRIC_NAME,
    "Seconds until an answer to the request began, by route, method and status.",
    ["route", "method", "status"],
    buckets=(0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
BOARD_PAGES_SERVED_COUNTER = Counter(
    "citeboard_board_pages",
    "Pages of boards, by whether they were made, came from the cache, or the reader had them.",
    ["source"],
)
#: HTTP methods outside LABELLED_HTTP_METHODS share one label, because clients can invent methods.
LABELLED_HTTP_METHODS = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
)


class RequestMetricsMiddleware(middleware.BaseMiddleware):
    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        method = request.method if request.method in LABELLED_HTTP_METHODS else "other"
        with open_trace_span(method) as current:
            response = self.get_response(request)
            match = request.resolver_match
            if match is not None:
                route = match.view_name or match.route
            else:
                route = (
                    "static"
                    if request.path_info.startswith(settings.STATIC_URL)
                    else "none"
                )
            if current is not None:
                current.update_name(f"{method} {route}")
                current.set_attribute("http.route", route)
                current.set_attribute("http.response.status_code", response.status_code)
        REQUEST_SECONDS_HISTOGRAM.labels(route, method, response.status_code).observe(
            time.perf_counter() - began
        )
        return response


def create_metrics_folder(site: str) -> str:
    remove_metrics_folders(site)
    return tempfile.mkdtemp(
        prefix=_metrics_folder_prefix(site), dir=_METRICS_PARENT_FOLDER
    )


def remove_metrics_folders(site: str) -> None:
    for folder in _METRICS_PARENT_FOLDER.glob(f"{_metrics_folder_prefix(site)}*"):
        shutil.rmtree(folder, ignore_errors=True)


def count_answered_requests(folder: str) -> int:
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
    with suppress(OSError, struct.error):
        counts = (sample for family in registry.collect() for sample in family.samples)
        return int(
            sum(
                sample.value
                for sample in counts
                if sample.name == f"{REQUEST_METRIC_NAME}_count"
            )
        )
    return 0


def _metrics_folder_prefix(site: str) -> str:
    return f"citeboard-metrics-{site}-"


log = logging.getLogger(__name__)


def derive_trace_ids(name: str) -> tuple[int, int]:
    """Return the trace id and the id of the first span for a request id.

    The ids are digests of the request id, and therefore equal on every machine.
    """
    digest = sha256(name.encode()).digest()
    return int.from_bytes(digest[:16]), int.from_bytes(digest[16:24])


@contextmanager
def open_trace_span(
    name: str, *, continued: str = "", **attributes: str | int
) -> Iterator[Any]:
    """Trace the block as an OpenTelemetry span.

    If ``continued`` is a request id, the span belongs to the trace of this request.
    """
    tracer = create_tracer_for_process(os.getpid()) if settings.TRACES_TO else None
    if tracer is None:
        yield None
        return
    from opentelemetry import trace

    context = None
    if continued:
        trace_id, span_id = derive_trace_ids(continued)
        sampled = trace.TraceFlags(trace.TraceFlags.SAMPLED)
        parent = trace.SpanContext(
            trace_id, span_id, is_remote=True, trace_flags=sampled
        )
        context = trace.set_span_in_context(trace.NonRecordingSpan(parent))
    with tracer.start_as_current_span(
        name, context=context, attributes=attributes
    ) as current:
        yield current


@lru_cache(maxsize=1)
def create_tracer_for_process(process: int) -> Any:
    """Return the OpenTelemetry tracer of a process, or None without OpenTelemetry.

    Each process needs its own tracer, because threads do not survive a fork.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed: docs/operating.md"
        )
        return None
    resource = Resource.create(
        {"service.name": os.environ.get("OTEL_SERVICE_NAME", "citeboard")}
    )
    provider = TracerProvider(resource=resource, id_generator=_create_id_generator())
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider.get_tracer("citeboard")


def _create_id_generator() -> Any:
    from opentelemetry import trace
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

    class RequestIdGenerator(RandomIdGenerator):
        def generate_trace_id(self) -> int:
            return derive_trace_ids(logs.request_id.get())[0]

        def generate_span_id(self) -> int:
            is_first = not trace.get_current_span().get_span_context().is_valid
            return (
                derive_trace_ids(logs.request_id.get())[1]
                if is_first
                else super().generate_span_id()
            )

    return RequestIdGenerator()
