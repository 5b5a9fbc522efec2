"""The cache that counts attempts and requests, in the database: all processes share it.

Used where there is no Redis. Values are numbers, texts, and lists of them, as JSON.
"""

from __future__ import annotations

import json
import time
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.db import connection

from citeboard.core.models import Limit

#: At most so many expired rows go whenever a new one is made.
MAX_EXPIRED = 200
#: A row that never expires.
NEVER = 1e12

TABLE = "core_limit"
INCREASE = """
    UPDATE {table} SET value = CAST(CAST(value AS INTEGER) + %s AS TEXT)
    WHERE key = %s AND expires_at > %s RETURNING value
"""
#: Written where there is no row yet or an expired one. A row that is returned was written.
ADD = """
    INSERT INTO {table} (key, value, expires_at) VALUES (%s, %s, %s)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
    WHERE {table}.expires_at <= %s RETURNING key
"""
REMOVE_EXPIRED = """
    DELETE FROM {table} WHERE key IN (
        SELECT key FROM {table} WHERE expires_at <= %s LIMIT %s {lock}
    ) RETURNING key
"""


class LimitsCache(BaseCache):
    """Each operation is one statement, so that two processes never count one attempt for two."""

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        found = Limit.objects.filter(pk=self._key(key, version), expires_at__gt=time.time())
        value = found.values_list("value", flat=True).first()
        return default if value is None else json.loads(value)

    def set(
        self, key: str, value: Any, timeout: float | None = DEFAULT_TIMEOUT, version: int | None = None
    ) -> None:
        row = Limit(self._key(key, version), json.dumps(value), self._expires_at(timeout))
        Limit.objects.bulk_create(
            [row],
            update_conflicts=True,
            unique_fields=["key"],
            update_fields=["value", "expires_at"],
        )

    def add(
        self, key: str, value: Any, timeout: float | None = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        given = [self._key(key, version), json.dumps(value), self._expires_at(timeout), time.time()]
        is_new = self._row(ADD, given) is not None
        if is_new:
            # Rows that another process is removing are left to it.
            lock = "FOR UPDATE SKIP LOCKED" if connection.features.has_select_for_update_skip_locked else ""
            self._row(REMOVE_EXPIRED.replace("{lock}", lock), [time.time(), MAX_EXPIRED])
        return is_new

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Raises ValueError where there is no such number."""
        row = self._row(INCREASE, [delta, self._key(key, version), time.time()])
        if row is None:
            raise ValueError(f"There is no number under {key}.")
        return int(row[0])

    def delete(self, key: str, version: int | None = None) -> bool:
        return bool(Limit.objects.filter(pk=self._key(key, version)).delete()[0])

    def clear(self) -> None:
        Limit.objects.all().delete()

    def _key(self, key: str, version: int | None) -> str:
        return str(self.make_and_validate_key(key, version=version))

    def _expires_at(self, timeout: float | None) -> float:
        seconds = self.get_backend_timeout(timeout)
        return NEVER if seconds is None else seconds

    def _row(self, statement: str, given: list[Any]) -> Any:
        with connection.cursor() as cursor:
            cursor.execute(statement.format(table=connection.ops.quote_name(TABLE)), given)
            return cursor.fetchone()
