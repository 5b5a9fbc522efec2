"""Resource limits of a process, which the kernel enforces.

A process without privileges can lower but not raise its hard limits.
"""

import errno
import math
import resource
import signal
import sys
from dataclasses import dataclass

MEGABYTE = 1 << 20
#: A sandboxed process reports a failure with an exit code, such as PROGRAM_ERROR_EXIT_CODE.
PROGRAM_ERROR_EXIT_CODE = 1
OUT_OF_MEMORY_EXIT_CODE = 3
FILE_TOO_LARGE_EXIT_CODE = 4
NO_SPACE_EXIT_CODE = 5

_EXIT_CODES_BY_ERRNO = {
    errno.EFBIG: FILE_TOO_LARGE_EXIT_CODE,
    errno.ENOSPC: NO_SPACE_EXIT_CODE,
    errno.EDQUOT: NO_SPACE_EXIT_CODE,
}
_PRCTL_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>


@dataclass(frozen=True, kw_only=True)
class ResourceLimits:
    """Resource limits of one process.

    ``max_files`` limits the open files of the process. ``total_files`` and ``total_mb``
    limit the files in the working folder. The program runs in ``steps`` steps, and each
    step may use ``cpu_seconds`` and ``wall_seconds``.
    """

    cpu_seconds: int
    wall_seconds: float
    memory_mb: int
    file_mb: int
    total_mb: int | None = None
    total_files: int | None = None
    max_files: int | None = None
    max_processes: int | None = None
    steps: int = 1


def apply_resource_limits(limits: ResourceLimits) -> None:
    memory, file_size = limits.memory_mb * MEGABYTE, limits.file_mb * MEGABYTE
    _set_resource_limit(resource.RLIMIT_AS, memory, memory)
    # At the soft limit the kernel sends SIGXCPU, which shows the parent the reason.
    # At the hard limit the kernel sends SIGKILL, which the process cannot catch.
    _set_resource_limit(
        resource.RLIMIT_CPU, limits.cpu_seconds, limits.steps * limits.cpu_seconds + 5
    )
    _set_resource_limit(resource.RLIMIT_FSIZE, file_size, file_size)
    _set_resource_limit(resource.RLIMIT_CORE, 0, 0)
    if limits.max_files is not None:
        _set_resource_limit(resource.RLIMIT_NOFILE, limits.max_files, limits.max_files)
    if limits.max_processes is not None:
        _set_resource_limit(
            resource.RLIMIT_NPROC, limits.max_processes, limits.max_processes
        )


def renew_cpu_limit(limits: ResourceLimits) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    _set_resource_limit(
        resource.RLIMIT_CPU,
        math.ceil(used.ru_utime + used.ru_stime) + limits.cpu_seconds,
        hard,
    )


def _set_resource_limit(kind: int, soft: int, hard: int) -> None:
    allowed = resource.getrlimit(kind)[1]
    ceiling = sys.maxsize if allowed == resource.RLIM_INFINITY else allowed
    resource.setrlimit(kind, (min(soft, ceiling), min(hard, ceiling)))


def choose_exit_code(error: BaseException) -> int | None:
    if isinstance(error, MemoryError):
        return OUT_OF_MEMORY_EXIT_CODE
    return (
        _EXIT_CODES_BY_ERRNO.get(error.errno or 0)
        if isinstance(error, OSError)
        else None
    )


def signal_process_on_parent_exit(number: signal.Signals = signal.SIGKILL) -> None:
    """Let the kernel send a signal to this process when its parent thread exits.

    Only Linux supports a signal at the exit of the parent thread.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PRCTL_SET_PARENT_DEATH_SIGNAL, int(number))
