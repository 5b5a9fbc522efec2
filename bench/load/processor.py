"""The computing time of processes and of those that they started: what else is done matters little to it."""

from __future__ import annotations

from contextlib import suppress

import psutil


def computing_seconds(pid: int | None) -> float:
    """Of a process and all that it has started, as far as each is there or was waited for by its parent."""
    if pid is None:
        return 0.0
    total = 0.0
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = one.cpu_times()
                total += (
                    times.user
                    + times.system
                    + times.children_user
                    + times.children_system
                )
    return total


def database_seconds() -> float:
    """Of PostgreSQL's living processes for this database, where its server is on this machine."""
    from django.db import connection

    if connection.vendor != "postgresql":
        return 0.0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        )
        pids = [pid for (pid,) in cursor.fetchall()]
    return sum(computing_seconds(pid) for pid in pids)


def megabytes(pid: int) -> float:
    """Of memory that a process has with all that it has started; what they share counts once."""
    total = 0
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                total += one.memory_full_info().pss
    return total / 1e6
