"""Which process this is, in a name that no process has on another machine, in a container or after a boot."""

from __future__ import annotations

import hashlib
import os
import socket
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

BOOT = Path("/proc/sys/kernel/random/boot_id")
NAMESPACE = Path("/proc/self/ns/pid")
MAX_HOST = 32


@cache
def machine() -> str:
    """The host with a digest of its boot and of the namespace in which process ids count."""
    known = [socket.gethostname()]
    with suppress(OSError):
        known += [BOOT.read_text(encoding="ascii"), str(NAMESPACE.readlink())]
    digest = hashlib.sha256("\n".join(known).encode()).hexdigest()
    return f"{known[0][:MAX_HOST]}-{digest[:8]}"


def host_of(name: str) -> str:
    """The host in the name of a process or a group."""
    return name.partition(":")[0].rpartition("-")[0]


def process_name(pid: int | None = None) -> str:
    """Of this process or another one of its group: the group's name first."""
    pid = pid or os.getpid()
    return f"{group_name(os.getpgid(pid))}{_told_apart(pid)}"


def group_name(group: int) -> str:
    """How the names begin of all processes in a process group."""
    return f"{machine()}:{_told_apart(group)}:"


def _told_apart(pid: int) -> str:
    """A process id is given again; with the moment of its start, in ticks since the boot, it is not."""
    try:
        # The second field is the command, in brackets, and may hold anything.
        started = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except OSError:
        started = _started_without_proc(pid)
    return f"{pid}.{started}"


def _started_without_proc(pid: int) -> str:
    try:
        return f"{psutil.Process(pid).create_time():.0f}"
    except psutil.NoSuchProcess:
        return "gone"
