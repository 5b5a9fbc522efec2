"""Test the resources that a sandboxed process can still reach.

`python -P -m citeboard.core.confined.probe CONFINEMENT_MECHANISMS...` confines itself to its working
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
    CONFINEMENT_MECHANISMS,
    SandboxRights,
    filter_system_calls,
    restrict_file_access,
    switch_to_nobody_user,
)

#: A sandboxed process must not reach other files, the network, processes or IPC.
#: A site that requires confinement reads no uploads if a sandbox fails the probe.
#: PROBED_FORBIDDEN_FILE is a file outside the sandbox, which the probe tries to read.
REQUIRED_PROTECTION_NAMES = ("files", "network", "processes", "ipc")
PROBED_FORBIDDEN_FILE = "/etc/passwd"
_SHMGET_CALL_NUMBERS_BY_MACHINE = {"x86_64": 29, "aarch64": 194}
REPOSITORY_FOLDER = Path(__file__).resolve().parents[3]


def test_protections(facts: Mapping[str, Any]) -> dict[str, bool]:
    return {
        "files": _raises_os_error(lambda: Path(facts["file"]).read_bytes()),
        "network": _raises_os_error(lambda: socket.socket().close()),
        "processes": _raises_os_error(_start_process),
        "ipc": _raises_os_error(_create_shared_memory),
        "superuser": os.geteuid() != 0,
    }


def find_reachable_resources(
    means: Collection[str] = CONFINEMENT_MECHANISMS,
) -> list[str]:
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
        "PYTHONPATH": str(REPOSITORY_FOLDER),
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
        return list(REQUIRED_PROTECTION_NAMES)
    return [name for name in REQUIRED_PROTECTION_NAMES if not is_closed[name]]


def _raises_os_error(act: Callable[[], object]) -> bool:
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


def _create_shared_memory() -> None:
    number = _SHMGET_CALL_NUMBERS_BY_MACHINE.get(os.uname().machine)
    libc = ctypes.CDLL(None, use_errno=True)
    if number is None or libc.syscall(number, 0, ctypes.c_size_t(4096), 0o600) < 0:
        raise OSError(ctypes.get_errno(), "shmget")


def main() -> None:
    rights, means = (
        SandboxRights(readable=[REPOSITORY_FOLDER], writable=[Path()]),
        sys.argv[1:],
    )
    if means:
        restrict_file_access(rights, means)
    switch_to_nobody_user()
    if means:
        filter_system_calls(rights, means)
    sys.stdout.write(json.dumps(test_protections({"file": PROBED_FORBIDDEN_FILE})))


if __name__ == "__main__":
    main()
