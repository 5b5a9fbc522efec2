"""Check that this machine can write to the database.

`serve` writes the heartbeat row of its machine every two seconds and records in the
work folder whether the commit succeeded. Probes, the doctor, the watchdog and workers
read this record and write nothing.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings
from django.db import Error as DatabaseTrouble, close_old_connections, connection
from django.utils import timezone

from citeboard.core.database import database_time_expression
from citeboard.core.env import SQLITE_WRITER_WAIT_SECONDS
from citeboard.core.models import Heartbeat
from citeboard.core.outages import (
    DATABASE_SERVICE,
    FULL_DISK_REASON,
    INSUFFICIENT_STORAGE_STATUS,
    NO_ANSWER_REASON,
    READ_ONLY_REASON,
    UNAVAILABLE_STATUS,
    Outage,
    find_outage,
    log_database_error,
    log_recovery,
)
from citeboard.core.processes import find_machine_name

HEARTBEAT_SECONDS = 2.0
#: A record of a write is valid for WRITE_RECORD_LIFETIME_SECONDS.
#: WRITE_RECORD_LIFETIME_SECONDS is longer than a writer may wait for SQLite's lock.
WRITE_RECORD_LIFETIME_SECONDS = SQLITE_WRITER_WAIT_SECONDS + 10.0
#: The row of a machine is deleted HEARTBEAT_LIFETIME_SECONDS after its last heartbeat.
HEARTBEAT_LIFETIME_SECONDS = 24 * 3600
#: SQLite needs at least MIN_FREE_BYTES bytes of free disk space for a commit.
MIN_FREE_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class HeartbeatWriteResult:
    """The result of one write to the heartbeat row of this machine.

    ``reason`` is the reason for a failed write, or an empty text if the write
    succeeded.
    """

    at: float
    reason: str = ""
    status: int = 0
    is_busy: bool = False


def write_heartbeat() -> HeartbeatWriteResult:
    """Write the heartbeat row of this machine, and store the result in the work folder."""
    before = read_last_write_record()
    try:
        _write_heartbeat_row()
        record = HeartbeatWriteResult(at=time.time())
        # A heartbeat reports only the end of outages that a heartbeat has reported.
        # Sweeps of the queue report the outages that sweeps have noticed.
        if before is not None and before.reason:
            log_recovery(DATABASE_SERVICE)
    except DatabaseTrouble as error:
        connection.close()
        outage = find_outage(error) or Outage(UNAVAILABLE_STATUS, NO_ANSWER_REASON, 0)
        record = HeartbeatWriteResult(
            at=time.time(),
            reason=outage.reason,
            status=outage.status,
            is_busy=outage.is_busy,
        )
        log_database_error(error, outage.reason)
    # If the record cannot be stored, other processes check the database themselves.
    with suppress(OSError):
        _save_write_record(record)
    return record


def write_heartbeats_until(ended: threading.Event) -> None:
    while True:
        # SQLite's file may have been replaced while the process had the file open.
        close_old_connections()
        write_heartbeat()
        if ended.wait(HEARTBEAT_SECONDS):
            return


def _write_heartbeat_row() -> None:
    Heartbeat.objects.bulk_create(
        [Heartbeat(machine=find_machine_name(), at=timezone.now())],
        update_conflicts=True,
        unique_fields=["machine"],
        update_fields=["at"],
    )


def delete_old_heartbeats() -> int:
    return Heartbeat.objects.filter(
        at__lt=database_time_expression(-HEARTBEAT_LIFETIME_SECONDS)
    ).delete()[0]


def read_last_write_record() -> HeartbeatWriteResult | None:
    """Return the latest record of a write on this machine, or None if no valid record
    exists.

    A record of a write that is older than WRITE_RECORD_LIFETIME_SECONDS is not valid.
    """
    try:
        record = HeartbeatWriteResult(**json.loads(_write_record_path().read_text()))
        age = time.time() - record.at
    except (OSError, ValueError, TypeError):
        return None
    return record if 0 <= age < WRITE_RECORD_LIFETIME_SECONDS else None


def find_write_problem() -> HeartbeatWriteResult | None:
    """Return the reason why this machine cannot write to the database, or None.

    Without a valid record, the function looks for a problem without writing.
    """
    if (record := read_last_write_record()) is not None:
        return record if record.reason else None
    return _find_problem_by_reading()


def is_writable() -> bool:
    """Return False if writes to the database fail.

    A busy database counts as writable.
    """
    problem = find_write_problem()
    return problem is None or problem.is_busy


def _find_problem_by_reading() -> HeartbeatWriteResult | None:
    if connection.vendor == "postgresql":
        try:
            with connection.cursor() as cursor:
                cursor.execute("SHOW transaction_read_only")
                if cursor.fetchone()[0] == "on":
                    return HeartbeatWriteResult(
                        at=time.time(),
                        reason=READ_ONLY_REASON,
                        status=UNAVAILABLE_STATUS,
                    )
        except DatabaseTrouble as error:
            connection.close()
            outage = find_outage(error) or Outage(
                UNAVAILABLE_STATUS, NO_ANSWER_REASON, 0
            )
            return HeartbeatWriteResult(
                at=time.time(), reason=outage.reason, status=UNAVAILABLE_STATUS
            )
        return None
    with suppress(OSError):
        folder = Path(connection.settings_dict["NAME"]).parent
        if folder.is_dir() and shutil.disk_usage(folder).free < MIN_FREE_BYTES:
            return HeartbeatWriteResult(
                at=time.time(),
                reason=FULL_DISK_REASON,
                status=INSUFFICIENT_STORAGE_STATUS,
            )
    return None


def _save_write_record(record: HeartbeatWriteResult) -> None:
    path = _write_record_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_suffix(f".{threading.get_native_id()}")
    new.write_text(json.dumps(asdict(record)))
    new.replace(path)


def _write_record_path() -> Path:
    return Path(settings.WORK_DIR) / "database-write.json"
