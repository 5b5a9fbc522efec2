"""Health checks that report the missing requirements of the site, and the components
that cannot work without these requirements.
"""

import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import redis
from django.conf import settings
from django.db import Error as DatabaseTrouble, connection
from django.http import HttpRequest, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from citeboard.core import confinement, outages, storage, words
from citeboard.core.database import (
    MAX_CLOCK_SKEW_SECONDS,
    measure_clock_skew,
    read_schema_state,
)
from citeboard.core.writability import find_write_problem

WEB_PROCESS, WORKER_PROCESS = "web", "worker"
SITE_PROCESS_KINDS = (WEB_PROCESS, WORKER_PROCESS)
#: READINESS_REQUIREMENTS contains all possible values of the attribute `Missing.what`.
READINESS_REQUIREMENTS = {
    "database",
    "writes",
    "clock",
    "schema",
    "pages",
    "storage",
    "disk",
    "confinement",
    "redis",
    "cache",
}
#: The health check of Redis times out after REDIS_TIMEOUT_SECONDS seconds.
REDIS_TIMEOUT_SECONDS = 1.0
GIGABYTE = 1 << 30
#: An upload or a scoring needs at least MIN_FREE_DISK_BYTES bytes of free disk space.
MIN_FREE_DISK_BYTES = GIGABYTE // 4
#: _REQUIREMENTS_EVER_MET contains requirements that cannot fail after they were met once.
_REQUIREMENTS_EVER_MET: set[str] = set()


@dataclass(frozen=True, kw_only=True)
class Missing:
    what: str
    reason: str
    stops: tuple[str, ...] = ()
    lacks: str = ""

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def find_missing_requirements(
    clock: float | None, request: HttpRequest | None = None
) -> list[Missing]:
    """Return the requirements that the site does not meet.

    ``clock`` is the difference in seconds between this machine's clock and the
    database's clock, or None if the database does not answer. If ``request`` is given,
    the check also renders a page.
    """
    return [
        *_find_missing_services(clock),
        *(() if clock is None else _find_release_problems(request)),
    ]


def _find_release_problems(request: HttpRequest | None) -> Iterator[Missing]:
    if "schema" not in _REQUIREMENTS_EVER_MET:
        if behind := len(read_schema_state().missing):
            reason = f"the database is {behind} migration(s) behind this release"
            yield Missing(what="schema", reason=reason, stops=SITE_PROCESS_KINDS)
            return
        _REQUIREMENTS_EVER_MET.add("schema")
    if request is not None and "pages" not in _REQUIREMENTS_EVER_MET:
        try:
            render_to_string("404.html", request=request)
        except Exception as fault:  # noqa: BLE001  (every page fails with the same error)
            reason = f"pages cannot be made ({type(fault).__name__}: {fault})"
            yield Missing(what="pages", reason=reason, stops=(WEB_PROCESS,))
        else:
            _REQUIREMENTS_EVER_MET.add("pages")


def _find_missing_services(clock: float | None) -> Iterator[Missing]:
    if clock is None:
        yield Missing(
            what="database",
            reason="the database does not answer",
            stops=SITE_PROCESS_KINDS,
        )
    elif clock > MAX_CLOCK_SKEW_SECONDS:
        reason = f"this machine and the database differ by {clock:.1f} s"
        yield Missing(what="clock", reason=reason, stops=SITE_PROCESS_KINDS)
    if clock is not None and (problem := find_write_problem()) is not None:
        yield Missing(
            what="writes",
            reason=problem.reason,
            stops=() if problem.is_busy else SITE_PROCESS_KINDS,
            lacks="uploads, sign-ins and scores",
        )
    try:
        # Health probes are frequent, so the check does not write to the storage.
        storage.run_file_storage.exists("probe")
    except OSError as fault:
        reason = f"the storage does not answer ({fault.strerror})"
        lacks = "uploads, downloads, and charts of stored files"
        yield Missing(
            what="storage", reason=reason, stops=(WORKER_PROCESS,), lacks=lacks
        )
    try:
        free = shutil.disk_usage(settings.DATA_DIR).free
        if free < MIN_FREE_DISK_BYTES:
            reason = f"{free / GIGABYTE:.2f} GB are free in the data folder"
            yield Missing(
                what="disk", reason=reason, lacks="room for uploads and scores"
            )
    except OSError as fault:
        reason = f"the data folder is not there ({fault.strerror})"
        yield Missing(what="disk", reason=reason, stops=SITE_PROCESS_KINDS)
    if reason := confinement.find_reason_for_refusing_uploads():
        lacks = "reading of uploads: they are taken, and wait"
        yield Missing(
            what="confinement", reason=reason, stops=(WORKER_PROCESS,), lacks=lacks
        )
    if trouble := _find_redis_error(settings.REDIS_URL):
        lacks = (
            "the shared cache and prompt wakes; workers look for runs in the database"
        )
        yield Missing(
            what="redis", reason=f"Redis does not answer ({trouble})", lacks=lacks
        )
    if settings.REDIS_CACHE_URL != settings.REDIS_URL and (
        trouble := _find_redis_error(settings.REDIS_CACHE_URL)
    ):
        reason = f"the Redis of cached results does not answer ({trouble})"
        yield Missing(
            what="cache", reason=reason, lacks="cached results that processes share"
        )


def measure_clock_skew_or_none() -> float | None:
    try:
        return measure_clock_skew()
    except DatabaseTrouble:
        connection.close()
        return None


def _find_redis_error(address: str) -> str:
    patience = {
        "socket_timeout": REDIS_TIMEOUT_SECONDS,
        "socket_connect_timeout": REDIS_TIMEOUT_SECONDS,
    }
    try:
        if address:
            with redis.from_url(address, **patience) as server:
                server.ping()
    except redis.RedisError as trouble:
        return type(trouble).__name__
    return ""


@never_cache
@require_safe
def respond_to_liveness_probe(request: HttpRequest) -> JsonResponse:
    """Respond to a liveness probe, which succeeds as long as the process can answer
    requests.
    """
    return JsonResponse({"status": "live"})


@never_cache
@require_safe
def respond_to_readiness_probe(request: HttpRequest) -> JsonResponse:
    """Return the requirements that the site does not meet. The status is 503 if the
    requested component cannot work.
    """
    part_asked = request.GET.get("for", WEB_PROCESS)
    if part_asked not in SITE_PROCESS_KINDS:
        return JsonResponse(
            {"detail": f"There are {words.join_names(SITE_PROCESS_KINDS)}."}, status=400
        )
    clock = measure_clock_skew_or_none()
    lacking = find_missing_requirements(clock, request)
    facts: dict[str, object] = {
        part: "waiting" if any(part in lack.stops for lack in lacking) else "ready"
        for part in SITE_PROCESS_KINDS
    }
    status = facts[part_asked]
    facts |= {"clock_seconds": clock, "missing": [lack.as_dict() for lack in lacking]}
    # Health probes are frequent, so only the start and end of an outage are logged.
    for lack in lacking:
        outages.log_outage(lack.what, lack.reason)
    for what in READINESS_REQUIREMENTS - {lack.what for lack in lacking}:
        outages.log_recovery(what)
    reasons = [("reason", lack.reason) for lack in lacking if part_asked in lack.stops]
    code = 200 if status == "ready" else 503
    response = JsonResponse(
        {"status": status, **dict(reasons[:1]), **facts}, status=code
    )
    # `_has_been_logged` suppresses Django's log message about the response.
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001
    return response
