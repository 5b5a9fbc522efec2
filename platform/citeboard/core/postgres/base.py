"""PostgreSQL as Django knows it, but a connection that no longer answers is found out in a second."""

import select
import time
from typing import Any

from django.db.backends.postgresql import base
from psycopg import OperationalError
from psycopg.pq import ExecStatus

#: Seconds that a server may take to say that a connection stands. A server that hangs never says it.
PATIENCE = 1.0


class DatabaseWrapper(base.DatabaseWrapper):
    def is_usable(self) -> bool:
        return self.connection is not None and _answers(self.connection.pgconn)


def _answers(line: Any) -> bool:
    until = time.monotonic() + PATIENCE
    try:
        line.send_query(b"SELECT 1")
        while line.flush() or line.is_busy():
            left = until - time.monotonic()
            if left <= 0 or not select.select([line.socket], [], [], left)[0]:
                return False
            line.consume_input()
        states = [result.status for result in iter(line.get_result, None)]
    except (OperationalError, OSError, ValueError):
        return False
    return states == [ExecStatus.TUPLES_OK]
