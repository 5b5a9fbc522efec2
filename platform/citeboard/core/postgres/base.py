"""PostgreSQL backend for Django with quick checks of connections and one exception
class for outages.

The threads of a web process share a pool of connections, which `core.connections`
configures.
"""

import select
import time
from functools import cached_property
from types import TracebackType
from typing import Any

from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper, OperationalError
from psycopg import OperationalError as ServerError
from psycopg.pq import ExecStatus

#: A PostgreSQL server hangs if it does not answer a check within LIVENESS_CHECK_TIMEOUT_SECONDS seconds.
LIVENESS_CHECK_TIMEOUT_SECONDS = 1.0
#: psycopg raises InternalError if a server is read-only (25006).
#: psycopg raises ProgrammingError if a privilege is missing (42501).
#: The site treats a read-only server and a missing privilege as outages.
READ_ONLY_SQLSTATE, MISSING_PERMISSION_SQLSTATE = "25006", "42501"


class OutageErrorWrapper(DatabaseErrorWrapper):
    """Raise OperationalError if the PostgreSQL server is read-only or refuses a
    privilege.

    The database connection is closed after this error.
    """

    wrapper: "DatabaseWrapper"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error and getattr(error, "sqlstate", None) in (
            READ_ONLY_SQLSTATE,
            MISSING_PERMISSION_SQLSTATE,
        ):
            self.wrapper.is_given_up = True
            raise OperationalError(*error.args).with_traceback(traceback) from error
        super().__exit__(kind, error, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    #: `is_given_up` is True after the server was read-only or refused a privilege.
    #: After a failover, a new connection may reach a server that accepts writes.
    is_given_up = False

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self.is_given_up = False
        connection = super().get_new_connection(conn_params)
        if self.pool and not _is_connection_alive(connection.pgconn):
            # All connections of the pool fail if the server hangs or was restarted.
            connection.close()
            self.pool.putconn(connection)
            self.pool.drain()
            connection = super().get_new_connection(conn_params)
        return connection

    @cached_property
    def wrap_database_errors(self) -> OutageErrorWrapper:
        return OutageErrorWrapper(self)

    def close_if_unusable_or_obsolete(self) -> None:
        if self.is_given_up and not self.in_atomic_block:
            if self.connection is not None:
                # The connection is closed first, so that the pool discards it.
                self.connection.close()
            self.close()
        super().close_if_unusable_or_obsolete()

    def is_usable(self) -> bool:
        return self.connection is not None and _is_connection_alive(
            self.connection.pgconn
        )


def _is_connection_alive(line: Any) -> bool:
    until = time.monotonic() + LIVENESS_CHECK_TIMEOUT_SECONDS
    try:
        line.send_query(b"SELECT 1")
        while line.flush() or line.is_busy():
            left = until - time.monotonic()
            if left <= 0 or not select.select([line.socket], [], [], left)[0]:
                return False
            line.consume_input()
        states = [result.status for result in iter(line.get_result, None)]
    except (ServerError, OSError, ValueError):
        return False
    return states == [ExecStatus.TUPLES_OK]
