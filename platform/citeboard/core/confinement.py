"""The confined processes of the site: what reads a file that somebody sent, and what is said if it cannot."""

import atexit
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from citeboard.core.confined import UPLOAD
from citeboard.core.confined.limits import Limits
from citeboard.core.confined.pool import Done, LimitExceeded, Pool, ProgramFailed, Setup, Work

#: Folders of our code, and what of it is imported before the first file comes.
CODE = tuple(settings.BASE_DIR / name for name in ("platform", "tasks", "scoring"))
PRELOAD = (
    "tasks.types.*",
    "tasks.submissions.reading",
    "tasks.gold.packing",
    "scoring.human.reading",
    "scoring.worker.reading",
    "citeboard.core.confined.probe",
)
#: What organisers send may take so many times as long as a run.
PATIENCE_WITH_ORGANISERS = 6
_FAULT = gettext_lazy(
    "the site failed to read the file by a fault of its own, which its log has; the file may be right"
)


class UploadUnreadable(Exception):
    """Reading the file took too much or failed; the message is a clause for its sender."""


def pool() -> Pool:
    return _pool(settings.CHECKS, settings.DATA_DIR / "checks", settings.CONFINEMENT == "kernel")


@cache
def _pool(size: int, folder: Path, uses_kernel: bool) -> Pool:
    path = [settings.BASE_DIR / "platform", settings.BASE_DIR]
    setup = Setup(path=path, readable=CODE, preload=PRELOAD, uses_kernel=uses_kernel)
    pool = Pool(size=size, work_folder=folder, setup=setup)
    atexit.register(pool.close)
    return pool


def limits_for_runs() -> Limits:
    return _limits(settings.CHECK_SECONDS, settings.CHECK_MEMORY_MB, file_mb=16)


def limits_for_organisers() -> Limits:
    seconds = PATIENCE_WITH_ORGANISERS * settings.CHECK_SECONDS
    return _limits(seconds, settings.SCORING_MEMORY_MB, file_mb=1024)


def _limits(seconds: int, memory_mb: int, *, file_mb: int) -> Limits:
    return Limits(
        cpu_seconds=seconds,
        # On a busy machine a second of computing takes longer.
        wall_seconds=3 * seconds,
        memory_mb=memory_mb,
        file_mb=file_mb,
        max_files=64,
        max_processes=0,
    )


@contextmanager
def read_upload(
    program: str,
    path: Path,
    arguments: Mapping[str, Any],
    *,
    owner: object,
    limits: Limits | None = None,
    files: Mapping[str, bytes] | None = None,
    shared: Path | None = None,
) -> Iterator[Done]:
    """What a program makes of the file, and the folder with what it wrote as long as the block lasts.

    ``owner`` is the account that sent it, None for what the site itself does. The limits are those for runs
    unless others are given. Raises UploadUnreadable, or PoolFull, which the site answers with 503.
    """
    work = Work(
        program=program,
        arguments=arguments,
        limits=limits or limits_for_runs(),
        files={UPLOAD: path, **(files or {})},
        shared=shared,
    )
    name = None if owner is None else str(getattr(owner, "pk", owner))
    try:
        with pool().done(work, owner=name) as done:
            yield done
    except LimitExceeded as reason:
        raise UploadUnreadable(
            _("the file could not be read within the limits of the site: %(reason)s") % {"reason": reason}
        ) from reason
    except ProgramFailed as reason:
        raise UploadUnreadable(str(_FAULT)) from reason
