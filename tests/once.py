"""Files that one process of a test run makes and all of its processes read."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder of the run that ``make`` has filled; the first process that asks for it calls ``make``.

    A folder that ``make`` left unfinished is made anew by the next that asks.
    """
    folder = Path(os.environ["CITEBOARD_TEST_ROOT"]) / "made" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    finished = folder.with_name(f"{name}.finished")
    with folder.with_name(f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not finished.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            finished.touch()
    return folder
