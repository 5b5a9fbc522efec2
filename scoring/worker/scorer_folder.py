"""The folder of one scorer, locked by the process that made it.

The lock is the kernel's: it goes with its process, however that ends, and it is seen from every container of
the machine, where a process id would say nothing.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

LOCK = "lock"
NEW, LOCKED = "new-", "scorer-"
#: Nobody takes so long to lock a folder that they have made.
SAFE_AGE = 3600.0


class ScorerFolder:
    """Must be closed, which removes it; if its process is killed before, `remove_leftovers` does."""

    def __init__(self, work: Path) -> None:
        made = Path(tempfile.mkdtemp(prefix=NEW, dir=work))
        self._lock = (made / LOCK).open("wb")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = made.rename(work / f"{LOCKED}{made.name.removeprefix(NEW)}")

    def close(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def remove_leftovers(work: Path) -> int:
    """Folders whose process is gone; returns how many."""
    return sum(_remove_if_left(folder) for folder in work.glob(f"{LOCKED}*")) + sum(
        _remove_if_old(folder) for folder in work.glob(f"{NEW}*")
    )


def _remove_if_left(folder: Path) -> bool:
    # Whoever closes a folder may remove it first, and some file systems know no locks.
    with suppress(OSError), (folder / LOCK).open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
        return True
    return False


def _remove_if_old(folder: Path) -> bool:
    with suppress(OSError):
        if folder.stat().st_mtime < time.time() - SAFE_AGE:
            shutil.rmtree(folder, ignore_errors=True)
            return True
    return False
