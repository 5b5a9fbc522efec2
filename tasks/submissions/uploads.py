"""Receive and store the files of runs, and delete files that belong to no run."""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
import os
import random
import re
import secrets
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files import File
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from citeboard.core import refusals, storage
from citeboard.core.confined.limits import MEGABYTE
from citeboard.core.upload_queue import UploadQueue
from tasks.models import Submission
from tasks.submissions import team_storage

#: MAX_FILE_NAME_BYTES limits the length of a file name in bytes, as file systems do.
MAX_FILE_NAME_BYTES = 100
MAX_SUFFIX_BYTES = 12


class UploadTooLarge(refusals.ActionRefused):
    status = 413

    def __init__(self, limit: int) -> None:
        self.limit = limit
        message = _(
            "the file is larger than %(limit)s MB, the most that a run may have"
        )
        super().__init__(message % {"limit": limit >> 20})


@dataclass(frozen=True)
class UploadedRunFile:
    path: Path
    filename: str
    #: `begun_at` is the time when the first byte arrived, or None if unknown.
    begun_at: dt.datetime | None = None
    network: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "filename", make_safe_filename(self.filename))

    @property
    def size(self) -> int:
        return self.path.stat().st_size


def make_safe_filename(name: str) -> str:
    name = unicodedata.normalize("NFC", re.split(r"[/\\]", name)[-1])
    name = re.sub(r"[^\w.()+,= -]", "_", name).strip(" .")
    stem, dot, suffix = name.rpartition(".")
    if not dot or len(suffix.encode()) > MAX_SUFFIX_BYTES:
        return _shorten_to_bytes(name, MAX_FILE_NAME_BYTES) or "run"
    return f"{_shorten_to_bytes(stem, MAX_FILE_NAME_BYTES - len(suffix.encode()) - 1)}.{suffix}"


def _shorten_to_bytes(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore")


class DiskUploadHandler(TemporaryFileUploadHandler):
    """Writes uploaded files to disk during the upload. A request can have at most as
    many bytes as the largest allowed run.
    """

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self.arrived = 0
        self.begun: list[UploadedFile[Any]] = []
        if request is not None:
            close = request.close

            def close_uploads_and_request() -> None:
                for file in self.begun:
                    file.close()
                close()

            request.close = close_uploads_and_request  # type: ignore[method-assign]

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self.begun.append(self.file)
        self.file.begun_at = getattr(self.request, "begun_at", None)  # type: ignore[attr-defined]
        if self.request is not None:
            self.file.network = get_client_network(self.request)  # type: ignore[attr-defined]
            self.file.account = getattr(getattr(self.request, "user", None), "pk", None)  # type: ignore[attr-defined]

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self.arrived += len(raw_data)
        if self.arrived <= get_max_upload_bytes():
            self.file.write(raw_data)
        elif self.file.tell():
            self.file.seek(0)
            self.file.truncate()


def get_client_network(request: HttpRequest) -> str:
    try:
        address = ip_address(BaseThrottle().get_ident(Request(request)))
    except ValueError:
        return ""
    return str(ip_network((address, 24 if address.version == 4 else 64), strict=False))


@contextmanager
def receive_upload(file: UploadedFile[Any]) -> Iterator[UploadedRunFile]:
    """Yield the received file of a run. The upload first waits for its turn in the
    upload queue.
    """
    account = getattr(file, "account", None) or getattr(file, "network", "")
    megabytes = (file.size or 0) / MEGABYTE
    with (
        get_upload_queue().turn(str(account), megabytes),
        _receive_file(file) as upload,
    ):
        yield upload


@contextmanager
def _receive_file(file: UploadedFile[Any]) -> Iterator[UploadedRunFile]:
    limit = get_max_upload_bytes()
    if (file.size or 0) > limit:
        raise UploadTooLarge(limit)
    name, network = file.name or "run", getattr(file, "network", "")
    begun_at = getattr(file, "begun_at", None)
    if hasattr(file, "temporary_file_path"):
        yield UploadedRunFile(Path(file.temporary_file_path()), name, begun_at, network)
        return
    with tempfile.NamedTemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR) as copy:
        for chunk in file.chunks():
            copy.write(chunk)
        copy.flush()
        yield UploadedRunFile(Path(copy.name), name, begun_at, network)


@contextmanager
def receive_optional_upload(
    file: UploadedFile[Any] | None,
) -> Iterator[UploadedRunFile | None]:
    with nullcontext() if file is None else _receive_file(file) as upload:
        yield upload


@cache
def get_upload_queue() -> UploadQueue:
    processors = len(os.sched_getaffinity(0)) // settings.WEB_WORKERS
    return UploadQueue(max(1, min(settings.CHECKS, processors)))


def get_max_upload_bytes() -> int:
    return int(settings.UPLOAD_MAX_MB) << 20


#: A file without a run is removed if it has not changed for MIN_FILE_AGE_FOR_REMOVAL.
MIN_FILE_AGE_FOR_REMOVAL = dt.timedelta(hours=1)
#: A run's folder is named by the first two characters of the run's checksum.
CHECKSUM_FOLDER_NAMES = [f"{number:02x}" for number in range(256)]

log = logging.getLogger(__name__)


def remove_abandoned_files(now: dt.datetime | None = None) -> int:
    """Remove incomplete uploads, and stored files without a run in one random folder
    and in the folder of repaired files.
    """
    folders = (
        random.choice(CHECKSUM_FOLDER_NAMES),  # noqa: S311
        team_storage.TEMPORARY_UPLOADS_FOLDER,
    )
    removed = remove_incomplete_uploads(now)
    return removed + sum(remove_unreferenced_runs(folder, now) for folder in folders)


def remove_incomplete_uploads(now: dt.datetime | None = None) -> int:
    before = ((now or timezone.now()) - MIN_FILE_AGE_FOR_REMOVAL).timestamp()
    removed = 0
    for path in Path(settings.FILE_UPLOAD_TEMP_DIR).iterdir():
        # An upload may end during the check, and its file then disappears.
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                path.unlink()
                removed += 1
    if removed:
        log.info("Removed %s files that had half arrived", removed)
    return removed


def remove_unreferenced_runs(folder: str, now: dt.datetime | None = None) -> int:
    before = (now or timezone.now()) - MIN_FILE_AGE_FOR_REMOVAL
    old = [
        entry.name
        for entry in storage.run_file_storage.entries(folder)
        if entry.modified < before
    ]
    # Runs are queried after listing files, so a new run's file is not removed.
    named = set(Submission.objects.filter(file__in=old).values_list("file", flat=True))
    unnamed = [name for name in old if name not in named]
    for name in unnamed:
        storage.run_file_storage.delete(name)
    if unnamed:
        log.info("Removed %s stored runs that no submission names", len(unnamed))
    return len(unnamed)


@dataclass(frozen=True)
class StoredRunFile:
    file: str
    filename: str
    sha256: str
    size: int
    is_checked: bool


def compute_sha256_of_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def store_run_file(
    upload: UploadedRunFile, sha256: str, *, is_checked: bool
) -> Iterator[StoredRunFile]:
    """Store the file of a run and yield a description of the stored file. If the block
    raises an exception, the stored file is removed.
    """
    name = f"{sha256[:2]}/{sha256}/{secrets.token_hex(4)}/{upload.filename}"
    with upload.path.open("rb") as content:
        file = storage.run_file_storage.save(name, File(content))
    try:
        yield StoredRunFile(file, upload.filename, sha256, upload.size, is_checked)
    except (OperationalError, InterfaceError):
        raise
    except BaseException:
        delete_stored_run_file(file)
        raise


def delete_stored_run_file(file: str) -> None:
    try:
        storage.run_file_storage.delete(file)
    except storage.StorageUnavailable as reason:
        log.warning("%s could not be removed: %s", file, reason)
