"""Redis as a cache that may go away: what a site without Redis uses stands in for it until it is back."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.redis import RedisCache
from django.utils.module_loading import import_string
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from citeboard.core.outage_log import CACHE, REDIS, note_outage, note_recovery

#: Seconds that Redis may take to answer, and for which it is not asked again after it did not.
PATIENCE, PAUSE = 1.0, 5.0


class SharedCache(BaseCache):
    """``OPTIONS["instead"]`` is the entry of the cache that stands in."""

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        instead = params["OPTIONS"]["instead"]
        # An idle connection may have been closed by the server, so that one is tried twice.
        options = {
            "socket_timeout": PATIENCE,
            "socket_connect_timeout": PATIENCE,
            "retry": Retry(NoBackoff(), 1),
        }
        self._redis = RedisCache(location, {**params, "OPTIONS": options})
        self._instead: BaseCache = import_string(instead["BACKEND"])(instead.get("LOCATION", ""), {})
        self._away_until = 0.0
        self._what = REDIS if location == settings.REDIS_URL else CACHE

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return self._ask("get", key, default, version=version)

    def set(
        self, key: str, value: Any, timeout: float | None = DEFAULT_TIMEOUT, version: int | None = None
    ) -> None:
        self._ask("set", key, value, timeout, version=version)

    def add(
        self, key: str, value: Any, timeout: float | None = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        return bool(self._ask("add", key, value, timeout, version=version))

    def touch(self, key: str, timeout: float | None = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        return bool(self._ask("touch", key, timeout, version=version))

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Raises ValueError where there is no such number."""
        return int(self._ask("incr", key, delta, version=version))

    def delete(self, key: str, version: int | None = None) -> bool:
        return bool(self._ask("delete", key, version=version))

    def clear(self) -> None:
        self._ask("clear")

    def _ask(self, method: str, *given: Any, **named: Any) -> Any:
        if time.monotonic() >= self._away_until:
            try:
                answer = getattr(self._redis, method)(*given, **named)
            except RedisError as reason:
                self._away_until = time.monotonic() + PAUSE
                note_outage(self._what, f"Redis does not answer; going on without it: {reason}")
            else:
                note_recovery(self._what)
                return answer
        return getattr(self._instead, method)(*given, **named)
