"""What the site needs and does not find, and who does without it."""

import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import redis
from django.conf import settings
from django.db import Error as DatabaseTrouble
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from citeboard.core import storage
from citeboard.core.database import LARGEST_SKEW, skew
from citeboard.core.outages import note_outage, note_recovery
from citeboard.core.words import listed

WEB, WORKER = "web", "worker"
PARTS = (WEB, WORKER)
#: All that may be missing, by what `Missing.what` calls it.
PARTS_ASKED = frozenset({"database", "clock", "storage", "disk", "redis", "cache"})
#: Seconds that Redis may take.
PATIENCE = 1.0
GIGABYTE = 1 << 30
#: Bytes of disk with fewer of which the next upload or scoring may not fit.
LEAST_FREE = GIGABYTE // 4


@dataclass(frozen=True, kw_only=True)
class Missing:
    what: str
    reason: str
    stops: tuple[str, ...] = ()
    lacks: str = ""

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def missing(clock: float | None) -> list[Missing]:
    return list(_missing(clock))


def _missing(clock: float | None) -> Iterator[Missing]:
    if clock is None:
        yield Missing(what="database", reason="the database does not answer", stops=PARTS)
    elif clock > LARGEST_SKEW:
        reason = f"this machine and the database differ by {clock:.1f} s"
        yield Missing(what="clock", reason=reason, stops=PARTS)
    try:
        # Asked and not written to, since probes come every few seconds.
        storage.runs.exists("probe")
    except OSError as fault:
        reason = f"the storage does not answer ({fault.strerror})"
        lacks = "uploads, downloads, and charts of stored files"
        yield Missing(what="storage", reason=reason, stops=(WORKER,), lacks=lacks)
    try:
        free = shutil.disk_usage(settings.DATA_DIR).free
        if free < LEAST_FREE:
            reason = f"{free / GIGABYTE:.2f} GB are free in the data folder"
            yield Missing(what="disk", reason=reason, lacks="room for uploads and scores")
    except OSError as fault:
        reason = f"the data folder is not there ({fault.strerror})"
        yield Missing(what="disk", reason=reason, stops=PARTS)
    if trouble := _trouble_of(settings.REDIS_URL):
        lacks = "the shared cache and prompt wakes; workers look for runs in the database"
        yield Missing(what="redis", reason=f"Redis does not answer ({trouble})", lacks=lacks)
    is_another = settings.REDIS_CACHE_URL != settings.REDIS_URL
    if is_another and (trouble := _trouble_of(settings.REDIS_CACHE_URL)):
        reason = f"the Redis of cached results does not answer ({trouble})"
        yield Missing(what="cache", reason=reason, lacks="cached results that processes share")


def clock_skew() -> float | None:
    try:
        return skew()
    except DatabaseTrouble:
        connection.close()
        return None


def _trouble_of(address: str) -> str:
    patience = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE}
    try:
        if address:
            with redis.from_url(address, **patience) as server:
                server.ping()
    except redis.RedisError as trouble:
        return type(trouble).__name__
    return ""


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "live"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    part_asked = request.GET.get("for", WEB)
    if part_asked not in PARTS:
        return JsonResponse({"detail": f"There are {listed(PARTS)}."}, status=400)
    clock = clock_skew()
    lacking = missing(clock)
    facts: dict[str, object] = {
        part: "waiting" if any(part in lack.stops for lack in lacking) else "ready" for part in PARTS
    }
    status = facts[part_asked]
    facts |= {"clock_seconds": clock, "missing": [lack.as_dict() for lack in lacking]}
    # Probes come every few seconds.
    for lack in lacking:
        note_outage(lack.what, lack.reason)
    for what in PARTS_ASKED - {lack.what for lack in lacking}:
        note_recovery(what)
    reason = (
        {"reason": next(lack.reason for lack in lacking if part_asked in lack.stops)}
        if status != "ready"
        else {}
    )
    response = JsonResponse({"status": status, **reason, **facts}, status=200 if status == "ready" else 503)
    # Django writes no line of its own about the answer.
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001
    return response
