"""A session backend that reads sessions from Django's table by a fixed SQL statement."""

from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db import connection
from django.utils import timezone

_LOAD_SESSION_SQL = (
    f'SELECT session_data FROM "{Session._meta.db_table}" '  # noqa: S608, SLF001  (the name of a table)
    "WHERE session_key = %s AND expire_date > %s"
)


class SessionStore(db.SessionStore):
    def load(self) -> dict[str, Any]:
        now = connection.ops.adapt_datetimefield_value(timezone.now())
        with connection.cursor() as cursor:
            cursor.execute(_LOAD_SESSION_SQL, [self.session_key, now])
            row = cursor.fetchone()
        if row is None:
            self._session_key = None
            return {}
        return self.decode(row[0])
