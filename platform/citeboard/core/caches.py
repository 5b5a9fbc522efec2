"""Cache backends for Redis, live objects in memory, and rate limits.

The Redis cache uses another cache during outages. The database stores the counters of
rate limits.
"""

import json
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partialmethod
from threading import Lock
from typing import Any

from django.conf import settings
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from django.db import connection
from django.utils.module_loading import import_string
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from citeboard.core.models import Limit
from citeboard.core.outages import (
    CACHE_SERVICE,
    REDIS_SERVICE,
    log_outage,
    log_recovery,
)

#: A Redis command times out after REDIS_TIMEOUT_SECONDS seconds.
#: After a failure of Redis, the fallback cache is used for REDIS_RETRY_SECONDS seconds.
REDIS_TIMEOUT_SECONDS, REDIS_RETRY_SECONDS = 1.0, 5.0


class RedisFallbackCache(BaseCache):
    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        instead = params["OPTIONS"]["instead"]
        # Redis may close idle connections, so the client repeats a failed command once.
        waits = dict.fromkeys(
            ("socket_timeout", "socket_connect_timeout"), REDIS_TIMEOUT_SECONDS
        )
        self._redis = RedisCache(
            location, {**params, "OPTIONS": {**waits, "retry": Retry(NoBackoff(), 1)}}
        )
        self._instead: BaseCache = import_string(instead["BACKEND"])(
            instead.get("LOCATION", ""), {}
        )
        self._unavailable_until = 0.0
        self._service = (
            REDIS_SERVICE if location == settings.REDIS_URL else CACHE_SERVICE
        )

    def ask(self, method: str, *given: Any, **named: Any) -> Any:
        if time.monotonic() >= self._unavailable_until:
            try:
                answer = getattr(self._redis, method)(*given, **named)
            except RedisError as reason:
                self._unavailable_until = time.monotonic() + REDIS_RETRY_SECONDS
                log_outage(
                    self._service,
                    f"Redis does not answer; going on without it: {reason}",
                )
            else:
                log_recovery(self._service)
                return answer
        return getattr(self._instead, method)(*given, **named)


for _method in ("get", "set", "add", "touch", "incr", "delete", "clear"):
    setattr(RedisFallbackCache, _method, partialmethod(RedisFallbackCache.ask, _method))


class ObjectCache(LocMemCache):
    """An in-memory cache that stores Python objects without pickling.

    All callers share the cached objects, so callers must not change cached objects. The
    cache does not validate keys, so keys must not contain user input.
    """

    # The type stubs of Django's LocMemCache omit some attributes.
    _cache: OrderedDict[str, Any]
    _lock: Lock
    _has_expired: Callable[[str], bool]
    _delete: Callable[[str], bool]
    _set: Callable[[str, Any, float | None], None]

    def make_and_validate_key(self, key: str, version: int | None = None) -> str:
        return key

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        with self._lock:
            if self._has_expired(key):
                self._delete(key)
                return default
            self._cache.move_to_end(key, last=False)
            return self._cache[key]

    def set(
        self,
        key: str,
        value: Any,
        timeout: Any = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> None:
        with self._lock:
            self._set(key, value, timeout)

    #: Processes that write the same key write equal values, so overwriting is harmless.
    add = set  # type: ignore[assignment]  # noqa: A003


#: Each insertion deletes at most MAX_EXPIRED_ROWS_DELETED expired rows.
MAX_EXPIRED_ROWS_DELETED = 200
#: Rows that never expire have the expiry time NEVER_EXPIRES_AT.
NEVER_EXPIRES_AT = 1e12

RATE_LIMIT_TABLE = "core_limit"
INCREMENT_COUNTER_SQL = """
    UPDATE {table} SET value = CAST(CAST(value AS INTEGER) + %s AS TEXT)
    WHERE key = %s AND expires_at > %s RETURNING value
"""
#: INSERT_UNLESS_UNEXPIRED_SQL inserts a cache row or replaces an expired row, and returns a written row.
INSERT_UNLESS_UNEXPIRED_SQL = """
    INSERT INTO {table} (key, value, expires_at) VALUES (%s, %s, %s)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
    WHERE {table}.expires_at <= %s RETURNING key
"""
DELETE_EXPIRED_ROWS_SQL = """
    DELETE FROM {table} WHERE key IN (
        SELECT key FROM {table} WHERE expires_at <= %s LIMIT %s {lock}
    ) RETURNING key
"""


class RateLimitCache(BaseCache):
    """A database cache for rate limits.

    Each cache operation is one SQL statement, so that concurrent processes lose no
    increment.
    """

    def __init__(self, _location: str, params: dict[str, Any]) -> None:
        super().__init__(params)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        rows = Limit.objects.filter(
            pk=self._build_key(key, version), expires_at__gt=time.time()
        )
        value = rows.values_list("value", flat=True).first()
        return default if value is None else json.loads(value)

    def set(
        self,
        key: str,
        value: Any,
        timeout: Any = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> None:
        row = Limit(
            self._build_key(key, version),
            json.dumps(value),
            self._compute_expiry_time(timeout),
        )
        Limit.objects.bulk_create(
            [row],
            update_conflicts=True,
            unique_fields=["key"],
            update_fields=["value", "expires_at"],
        )

    def add(
        self,
        key: str,
        value: Any,
        timeout: Any = DEFAULT_TIMEOUT,
        version: int | None = None,
    ) -> bool:
        values = [
            self._build_key(key, version),
            json.dumps(value),
            self._compute_expiry_time(timeout),
            time.time(),
        ]
        is_new = self._fetch_row(INSERT_UNLESS_UNEXPIRED_SQL, values) is not None
        if is_new:
            # PostgreSQL skips expired rows that another process is deleting.
            lock = (
                "FOR UPDATE SKIP LOCKED"
                if connection.features.has_select_for_update_skip_locked
                else ""
            )
            self._fetch_row(
                DELETE_EXPIRED_ROWS_SQL.replace("{lock}", lock),
                [time.time(), MAX_EXPIRED_ROWS_DELETED],
            )
        return is_new

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        row = self._fetch_row(
            INCREMENT_COUNTER_SQL, [delta, self._build_key(key, version), time.time()]
        )
        if row is None:
            raise ValueError(f"There is no number under {key}.")
        return int(row[0])

    def delete(self, key: str, version: int | None = None) -> bool:
        return bool(Limit.objects.filter(pk=self._build_key(key, version)).delete()[0])

    def clear(self) -> None:
        Limit.objects.all().delete()

    def _build_key(self, key: str, version: int | None) -> str:
        return str(self.make_and_validate_key(key, version=version))

    def _compute_expiry_time(self, timeout: float | None) -> float:
        seconds = self.get_backend_timeout(timeout)
        return NEVER_EXPIRES_AT if seconds is None else seconds

    def _fetch_row(self, statement: str, values: list[Any]) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(
                statement.format(table=connection.ops.quote_name(RATE_LIMIT_TABLE)),
                values,
            )
            return cursor.fetchone()
