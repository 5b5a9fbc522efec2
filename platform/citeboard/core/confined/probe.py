"""A test of what a confined process can still do.

`python -P -m citeboard.core.confined.probe MEANS...` gives up what these means of the kernel let it, in the
folder where it stands, and prints what it found.
"""

import ctypes
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from citeboard.core.confined.rights import (
    MEANS,
    Rights,
    become_nobody,
    give_up_calls,
    give_up_files,
)

#: No upload is read where one of these stays open and confinement is required; a file of the machine's own.
NEEDED = ("files", "network", "processes", "ipc")
FILE = "/etc/passwd"
_SHMGET = {"x86_64": 29, "aarch64": 194}
ROOT = Path(__file__).resolve().parents[3]


def attempt(facts: Mapping[str, Any]) -> dict[str, bool]:
    return {
        "files": _is_refused(lambda: Path(facts["file"]).read_bytes()),
        "network": _is_refused(lambda: socket.socket().close()),
        "processes": _is_refused(_start_process),
        "ipc": _is_refused(_share_memory),
        "superuser": os.geteuid() != 0,
    }


def self_test(means: Collection[str] = MEANS) -> list[str]:
    """Return what a confined process of this machine can still reach; everything if none starts."""
    command = [
        sys.executable,
        "-P",
        "-s",
        "-m",
        "citeboard.core.confined.probe",
        *means,
    ]
    clean = {
        "PATH": os.defpath,
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                command,
                cwd=folder,
                env=clean,
                capture_output=True,
                timeout=60,
                check=True,
            )
        told: dict[str, bool] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return list(NEEDED)
    return [name for name in NEEDED if not told[name]]


def _is_refused(act: Callable[[], object]) -> bool:
    try:
        act()
    except OSError:
        return True
    return False


def _start_process() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _share_memory() -> None:
    number = _SHMGET.get(os.uname().machine)
    libc = ctypes.CDLL(None, use_errno=True)
    if number is None or libc.syscall(number, 0, ctypes.c_size_t(4096), 0o600) < 0:
        raise OSError(ctypes.get_errno(), "shmget")


def main() -> None:
    rights, means = Rights(readable=[ROOT], writable=[Path()]), sys.argv[1:]
    if means:
        give_up_files(rights, means)
    become_nobody()
    if means:
        give_up_calls(rights, means)
    sys.stdout.write(json.dumps(attempt({"file": FILE})))


if __name__ == "__main__":
    main()
