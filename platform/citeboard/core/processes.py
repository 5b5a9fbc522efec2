"""Groups of processes that the site starts, restarts and ends together."""

import errno
import hashlib
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

MAX_RESTART_PAUSE_SECONDS = (
    10.0  # maximum seconds between two starts of a failing group
)
SESSION_CLEANUP_SECONDS = (
    2.0  # seconds in which processes may clean up after their leader has exited
)
STABLE_AFTER_SECONDS = 5.0  # seconds after which a start counts as a success

log = logging.getLogger(__name__)


class ProcessGroup:
    """A command that runs in a separate process session, so that the command can be
    ended with all its child processes.
    """

    def __init__(
        self, name: str, command: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self.name = name
        starter = [
            sys.executable,
            "-P",
            "-m",
            "citeboard.core.parent_death",
            str(os.getpid()),
        ]
        self._command = [*starter, *command]
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        #: `group_name` is a prefix of the names of all processes in a running group.
        self.group_name: str | None = None
        self._started = 0.0
        self._failures = 0
        self._was_steady = False
        self._not_before = 0.0

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def failures(self) -> int:
        return 0 if self._was_steady else self._failures

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command, env=self._environment, start_new_session=True
        )
        self.group_name = build_process_group_name(self._process.pid)
        self._started = time.monotonic()
        log.info("The %s is started as process group %s", self.name, self._process.pid)

    def start_when_due(self) -> None:
        if self._process is None and time.monotonic() >= self._not_before:
            self.start()

    def is_over(self) -> bool:
        if self._process is None:
            return True
        if self._process.poll() is None:
            return False
        log.info(
            "The %s has ended with exit code %s", self.name, self._process.returncode
        )
        until = time.monotonic() + SESSION_CLEANUP_SECONDS
        while self._signal_group(signal.SIGTERM) and time.monotonic() < until:
            time.sleep(0.05)
        self._kill_remaining_processes()
        return True

    def kill(self) -> None:
        if self._process:
            self._signal_group(signal.SIGKILL)
            self._kill_remaining_processes()

    def terminate_leader(self) -> None:
        if self._process:
            self._process.send_signal(signal.SIGTERM)

    def terminate_followers(self) -> None:
        if self._process is None:
            return
        for pid in psutil.pids():
            with suppress(ProcessLookupError, PermissionError):
                if pid != self._process.pid and os.getpgid(pid) == self._process.pid:
                    os.kill(pid, signal.SIGTERM)

    def _kill_remaining_processes(self) -> None:
        assert self._process is not None
        self._signal_group(signal.SIGKILL)
        self._process.wait()
        self._process = self.group_name = None
        seconds = time.monotonic() - self._started
        self._was_steady = self._was_steady or seconds > STABLE_AFTER_SECONDS
        self._failures = 0 if seconds > STABLE_AFTER_SECONDS else self._failures + 1
        pause = (
            min(2.0 ** (self._failures - 2), MAX_RESTART_PAUSE_SECONDS)
            if self._failures > 1
            else 0.0
        )
        self._not_before = time.monotonic() + pause

    def _signal_group(self, number: signal.Signals) -> bool:
        assert self._process is not None
        try:
            os.killpg(self._process.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True


BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")
PID_NAMESPACE_LINK = Path("/proc/self/ns/pid")
MAX_HOST_NAME_LENGTH = 32


@cache
def find_machine_name() -> str:
    """Return the name of this machine.

    The name consists of the host name and a digest of the boot id and the namespace of
    process ids.
    """
    facts = [socket.gethostname()]
    with suppress(OSError):
        facts += [
            BOOT_ID_FILE.read_text(encoding="ascii"),
            str(PID_NAMESPACE_LINK.readlink()),
        ]
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()
    return f"{facts[0][:MAX_HOST_NAME_LENGTH]}-{digest[:8]}"


def extract_host_name(name: str) -> str:
    return name.partition(":")[0].rpartition("-")[0]


def build_unique_process_name(pid: int | None = None) -> str:
    pid = pid or os.getpid()
    return f"{build_process_group_name(os.getpgid(pid))}{_build_unique_process_id(pid)}"


def build_process_group_name(group: int) -> str:
    return f"{find_machine_name()}:{_build_unique_process_id(group)}:"


def _build_unique_process_id(pid: int) -> str:
    """Return a unique name of a process, from its id and its start time.

    The process id alone is not unique, because the system reuses ids of processes that
    have exited.
    """
    try:
        # The command, the second field of `/proc/PID/stat`, may contain parentheses.
        started = (
            Path(f"/proc/{pid}/stat")
            .read_text(errors="replace")
            .rpartition(")")[2]
            .split()[19]
        )
    except OSError:
        try:
            started = f"{psutil.Process(pid).create_time():.0f}"
        except psutil.NoSuchProcess:
            started = "gone"
    return f"{pid}.{started}"


def find_port_problem(address: str, port: int) -> str | None:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as sock:
        # Like the site's server, the test ignores recently closed connections.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((address, port))
        except OSError as reason:
            if reason.errno == errno.EADDRINUSE:
                return (
                    f"Port {port} of {address} is taken, perhaps by a Citeboard that already runs. "
                    f"Stop it, or choose another port with PORT={port + 1}."
                )
            return (
                f"The site cannot listen on {address}, port {port}: {reason.strerror}."
            )
    return None
