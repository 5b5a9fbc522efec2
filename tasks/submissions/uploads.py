"""Files on their way in: written to disk as they arrive, and never more of one than a run may have."""

from __future__ import annotations

import datetime as dt
import re
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.http import HttpRequest
from django.utils.translation import gettext as _

from citeboard.core.refusals import Refused

#: In bytes, since that is how file systems count.
MAX_NAME = 100
MAX_SUFFIX = 12


class UploadTooLarge(Refused):
    """The file has more bytes than a run may have; nothing of it is kept."""

    status = 413

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(
            _("the file is larger than %(limit)s MB, the most that a run may have") % {"limit": limit >> 20}
        )


@dataclass(frozen=True)
class Upload:
    """A file on this machine, and what its sender calls it.

    The name is made safe here, before anything looks at the file: the run is checked, kept and scored under
    this one name, so that all three see the same suffix and stem.
    """

    path: Path
    filename: str
    #: When its first byte came; None where that is not known.
    begun_at: dt.datetime | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "filename", safe_filename(self.filename))


def safe_filename(name: str) -> str:
    """The last part of a name with letters, digits and a few signs; it leads nowhere and hides nothing."""
    name = unicodedata.normalize("NFC", re.split(r"[/\\]", name)[-1])
    name = re.sub(r"[^\w.()+,= -]", "_", name).strip(" .")
    stem, dot, suffix = name.rpartition(".")
    if not dot or len(suffix.encode()) > MAX_SUFFIX:
        return _shortened(name, MAX_NAME) or "run"
    return f"{_shortened(stem, MAX_NAME - len(suffix.encode()) - 1)}.{suffix}"


def _shortened(text: str, most: int) -> str:
    """At most so many bytes of the text, and whole characters."""
    return text.encode()[:most].decode(errors="ignore")


class DiskUploadHandler(TemporaryFileUploadHandler):
    """Writes uploaded files to disk as they arrive, and of one request no more than a run may have.

    A file that is too large is still read to its end, so that its sender gets an answer, and has its size.
    """

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self.arrived = 0
        self.begun: list[UploadedFile[Any]] = []
        if request is not None:
            _close_with(request, self.begun)

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self.begun.append(self.file)
        self.file.begun_at = getattr(self.request, "begun_at", None)  # type: ignore[attr-defined]

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self.arrived += len(raw_data)
        if self.arrived <= upload_limit():
            self.file.write(raw_data)
        elif self.file.tell():
            self.file.seek(0)
            self.file.truncate()


def _close_with(request: HttpRequest, files: list[UploadedFile[Any]]) -> None:
    """Close, and so remove, the files when the request ends.

    Django does it for files that arrived whole. One whose connection broke would stay on disk until the
    garbage collector comes by.
    """
    close = request.close

    def close_all() -> None:
        for file in files:
            file.close()
        close()

    request.close = close_all  # type: ignore[method-assign]


@contextmanager
def received(file: UploadedFile[Any]) -> Iterator[Upload]:
    """The uploaded file on this machine for as long as the block runs. Raises UploadTooLarge."""
    limit = upload_limit()
    if (file.size or 0) > limit:
        raise UploadTooLarge(limit)
    name, begun_at = file.name or "run", getattr(file, "begun_at", None)
    if hasattr(file, "temporary_file_path"):
        yield Upload(Path(file.temporary_file_path()), name, begun_at)
        return
    with tempfile.NamedTemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR) as copy:
        for chunk in file.chunks():
            copy.write(chunk)
        copy.flush()
        yield Upload(Path(copy.name), name, begun_at)


@contextmanager
def received_if_any(file: UploadedFile[Any] | None) -> Iterator[Upload | None]:
    """The same of a file that need not be there."""
    with nullcontext() if file is None else received(file) as upload:
        yield upload


def upload_limit() -> int:
    """In bytes."""
    return int(settings.UPLOAD_MAX_MB) << 20
