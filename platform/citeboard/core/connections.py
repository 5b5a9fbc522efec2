"""Let all threads of a web process share a few connections to PostgreSQL."""

from typing import Any

from django.conf import settings
from django.db import connections

#: A request waits at most CONNECTION_WAIT_SECONDS seconds for a connection to the database.
CONNECTION_WAIT_SECONDS = 3.0
#: The pool tries for RECONNECT_SECONDS to reconnect to an unavailable database server.
#: The next request for a connection starts a new attempt to reconnect.
RECONNECT_SECONDS = 2.0


def enable_connection_pool() -> None:
    """Let the threads of this process share a pool of connections to PostgreSQL.

    Call this function before any thread connects to the database.
    """
    for alias in connections:
        config = connections.settings[alias]
        if config["ENGINE"] == "citeboard.core.postgres":
            config.update(_build_pool_settings(config))


def _build_pool_settings(config: dict[str, Any]) -> dict[str, Any]:
    pool = {
        "min_size": 1,
        "max_size": settings.DATABASE_CONNECTIONS,
        "timeout": CONNECTION_WAIT_SECONDS,
        "reconnect_timeout": RECONNECT_SECONDS,
    }
    # Each request returns its connection to the pool.
    # `core.postgres` checks each connection of the pool before reuse.
    return {
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": False,
        "OPTIONS": {**config["OPTIONS"], "pool": pool},
    }


def return_connections_to_pool() -> None:
    """Return this thread's connections to the pool while the thread waits.

    A connection with an open transaction stays with its thread.
    """
    for connection in connections.all(initialized_only=True):
        is_shared = "pool" in connection.settings_dict["OPTIONS"]
        if is_shared and not connection.in_atomic_block:
            connection.close()
