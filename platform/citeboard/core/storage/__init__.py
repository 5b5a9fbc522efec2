"""The storage of runs, gold and statistics. All code reaches stored files through this module."""

from __future__ import annotations

import datetime as dt
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, Storage, default_storage

#: FULL_DISK_ERRNOS contains the error numbers of a full disk and of an exceeded quota.
FULL_DISK_ERRNOS = (errno.ENOSPC, errno.EDQUOT)


class StorageUnavailable(OSError):
    """The storage does not answer or refuses a request.

    A later attempt to use the same storage may succeed.
    """


class StorageFull(StorageUnavailable):
    """The storage of the site has no free space."""


class StoredFileMissing(StorageUnavailable, FileNotFoundError):
    """A file that a database row names does not exist in the storage."""


@contextmanager
def convert_storage_errors(name: str) -> Iterator[None]:
    """Convert an OSError that is raised in the block to StorageUnavailable or a subclass.

    The error message contains the file name ``name``.
    """
    try:
        yield
    except StorageUnavailable:
        raise
    except FileNotFoundError as reason:
        raise StoredFileMissing(
            errno.ENOENT, "the storage has no such file", name
        ) from reason
    except OSError as reason:
        kind = StorageFull if reason.errno in FULL_DISK_ERRNOS else StorageUnavailable
        raise kind(
            reason.errno or errno.EIO, reason.strerror or str(reason), name
        ) from reason


def describe_storage_failure(reason: BaseException) -> str:
    if isinstance(reason, StoredFileMissing):
        return "A file is missing in the storage of the site"
    if isinstance(reason, OSError) and reason.errno in FULL_DISK_ERRNOS:
        return "The disk of the site is full"
    return "The storage of the site does not answer"


@dataclass(frozen=True)
class StoredFile:
    name: str
    size: int
    modified: dt.datetime


COPY_CHUNK_BYTES = 1 << 20


def _delegate_method_to_default_storage(method: str) -> Any:
    def call_in_folder(self: FolderStorage, name: str, *given: Any) -> Any:
        with convert_storage_errors(name):
            return getattr(default_storage, method)(f"{self.folder}/{name}", *given)

    return call_in_folder


class FolderStorage(Storage):
    """A folder of Django's default storage.

    Each method of the class raises StorageUnavailable if the storage fails.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    delete, exists, size, listdir, _open = map(
        _delegate_method_to_default_storage,
        ("delete", "exists", "size", "listdir", "open"),
    )

    def _save(self, name: str, content: File[Any]) -> str:
        with convert_storage_errors(name):
            return default_storage.save(f"{self.folder}/{name}", content).removeprefix(
                f"{self.folder}/"
            )

    def entries(self, path: str) -> Iterator[StoredFile]:
        with convert_storage_errors(path):
            for entry in default_storage.entries(f"{self.folder}/{path}".rstrip("/")):  # type: ignore[attr-defined]
                yield StoredFile(
                    entry.name.removeprefix(f"{self.folder}/"),
                    entry.size,
                    entry.modified,
                )

    def url(self, name: str | None) -> str:
        raise ValueError("files of runs and gold are served by views alone")


run_file_storage = FolderStorage("runs")
gold_file_storage = FolderStorage("gold")
statistics_file_storage = FolderStorage("statistics")
#: The site stores all files outside the database in the folders of FOLDER_STORAGES.
FOLDER_STORAGES = (run_file_storage, gold_file_storage, statistics_file_storage)


def copy_to_local_folder(storage: Storage, name: str, folder: Path) -> Path:
    path = folder / PurePosixPath(name).name
    with storage.open(name, "rb") as stored, path.open("wb") as copy:
        shutil.copyfileobj(stored, copy, COPY_CHUNK_BYTES)
    return path


class DiskStorage(FileSystemStorage):
    """A storage on disk, which shows a file only after the file was written completely."""

    def _save(self, name: str, content: File[Any]) -> str:
        draft = f"{name}.{secrets.token_hex(4)}.draft"
        try:
            super()._save(draft, content)  # type: ignore[misc]
            Path(self.path(draft)).rename(self.path(name))
        except BaseException:
            with suppress(OSError):
                self.delete(draft)
            raise
        return name

    def entries(self, folder: str) -> Iterator[StoredFile]:
        root = Path(self.location)
        for place, _, names in os.walk(root / folder):
            for path in (Path(place) / name for name in names):
                # Another process may delete a file while its folder is listed.
                with suppress(FileNotFoundError):
                    state = path.stat()
                    modified = dt.datetime.fromtimestamp(state.st_mtime, dt.UTC)
                    yield StoredFile(
                        path.relative_to(root).as_posix(), state.st_size, modified
                    )
