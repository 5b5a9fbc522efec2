"""The faults that a drill injects into a copy of the site. Each fault defines how the
drill injects it and which responses the site must give during the fault.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.db import connection

from citeboard.ops.drill.site_copy import SiteCopy

(
    RUN_ACCEPTED_STATUS,
    UNAVAILABLE_STATUS,
    INSUFFICIENT_STORAGE_STATUS,
    PAGE_SHOWN_STATUS,
) = 201, 503, 507, 200
MEGABYTE = 1 << 20
#: Commands in MOUNT_NAMESPACE_COMMANDS enter a mount namespace, where drills can mount a small disk.
#: A user without root rights also needs a new user namespace.
MOUNT_NAMESPACE_COMMANDS = (
    ("unshare", "--mount"),
    ("unshare", "--mount", "--user", "--map-root-user"),
)
SQLITE_VENDOR, POSTGRESQL_VENDOR = "sqlite", "postgresql"
IMPORT_SCHEMA_EPOCH_SCRIPT = "from citeboard.core.models import SchemaEpoch as S; "
RAISE_SCHEMA_EPOCH_SCRIPT = (
    IMPORT_SCHEMA_EPOCH_SCRIPT
    + "S.objects.create(number=S.objects.latest('number').number + 1)"
)
TRUNCATE_SQLITE_LOG_SCRIPT = (
    "from django.db import connection as c; "
    "c.cursor().execute('PRAGMA wal_checkpoint(TRUNCATE)')"
)
LOWER_SCHEMA_EPOCH_SCRIPT = (
    IMPORT_SCHEMA_EPOCH_SCRIPT + "S.objects.latest('number').delete()"
)


@dataclass(frozen=True, kw_only=True)
class InjectedFault:
    """A fault, and the status codes that the site must return during the fault.

    ``upload`` and ``page`` are the required status codes of uploads and pages. The
    fault can be injected into sites with one of ``databases`` if all ``tools`` are
    installed. ``small_disk`` returns the folder at which the drill mounts a small disk.
    """

    name: str
    what: str
    upload: int
    page: int
    begin: Callable[[SiteCopy], AbstractContextManager[None]]
    databases: tuple[str, ...] = (SQLITE_VENDOR, POSTGRESQL_VENDOR)
    small_disk: Callable[[SiteCopy], Path] | None = None
    tools: tuple[str, ...] = ()
    ends_site: bool = False
    needs_redis: bool = False

    def find_obstacle(self) -> str:
        """Return the reason why this machine cannot inject the fault, or an empty text."""
        if connection.vendor not in self.databases:
            return f"played on {' and '.join(self.databases)} alone"
        missing = [tool for tool in self.tools if shutil.which(tool) is None]
        if missing:
            return f"{', '.join(missing)} is not installed"
        if self.small_disk is not None and not find_namespace_command():
            return "this kernel lets nobody mount a small disk"
        return ""


@cache
def find_namespace_command() -> tuple[str, ...]:
    """Return the command prefix that starts a program in its own mount namespace.

    The command prefix is empty if the kernel does not allow mount namespaces.
    """
    for command in MOUNT_NAMESPACE_COMMANDS:
        with suppress(OSError, subprocess.CalledProcessError):
            subprocess.run([*command, "true"], capture_output=True, check=True)
            return command
    return ()


def stored_files_folder(copy: SiteCopy) -> Path:
    return copy.data / "files"


def stored_runs_folder(copy: SiteCopy) -> Path:
    return stored_files_folder(copy) / "runs"


def database_folder(copy: SiteCopy) -> Path:
    return copy.database.parent


@contextmanager
def fill_disk(copy: SiteCopy, folder: Path) -> Iterator[None]:
    """Fill the small disk of the copied site, and free the space at the end of the
    block.
    """
    filler = _path_in_site_namespace(copy, folder) / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    try:
        yield
    finally:
        filler.unlink()


def _path_in_site_namespace(copy: SiteCopy, folder: Path) -> Path:
    assert copy.process is not None
    return Path(f"/proc/{copy.process.pid}/root{folder}")


def fill_storage_disk(copy: SiteCopy) -> AbstractContextManager[None]:
    return fill_disk(copy, stored_files_folder(copy))


@contextmanager
def fill_database_disk(copy: SiteCopy) -> Iterator[None]:
    """Leave too little space on the disk for the next write of SQLite.

    The function truncates SQLite's write-ahead log and then fills the disk.
    """
    copy.required("shell", "--verbosity", "0", "-c", TRUNCATE_SQLITE_LOG_SCRIPT)
    with fill_disk(copy, database_folder(copy)):
        yield


@contextmanager
def make_storage_read_only(copy: SiteCopy) -> Iterator[None]:
    _remount_data_folder(copy, "ro")
    try:
        yield
    finally:
        _remount_data_folder(copy, "rw")


def _remount_data_folder(copy: SiteCopy, how: str) -> None:
    mount = ["mount", "-o", f"remount,{how}", str(stored_files_folder(copy))]
    subprocess.run(
        [*copy.build_namespace_command(), *mount], check=True, capture_output=True
    )


@contextmanager
def remove_run_files(copy: SiteCopy) -> Iterator[None]:
    """Remove all stored runs of the copied site, and put the files back at the end of
    the block.
    """
    folder = stored_runs_folder(copy)
    kept = folder.with_name("runs-kept")
    folder.rename(kept)
    folder.mkdir()
    try:
        yield
    finally:
        shutil.copytree(folder, kept, dirs_exist_ok=True)
        shutil.rmtree(folder)
        kept.rename(folder)


@contextmanager
def stop_database(copy: SiteCopy) -> Iterator[None]:
    if copy.door is not None:
        with copy.door.interrupt_connections():
            yield
        return
    folder = database_folder(copy)
    kept = folder.with_name("database-kept")
    folder.rename(kept)
    try:
        yield
    finally:
        kept.rename(folder)


@contextmanager
def make_database_read_only(copy: SiteCopy) -> Iterator[None]:
    """Make the database of the copied site read-only until the end of the block, like a
    standby server after a failover.
    """
    name = copy.environment["DATABASE_URL"].rpartition("/")[2]
    _set_database_option(name, "SET default_transaction_read_only = on")
    try:
        yield
    finally:
        _set_database_option(name, "RESET default_transaction_read_only")


def _set_database_option(name: str, what: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{name}" {what}')
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
            [name],
        )


@contextmanager
def raise_schema_epoch(copy: SiteCopy) -> Iterator[None]:
    copy.required("shell", "--verbosity", "0", "-c", RAISE_SCHEMA_EPOCH_SCRIPT)
    try:
        yield
    finally:
        copy.required("shell", "--verbosity", "0", "-c", LOWER_SCHEMA_EPOCH_SCRIPT)


@contextmanager
def lock_database(copy: SiteCopy) -> Iterator[None]:
    other = sqlite3.connect(copy.database, timeout=60, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.rollback()
        other.close()


@contextmanager
def stop_redis(copy: SiteCopy) -> Iterator[None]:
    assert copy.redis is not None
    copy.redis.stop()
    try:
        yield
    finally:
        copy.redis.start()


INJECTED_FAULTS = (
    InjectedFault(
        name="full-storage",
        what="the disk of stored files is full",
        upload=INSUFFICIENT_STORAGE_STATUS,
        page=PAGE_SHOWN_STATUS,
        begin=fill_storage_disk,
        small_disk=stored_files_folder,
        tools=("unshare", "nsenter"),
    ),
    InjectedFault(
        name="read-only-storage",
        what="the storage can be read but not written",
        upload=UNAVAILABLE_STATUS,
        page=PAGE_SHOWN_STATUS,
        begin=make_storage_read_only,
        small_disk=stored_files_folder,
        tools=("unshare", "nsenter"),
    ),
    InjectedFault(
        name="missing-file",
        what="stored files of runs are missing",
        upload=RUN_ACCEPTED_STATUS,
        page=PAGE_SHOWN_STATUS,
        begin=remove_run_files,
    ),
    InjectedFault(
        name="no-database",
        what="the database does not answer",
        upload=UNAVAILABLE_STATUS,
        page=UNAVAILABLE_STATUS,
        begin=stop_database,
    ),
    InjectedFault(
        name="read-only-database",
        what="the database can be read but not written, as after a failover",
        upload=UNAVAILABLE_STATUS,
        page=PAGE_SHOWN_STATUS,
        begin=make_database_read_only,
        databases=(POSTGRESQL_VENDOR,),
    ),
    InjectedFault(
        name="full-database",
        what="the disk of the database is full",
        upload=INSUFFICIENT_STORAGE_STATUS,
        page=PAGE_SHOWN_STATUS,
        begin=fill_database_disk,
        databases=(SQLITE_VENDOR,),
        small_disk=database_folder,
        tools=("unshare", "nsenter"),
    ),
    InjectedFault(
        name="newer-schema",
        what="the database was upgraded by a newer release",
        upload=0,
        page=0,
        begin=raise_schema_epoch,
        ends_site=True,
    ),
    InjectedFault(
        name="locked-database",
        what="another program holds the lock of SQLite",
        upload=UNAVAILABLE_STATUS,
        page=PAGE_SHOWN_STATUS,
        begin=lock_database,
        databases=(SQLITE_VENDOR,),
    ),
    InjectedFault(
        name="no-redis",
        what="Redis does not answer",
        upload=RUN_ACCEPTED_STATUS,
        page=PAGE_SHOWN_STATUS,
        begin=stop_redis,
        tools=("redis-server",),
        needs_redis=True,
    ),
)
