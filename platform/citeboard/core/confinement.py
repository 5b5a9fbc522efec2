"""The site's sandboxed processes that read uploads, and the messages about failures."""

import atexit
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.confined import UPLOAD_FILE_NAME, probe, rights, turns
from citeboard.core.confined.limits import ResourceLimits
from citeboard.core.confined.pool import (
    FinishedSandboxedCall,
    ForkServerSetup,
    ResourceLimitExceeded,
    SandboxedFunctionCall,
    SandboxedProgramFailed,
    SandboxPool,
)
from citeboard.core.connections import return_connections_to_pool

#: Sandboxed processes may read the folders in SANDBOX_READABLE_CODE_FOLDERS, which contain the site's code.
#: The fork server imports the modules in PRELOADED_MODULES when it starts.
SANDBOX_READABLE_CODE_FOLDERS = tuple(
    settings.BASE_DIR / name for name in ("platform", "tasks", "scoring")
)
PRELOADED_MODULES = (
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
PROBE_PROGRAM = "citeboard.core.confined.probe:test_protections"
#: If the kernel lacks a feature, clients may send a file again after FAILED_PROBE_RETRY_SECONDS seconds.
FAILED_PROBE_RETRY_SECONDS = 300
#: Reading an organiser's file may take ORGANISER_TIME_LIMIT_FACTOR times as long as a run.
ORGANISER_TIME_LIMIT_FACTOR = 6
_UPLOAD_READING_FAILED_MESSAGE = gettext_lazy(
    "the site could not read the file because of an error of its own, which is in its "
    "log; the file may be fine"
)


class UploadUnreadable(Exception):
    """A sandboxed process failed to read an uploaded file, or exceeded a resource
    limit.

    The message of the exception is a clause for the sender of the file.
    """


def find_allowed_mechanisms() -> tuple[str, ...]:
    return () if settings.CONFINEMENT == "limits" else rights.CONFINEMENT_MECHANISMS


@cache
def find_unprotected_resources() -> tuple[str, ...]:
    """Return the resources that a sandboxed process on this machine can still reach.
    Each process of the site runs this test once.
    """
    return tuple(probe.find_reachable_resources())


def find_reason_for_refusing_uploads() -> str:
    """Return the reason why the site reads no uploads, or an empty text.

    The site reads no uploads if the kernel lacks required features, until the operator
    decides how to proceed.
    """
    if settings.CONFINEMENT != "required" or not find_unprotected_resources():
        return ""
    return _(
        "this site reads no files until its operator has decided how: the kernel leaves open what readers of "
        "files must not reach (%(what)s)"
    ) % {"what": ", ".join(find_unprotected_resources())}


def is_fully_confined() -> bool:
    """Return True if sandboxed programs can reach none of the tested resources."""
    return bool(find_allowed_mechanisms()) and not find_unprotected_resources()


def get_sandbox_pool() -> SandboxPool:
    return _create_pool(
        settings.CHECKS,
        settings.DATA_DIR / "checks",
        settings.CHECK_HOUR_SECONDS,
        find_allowed_mechanisms(),
    )


@cache
def _create_pool(
    size: int, folder: Path, hourly_seconds: int, means: tuple[str, ...]
) -> SandboxPool:
    path = [settings.BASE_DIR / "platform", settings.BASE_DIR]
    setup = ForkServerSetup(
        path=path,
        readable=SANDBOX_READABLE_CODE_FOLDERS,
        preload=PRELOADED_MODULES,
        means=means,
    )
    pool = SandboxPool(
        size=size, work_folder=folder, setup=setup, hourly_seconds=hourly_seconds
    )
    atexit.register(pool.close)
    return pool


def build_run_reading_limits() -> ResourceLimits:
    return _build_process_limits(
        settings.CHECK_SECONDS,
        settings.CHECK_MEMORY_MB,
        file_mb=16,
        total_mb=64,
        total_files=100,
    )


def build_organiser_upload_limits() -> ResourceLimits:
    seconds = ORGANISER_TIME_LIMIT_FACTOR * settings.CHECK_SECONDS
    bounds = {"file_mb": 1024, "total_mb": 4096, "total_files": 50_000}
    return _build_process_limits(seconds, settings.SCORING_MEMORY_MB, **bounds)


def _build_process_limits(
    seconds: int, memory_mb: int, **bounds: int
) -> ResourceLimits:
    # The limit of wall-clock time includes the wait for processors on a busy machine.
    times = {"cpu_seconds": seconds, "wall_seconds": 3 * seconds}
    return ResourceLimits(
        **times, memory_mb=memory_mb, max_files=64, max_processes=0, **bounds
    )


@contextmanager
def read_upload(
    program: str,
    path: Path,
    arguments: Mapping[str, Any],
    *,
    owner: object,
    limits: ResourceLimits | None = None,
    files: Mapping[str, Path | bytes] | None = None,
    shared: Path | None = None,
) -> Iterator[FinishedSandboxedCall]:
    """Run a program on an uploaded file in a sandboxed process, and yield the result.

    The function also yields the working folder, which exists until the end of the
    block.

    ``owner`` is the account of the sender, a Sender object for runs, or None for the
    site's own files. By default, the limits for files of runs apply. Raises
    UploadUnreadable, or SandboxPoolFull, which the site answers with status 503.
    """
    inputs: dict[str, Path | bytes] = {UPLOAD_FILE_NAME: path, **(files or {})}
    facts: dict[str, Any] = {
        "limits": limits or build_run_reading_limits(),
        "is_ours": "runs_measures" not in arguments,
    }
    work = SandboxedFunctionCall(
        program=program, arguments=arguments, files=inputs, shared=shared, **facts
    )
    if program != PROBE_PROGRAM and (reason := find_reason_for_refusing_uploads()):
        raise turns.SandboxPoolFull(reason, retry_after=FAILED_PROBE_RETRY_SECONDS)
    sender = owner if isinstance(owner, turns.UploadSender) else None
    if owner is not None and sender is None:
        sender = turns.UploadSender(account=str(getattr(owner, "pk", owner)))
    return_connections_to_pool()
    try:
        with get_sandbox_pool().done(work, sender=sender) as done:
            yield done
    except ResourceLimitExceeded as reason:
        raise UploadUnreadable(
            _("the file could not be read within the limits of the site: %(reason)s")
            % {"reason": reason}
        ) from reason
    except SandboxedProgramFailed as reason:
        raise UploadUnreadable(str(_UPLOAD_READING_FAILED_MESSAGE)) from reason
