"""`manage.py serve` as a deployment starts it, and its processes by what they do."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE = 180.0  # seconds until something that must happen has failed to; machines may be busy

#: So short that a test need not wait; a deployment has half a minute and ten seconds.
LEASE, SWEEP = 8, 1
#: Where nobody is lost, a lease that does not run out while a busy machine lets a worker wait.
LONG = {"CITEBOARD_LEASE_SECONDS": "60"}
SHORT = {
    "CITEBOARD_LEASE_SECONDS": str(LEASE),
    "CITEBOARD_SWEEP_SECONDS": str(SWEEP),
    # As many processes as are asked for, so that a test knows whom to kill.
    "CITEBOARD_FAST_LANE": "no",
}

# What the queue writes when one of its processes begins, if everything is logged.
_SAID = {
    "worker": re.compile(r"ready for work at (\d+)"),
    "monitor": re.compile(r"monitoring at (\d+)"),
    "pusher": re.compile(r"pushing tasks at (\d+)"),
}


def until(
    condition: Callable[[], object], what: str, *, within: float = PATIENCE
) -> float:
    """Waits for it, and returns how long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < within, f"not within {within:.0f} s: {what}"
        # Some conditions look at all processes of the machine: to ask more often is to be what they wait for.
        time.sleep(0.1)
    return time.monotonic() - began


def free_port() -> int:
    """The kernel gives it to nobody else for a minute, since a connection was closed there."""
    with socket.socket() as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(("127.0.0.1", 0))
        door.listen()
        with socket.create_connection(door.getsockname()):
            door.accept()[0].close()
        return int(door.getsockname()[1])


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def kill(pid: int) -> None:
    """-9, and back when it is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not is_running(pid), f"process {pid} is gone")


def is_ready_scorer(process: psutil.Process) -> bool:
    """One that has imported what it needs, and so has bound its life to its worker's."""
    return (
        "scoring.worker.confined" in process.cmdline()
        and "numpy" in Path(f"/proc/{process.pid}/maps").read_text()
    )


class Served:
    """A running `serve`, with what it writes."""

    def __init__(
        self,
        environment: Mapping[str, str],
        log: Path,
        *,
        only: str | None = "worker",
        root: Path = ROOT,
    ) -> None:
        self.port = free_port()
        self.log = log
        self.environment = {
            **SHORT,
            "CITEBOARD_LOG_LEVEL": "DEBUG",
            **environment,
            "PORT": str(self.port),
        }
        # Workers are known by what the queue writes of them.
        self.works = (
            only != "site" and self.environment["CITEBOARD_LOG_LEVEL"] == "DEBUG"
        )
        command = [
            sys.executable,
            "manage.py",
            "serve",
            *(["--only", only] if only else []),
        ]
        with log.open("wb") as said:
            self.process = subprocess.Popen(
                command,
                cwd=root,
                env=self.environment,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_until_ready(self) -> None:
        until(
            lambda: " is ready" in self.said() or self.process.poll() is not None,
            "serve is ready",
        )
        assert self.process.poll() is None, self.said()
        if self.works:
            until(lambda: self.pid("worker") and self.scorer, "a worker is ready")

    def wait_until_whole(self) -> None:
        """Each process of the queue is there, in the place of those that were killed as well."""
        roles = ("worker", "monitor", "pusher")
        until(
            lambda: self.sentinel and all(map(self.pid, roles)) and self.scorer,
            "the queue is whole",
        )

    def _own(self, word: str) -> int | None:
        """The child of `serve` whose command has this word."""
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.NoSuchProcess):
                if word in child.cmdline():
                    return child.pid
        return None

    @property
    def leader(self) -> int | None:
        """The parent of the queue's processes."""
        return self._own("qcluster")

    @property
    def site(self) -> int | None:
        """The parent of the web processes."""
        return self._own("granian")

    @property
    def web_processes(self) -> list[int]:
        site = self.site
        return (
            []
            if site is None
            else [child.pid for child in psutil.Process(site).children()]
        )

    @property
    def sentinel(self) -> int | None:
        with suppress(psutil.NoSuchProcess):
            leader = self.leader
            children = [] if leader is None else psutil.Process(leader).children()
            return children[0].pid if children else None
        return None

    def pid(self, role: str) -> int | None:
        """The last worker, monitor or pusher that began and is there."""
        for pid in reversed(_SAID[role].findall(self.said())):
            if is_running(int(pid)) and self._belongs(int(pid)):
                return int(pid)
        return None

    def _belongs(self, pid: int) -> bool:
        with suppress(ProcessLookupError):
            return os.getpgid(pid) == self.leader
        return False

    @property
    def scorer(self) -> int | None:
        """The scorer that waits, or that works where none waits yet."""
        return next(iter(reversed(self.scorers)), None)

    @property
    def scorers(self) -> list[int]:
        worker = self.pid("worker")
        try:
            children = psutil.Process(worker).children() if worker else []
            return [child.pid for child in children if is_ready_scorer(child)]
        except (psutil.NoSuchProcess, OSError):
            return []

    def family(self) -> list[int]:
        """All processes, those of scorers as well."""
        return [
            child.pid
            for child in psutil.Process(self.process.pid).children(recursive=True)
        ]

    def stop(self) -> float:
        """SIGTERM; how long it took until nothing was left."""
        family = self.family()
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
        until(
            lambda: not [pid for pid in family if is_running(pid)],
            "everything has ended",
        )
        return time.monotonic() - began

    def destroy(self) -> None:
        """Whatever state it is in, nothing of it stays."""
        family = self.family() if self.process.poll() is None else []
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in re.findall(r"process group (\d+)", self.said()):
            with suppress(ProcessLookupError):
                os.killpg(int(pid), signal.SIGKILL)


@contextmanager
def stopped(pid: int) -> Iterator[int]:
    """A process that does not move in this block."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield pid
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
