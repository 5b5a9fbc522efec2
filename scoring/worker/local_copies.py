"""Copy files from the storage to local folders for scorers. Copies of gold are cached,
and all other copies are deleted after use.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from django.conf import settings

from citeboard.core import storage
from citeboard.core.confined.pool import FinishedSandboxedCall
from citeboard.core.confinement import (
    UploadUnreadable,
    build_organiser_upload_limits,
    read_upload,
)
from citeboard.core.env import create_private_folder
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from scoring.worker import child
from scoring.worker.child import ScorerWaitsForDependency, ScoringOfRunFailed
from tasks.models import Gold, Submission
from tasks.types import Problem
from tasks.types.problems import convert_dicts_to_problems

#: Beyond this number of cached files with gold, the least recently used is deleted.
MAX_LOCAL_GOLD_FILES = 40


@contextmanager
def convert_storage_errors() -> Iterator[None]:
    """Convert errors of the storage to ScorerWaitsForDependency, because these errors are not caused
    by the run.
    """
    try:
        yield
    except Exception as reason:
        raise ScorerWaitsForDependency(
            f"{storage.describe_storage_failure(reason)}; scoring goes on by itself when it does."
        ) from reason


class UploadedFileRefused(ActionRefused):
    """An error about an uploaded file that was refused, and from which nothing was
    stored.
    """

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems[:3]))


def parse_uploaded_file(
    program: str,
    path: Path,
    filename: str,
    by: User | None,
    files: Mapping[str, bytes] | None = None,
) -> dict[str, Any]:
    """Parse a file that an organiser has uploaded in a confined process, and return the
    result. Raises UploadedFileRefused or SandboxPoolFull.
    """
    with parse_upload_in_confined_process(program, path, filename, by, files) as done:
        found: dict[str, Any] = done.result
    return found


@contextmanager
def parse_upload_in_confined_process(
    program: str,
    path: Path,
    filename: str,
    by: User | None,
    files: Mapping[str, bytes] | None = None,
) -> Iterator[FinishedSandboxedCall]:
    """Yield the result of a confined process that parsed an uploaded file, with the
    files that the process wrote. The files that the process wrote are deleted at the
    end of the `with` block.
    """
    named, limits = {"filename": filename}, build_organiser_upload_limits()
    try:
        with read_upload(
            program, path, named, owner=by, limits=limits, files=files
        ) as done:
            if done.result["problems"]:
                raise UploadedFileRefused(
                    convert_dicts_to_problems(done.result["problems"])
                )
            yield done
    except UploadUnreadable as reason:
        raise UploadedFileRefused(
            [Problem(file=filename, message=str(reason))]
        ) from reason


@contextmanager
def temporary_local_copy(kept: storage.FolderStorage, name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="citeboard-fetched-") as folder:
        yield storage.copy_to_local_folder(kept, name, Path(folder))


def get_or_create_work_folder() -> Path:
    return create_private_folder(settings.WORK_DIR)


def get_or_make_local_gold_copy(gold: Gold) -> Path:
    """Return the path of a local copy of the gold, which is downloaded if it is
    missing. Several workers may call the function for the same gold at the same time.
    """
    return get_or_make_copy_of_stored_gold(gold.file)


def get_or_make_copy_of_stored_gold(stored: str) -> Path:
    path = _build_local_gold_path(stored)
    with suppress(FileNotFoundError):
        os.utime(path)
        return path
    with (
        convert_storage_errors(),
        tempfile.TemporaryDirectory(dir=path.parent) as draft,
    ):
        copy = storage.copy_to_local_folder(
            storage.gold_file_storage, stored, Path(draft)
        )
        # Keep a copy that another process has made, because a scorer may be reading it.
        try:
            path.hardlink_to(copy)
        except FileExistsError:
            pass
        except OSError:  # Some file systems have no hard links.
            copy.rename(path)
    copies = [copy for copy in path.parent.iterdir() if copy.is_file()]
    for old in sorted(copies, key=lambda copy: copy.stat().st_mtime)[
        :-MAX_LOCAL_GOLD_FILES
    ]:
        old.unlink(missing_ok=True)
    return path


def delete_local_gold(gold: Gold) -> None:
    for stored in (gold.file, gold.public):
        _build_local_gold_path(stored).unlink(missing_ok=True)


def _build_local_gold_path(stored: str) -> Path:
    folder = get_or_create_work_folder() / "gold"
    folder.mkdir(mode=0o700, exist_ok=True)
    name = hashlib.sha256(stored.encode()).hexdigest()[:32]
    return folder / f"{name}{PurePosixPath(stored).suffix}"


def copy_run_file_to_folder(submission: Submission, folder: Path) -> Path:
    """Copy the file of a run to a new folder, and return the path of the copy.

    In the new folder, the name of the file cannot conflict with other files. Raises
    ScoringOfRunFailed if the file in the storage is damaged.
    """
    path = build_run_copy_path(submission, folder)
    with convert_storage_errors():
        path.parent.mkdir(mode=0o700)
        copy = storage.copy_to_local_folder(
            storage.run_file_storage, submission.file, path.parent
        )
        with copy.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != submission.sha256:
        raise ScoringOfRunFailed(
            "The stored run is not the file that was sent; please submit it again."
        )
    return copy.rename(path)


def build_run_copy_path(submission: Submission, folder: Path) -> Path:
    # Task types recognise the format of a run by the suffix of its file name.
    return folder / "run" / f"run{PurePosixPath(submission.filename).suffix.lower()}"


def remove_leftovers() -> int:
    return child.remove_leftover_scorer_folders(get_or_create_work_folder())
