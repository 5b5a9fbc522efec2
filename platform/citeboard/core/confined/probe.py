"""Test the resources that a sandboxed process can still reach.

`python -P -m citeboard.core.confined.probe MEANS...` confines itself to its working
folder with the named kernel mechanisms, tries to reach each resource, and prints the
results as JSON.
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

#: A sandboxed process must not reach other files, the network, processes or IPC.
#: A site that requires confinement reads no uploads if a sandbox fails the probe.
#: FILE is a file outside the sandbox, which the probe tries to read.
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
    """Return the resources that a sandboxed process on this machine can still reach.

    If the test fails to run, the function returns all resources.
    """
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
        is_closed: dict[str, bool] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return list(NEEDED)
    return [name for name in NEEDED if not is_closed[name]]


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
