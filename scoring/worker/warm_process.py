"""A scorer that waits, ready, for the next run: starting one takes longer than scoring a small run.

Each run still has a process of its own. Only workers of the queue keep one waiting; elsewhere a scorer is
started when it is needed.
"""

from __future__ import annotations

from contextlib import suppress

from django.conf import settings

from citeboard.core.confined.limits import Limits
from scoring.worker.child import Scorer, ScorerWaits
from scoring.worker.local_copies import storage_in_use, work_folder
from tasks.models import Task

#: The largest file that a scoring may write.
MAX_FILE_MB = 1024

_is_worker = False
_waiting: Scorer | None = None


def begin_work() -> None:
    """From now on this process keeps a scorer waiting."""
    global _is_worker  # noqa: PLW0603  (a process is a worker or is none)
    _is_worker = True
    prepare()


def prepare() -> None:
    """Start the next scorer ahead of its run. If that fails, the run will say so when it comes."""
    global _waiting  # noqa: PLW0603  (there is one of them in a process)
    if _is_worker and _waiting is None:
        with suppress(ScorerWaits):
            _waiting = _started()


def scorer() -> Scorer:
    """The one that waits, unless it died meanwhile; the caller closes it."""
    global _waiting
    taken, _waiting = _waiting, None
    if taken is not None and taken.is_ready:
        return taken
    if taken is not None:
        taken.close()
    return _started()


def limits_for(task: Task) -> Limits:
    """Those of the task, and never more than those of this machine."""
    seconds = min(task.max_seconds or settings.SCORING_TIMEOUT, settings.SCORING_TIMEOUT)
    return Limits(
        cpu_seconds=seconds,
        # On a busy machine a second of computing takes longer, which is not the run's fault.
        wall_seconds=2 * seconds,
        memory_mb=min(task.max_memory_mb or settings.SCORING_MEMORY_MB, settings.SCORING_MEMORY_MB),
        file_mb=MAX_FILE_MB,
    )


def _started() -> Scorer:
    with storage_in_use():
        return Scorer(work_folder())
