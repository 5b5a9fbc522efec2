"""What processes of the site count for `/metrics`: requests by route, and pages by where they come from."""

import os
import shutil
import struct
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.multiprocess import MultiProcessCollector

from citeboard.core.middleware import Middleware

#: The variable by which the client library learns of it, when it is imported.
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
#: Memory where it is offered: a process dies of writing to a mapped file that a full disk has no room for.
_TOP = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir())  # noqa: S108

# One process says the same as several, which know no moments at which a count began.
disable_created_metrics()  # type: ignore[no-untyped-call]

COUNTED = "citeboard_http_request_seconds"
REQUESTS = Histogram(
    COUNTED,
    "Seconds until an answer to the request began, by route, method and status.",
    ["route", "method", "status"],
    buckets=(0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
PAGES = Counter(
    "citeboard_board_pages",
    "Pages of boards, by whether they were made, came from the cache, or the reader had them.",
    ["source"],
)
#: Anybody may invent more; those are one label.
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestMetricsMiddleware(Middleware):
    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = self.get_response(request)
        seconds = time.perf_counter() - began
        method = request.method if request.method in METHODS else "other"
        match = request.resolver_match
        if match is not None:
            route = match.view_name or match.route
        else:
            route = "static" if request.path_info.startswith(settings.STATIC_URL) else "none"
        REQUESTS.labels(route, method, response.status_code).observe(seconds)
        return response


def begin_to_count(site: str) -> str:
    forget_counts(site)
    return tempfile.mkdtemp(prefix=_prefix(site), dir=_TOP)


def forget_counts(site: str) -> None:
    for folder in _TOP.glob(f"{_prefix(site)}*"):
        shutil.rmtree(folder, ignore_errors=True)


def answered_so_far(folder: str) -> int:
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
    with suppress(OSError, struct.error):
        counts = (sample for family in registry.collect() for sample in family.samples)
        return int(sum(sample.value for sample in counts if sample.name == f"{COUNTED}_count"))
    return 0


def _prefix(site: str) -> str:
    return f"citeboard-metrics-{site}-"
