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

#: FULL contains the error numbers of a full disk and of an exceeded quota.
FULL = (errno.ENOSPC, errno.EDQUOT)


class StorageAway(OSError):
    """The storage does not answer or refuses a request.

    A later attempt to use the same storage may succeed.
    """


class StorageFull(StorageAway):
    """The storage of the site has no free space."""


class FileMissing(StorageAway, FileNotFoundError):
    """A file that a database row names does not exist in the storage."""


@contextmanager
def told(name: str) -> Iterator[None]:
    """Convert an OSError that is raised in the block to StorageAway or a subclass.

    The error message contains the file name ``name``.
    """
    try:
        yield
    except StorageAway:
        raise
    except FileNotFoundError as reason:
        raise FileMissing(
            errno.ENOENT, "the storage has no such file", name
        ) from reason
    except OSError as reason:
        kind = StorageFull if reason.errno in FULL else StorageAway
        raise kind(
            reason.errno or errno.EIO, reason.strerror or str(reason), name
        ) from reason


def words_of(reason: BaseException) -> str:
    if isinstance(reason, FileMissing):
        return "A file is missing in the storage of the site"
    if isinstance(reason, OSError) and reason.errno in FULL:
        return "The disk of the site is full"
    return "The storage of the site does not answer"


@dataclass(frozen=True)
class Entry:
    name: str
    size: int
    modified: dt.datetime


CHUNK = 1 << 20


def _in_folder(method: str) -> Any:
    def asked(self: FolderStorage, name: str, *given: Any) -> Any:
        with told(name):
            return getattr(default_storage, method)(f"{self.folder}/{name}", *given)

    return asked


class FolderStorage(Storage):
    """A folder of Django's default storage.

    Each method of the class raises StorageAway if the storage fails.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder

    delete, exists, size, listdir, _open = map(
        _in_folder, ("delete", "exists", "size", "listdir", "open")
    )

    def _save(self, name: str, content: File[Any]) -> str:
        with told(name):
            return default_storage.save(f"{self.folder}/{name}", content).removeprefix(
                f"{self.folder}/"
            )

    def entries(self, path: str) -> Iterator[Entry]:
        with told(path):
            for entry in default_storage.entries(f"{self.folder}/{path}".rstrip("/")):  # type: ignore[attr-defined]
                yield Entry(
                    entry.name.removeprefix(f"{self.folder}/"),
                    entry.size,
                    entry.modified,
                )

    def url(self, name: str | None) -> str:
        raise ValueError("files of runs and gold are served by views alone")


runs = FolderStorage("runs")
gold = FolderStorage("gold")
statistics = FolderStorage("statistics")
#: The site stores all files outside the database in the folders FOLDERS.
FOLDERS = (runs, gold, statistics)


def local_copy(storage: Storage, name: str, folder: Path) -> Path:
    path = folder / PurePosixPath(name).name
    with storage.open(name, "rb") as stored, path.open("wb") as copy:
        shutil.copyfileobj(stored, copy, CHUNK)
    return path


class Disk(FileSystemStorage):
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

    def entries(self, folder: str) -> Iterator[Entry]:
        root = Path(self.location)
        for place, _, names in os.walk(root / folder):
            for path in (Path(place) / name for name in names):
                # Another process may delete a file while its folder is listed.
                with suppress(FileNotFoundError):
                    state = path.stat()
                    modified = dt.datetime.fromtimestamp(state.st_mtime, dt.UTC)
                    yield Entry(
                        path.relative_to(root).as_posix(), state.st_size, modified
                    )
