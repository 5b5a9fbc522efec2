"""What each database needs before many processes may write to it at once."""

from typing import Any

from dj_database_url import DBConfig

SQLITE = "django.db.backends.sqlite3"
MAX_WAIT = 20  # seconds a writer waits for another
#: Within five seconds a page says that the server is away: so long may it take to connect, in seconds, and to
#: confirm what was sent, in milliseconds.
SERVER = {"connect_timeout": 3, "tcp_user_timeout": 4000}
#: Connections are kept between requests, and looked at before each. Opening SQLite's file takes four times as
#: long as answering from a cached board.
KEPT = {"CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True}


def ready_for_many_writers(config: DBConfig) -> dict[str, Any]:
    """The connection settings under which web processes and workers share the database.

    On SQLite the write-ahead log alone is not enough: a transaction that reads first and writes later
    fails at once when another wrote in between, however long the timeout. Begun as IMMEDIATE it waits
    for its turn instead.
    """
    if config["ENGINE"] != SQLITE:
        options = {**SERVER, **config.get("OPTIONS", {})}
        return {**config, **KEPT, "ENGINE": "citeboard.core.postgres", "OPTIONS": options}
    options = {
        **config.get("OPTIONS", {}),
        "transaction_mode": "IMMEDIATE",
        "timeout": MAX_WAIT,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
    return {**config, **KEPT, "ENGINE": "citeboard.core.sqlite", "OPTIONS": options}
