"""The file of a run: what is wrong with it, and where it is kept."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.core.files import File
from django.db import InterfaceError, OperationalError
from django.utils.translation import gettext as _

from citeboard.core import storage
from citeboard.core.confinement import UploadUnreadable, read_upload
from citeboard.teams.models import User
from tasks.submissions.run_card import Metadata, metadata_of_header
from tasks.submissions.uploads import Upload
from tasks.types import Options, Problem, TaskType
from tasks.types.files import CHUNK
from tasks.types.problems import fatal, from_values

#: The module of the programs that read runs, each in a confined process.
READING = "tasks.submissions.reading"

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class StoredRun:
    """A run in the run storage, with the facts that its submission keeps."""

    file: str
    filename: str
    sha256: str
    size: int
    is_checked: bool


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What is wrong with a run, warnings included.

    One that is too large to be read while its sender waits was only opened. ``about`` is what its header says
    of how it was made.
    """

    problems: list[Problem] = field(default_factory=list)
    is_read: bool = True
    about: Metadata = field(default_factory=Metadata)

    @property
    def errors(self) -> list[Problem]:
        return fatal(self.problems)


def findings_of(
    upload: Upload, *, task_type: TaskType, index: Path, options: Options, by: User | None
) -> Findings:
    """Everything that is wrong with a run, warnings included; each problem names a file.

    It is read in a confined process, for the account of ``by``. Raises PoolFull.
    """
    given = {
        "task_type": task_type.slug,
        "options": task_type.checked_options(options),
        "filename": upload.filename,
        "max_bytes": settings.CHECK_MAX_MB << 20,
    }
    try:
        with read_upload(f"{READING}:check", upload.path, given, owner=by, shared=index) as done:
            found = done.result
            return Findings(
                problems=from_values(found["problems"]),
                is_read=found["is_read"],
                about=metadata_of_header(task_type, found["about"]),
            )
    except UploadUnreadable as reason:
        return Findings(problems=[Problem(file=upload.filename, message=str(reason))])


def checked_later() -> Problem:
    """What is said of such a file to who only asks for a check."""
    return Problem(
        message=_(
            "a run of more than %(limit)s MB is checked once it is submitted; one that is refused then "
            "costs nothing either"
        )
        % {"limit": settings.CHECK_MAX_MB},
        fatal=False,
    )


def checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


@contextmanager
def stored_run(upload: Upload, sha256: str, *, is_checked: bool) -> Iterator[StoredRun]:
    """The run in the run storage; it stays there if the block succeeds and is removed if it fails.

    Its folder is named for its content and a number of its own, so that what is removed is never another's.
    Where the database failed, a row may name it although its commit was not answered: a sweep removes it if
    none does.
    """
    name = f"{sha256[:2]}/{sha256}/{secrets.token_hex(4)}/{upload.filename}"
    with upload.path.open("rb") as content:
        file = storage.runs.save(name, File(content))
    try:
        yield StoredRun(
            file=file,
            filename=upload.filename,
            sha256=sha256,
            size=upload.path.stat().st_size,
            is_checked=is_checked,
        )
    except (OperationalError, InterfaceError):
        raise
    except BaseException:
        discard(file)
        raise


def discard(file: str) -> None:
    """A storage that does not answer now leaves it to a sweep."""
    try:
        storage.runs.delete(file)
    except storage.StorageAway as reason:
        log.warning("%s could not be removed: %s", file, reason)


def as_warnings(problems: Sequence[Problem], more: int) -> list[dict[str, str | int | bool | None]]:
    """What a submission keeps of its warnings."""
    told = [problem.as_dict() for problem in problems]
    if more:
        told.append(Problem(message=f"and {more:,} more warnings", fatal=False).as_dict())
    return told
