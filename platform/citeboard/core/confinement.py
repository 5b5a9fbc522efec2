"""The site's sandboxed processes that read uploads, and the messages about failures."""

import atexit
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.confined import UPLOAD, probe, rights, turns
from citeboard.core.confined.limits import Limits
from citeboard.core.confined.pool import (
    Done,
    LimitExceeded,
    Pool,
    ProgramFailed,
    Setup,
    Work,
)
from citeboard.core.connections import give_back_connections

#: Sandboxed processes may read the folders in CODE, which contain the site's code.
#: The fork server imports the modules in PRELOAD when it starts.
CODE = tuple(settings.BASE_DIR / name for name in ("platform", "tasks", "scoring"))
PRELOAD = (
    "tasks.types.*",
    "tasks.submissions.reading",
    "tasks.gold.packing",
    "tasks.seasons.file.zip_reader",
    "scoring.human.reading",
    "scoring.worker.reading",
    "scoring.metrics.*",
    "scoring.exchange.bundles.drafting",
    "scoring.exchange.bundles.old_runs",
    "scoring.offline.proposing",
    "scoring.offline.trivial",
    "citeboard.core.confined.probe",
)
PROBE = "citeboard.core.confined.probe:attempt"
#: If the kernel lacks a feature, clients may send a file again after UNDECIDED seconds.
UNDECIDED = 300
#: Reading an organiser's file may take PATIENCE_WITH_ORGANISERS times as long as a run.
PATIENCE_WITH_ORGANISERS = 6
_FAILURE_MESSAGE = gettext_lazy(
    "the site could not read the file because of an error of its own, which is in its "
    "log; the file may be fine"
)


class UploadUnreadable(Exception):
    """A sandboxed process failed to read an uploaded file, or exceeded a resource
    limit.

    The message of the exception is a clause for the sender of the file.
    """


def means() -> tuple[str, ...]:
    return () if settings.CONFINEMENT == "limits" else rights.MEANS


@cache
def still_open() -> tuple[str, ...]:
    """Return the resources that a sandboxed process on this machine can still reach.
    Each process of the site runs this test once.
    """
    return tuple(probe.self_test())


def why_nothing_is_read() -> str:
    """Return the reason why the site reads no uploads, or an empty text.

    The site reads no uploads if the kernel lacks required features, until the operator
    decides how to proceed.
    """
    if settings.CONFINEMENT != "required" or not still_open():
        return ""
    return _(
        "this site reads no files until its operator has decided how: the kernel leaves open what readers of "
        "files must not reach (%(what)s)"
    ) % {"what": ", ".join(still_open())}


def closes_all() -> bool:
    """Return True if sandboxed programs can reach none of the tested resources."""
    return bool(means()) and not still_open()


def pool() -> Pool:
    return _create_pool(
        settings.CHECKS,
        settings.DATA_DIR / "checks",
        settings.CHECK_HOUR_SECONDS,
        means(),
    )


@cache
def _create_pool(
    size: int, folder: Path, hourly_seconds: int, means: tuple[str, ...]
) -> Pool:
    path = [settings.BASE_DIR / "platform", settings.BASE_DIR]
    setup = Setup(path=path, readable=CODE, preload=PRELOAD, means=means)
    pool = Pool(
        size=size, work_folder=folder, setup=setup, hourly_seconds=hourly_seconds
    )
    atexit.register(pool.close)
    return pool


def limits_for_runs() -> Limits:
    return _limits_per_process(
        settings.CHECK_SECONDS,
        settings.CHECK_MEMORY_MB,
        file_mb=16,
        total_mb=64,
        total_files=100,
    )


def limits_for_organisers() -> Limits:
    seconds = PATIENCE_WITH_ORGANISERS * settings.CHECK_SECONDS
    bounds = {"file_mb": 1024, "total_mb": 4096, "total_files": 50_000}
    return _limits_per_process(seconds, settings.SCORING_MEMORY_MB, **bounds)


def _limits_per_process(seconds: int, memory_mb: int, **bounds: int) -> Limits:
    # The limit of wall-clock time includes the wait for processors on a busy machine.
    times = {"cpu_seconds": seconds, "wall_seconds": 3 * seconds}
    return Limits(**times, memory_mb=memory_mb, max_files=64, max_processes=0, **bounds)


@contextmanager
def read_upload(
    program: str,
    path: Path,
    arguments: Mapping[str, Any],
    *,
    owner: object,
    limits: Limits | None = None,
    files: Mapping[str, Path | bytes] | None = None,
    shared: Path | None = None,
) -> Iterator[Done]:
    """Run a program on an uploaded file in a sandboxed process, and yield the result.

    The function also yields the working folder, which exists until the end of the
    block.

    ``owner`` is the account of the sender, a Sender object for runs, or None for the
    site's own files. By default, the limits for files of runs apply. Raises
    UploadUnreadable, or PoolFull, which the site answers with status 503.
    """
    inputs: dict[str, Path | bytes] = {UPLOAD: path, **(files or {})}
    facts: dict[str, Any] = {
        "limits": limits or limits_for_runs(),
        "is_ours": "runs_measures" not in arguments,
    }
    work = Work(
        program=program, arguments=arguments, files=inputs, shared=shared, **facts
    )
    if program != PROBE and (reason := why_nothing_is_read()):
        raise turns.PoolFull(reason, retry_after=UNDECIDED)
    sender = owner if isinstance(owner, turns.Sender) else None
    if owner is not None and sender is None:
        sender = turns.Sender(account=str(getattr(owner, "pk", owner)))
    give_back_connections()
    try:
        with pool().done(work, sender=sender) as done:
            yield done
    except LimitExceeded as reason:
        raise UploadUnreadable(
            _("the file could not be read within the limits of the site: %(reason)s")
            % {"reason": reason}
        ) from reason
    except ProgramFailed as reason:
        raise UploadUnreadable(str(_FAILURE_MESSAGE)) from reason
