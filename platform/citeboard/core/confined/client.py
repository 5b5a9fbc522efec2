"""The other end of a fork server: starting it, giving it work, and ending it when it answers no more."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from citeboard.core.confined.fork_server import BEGAN, OUT_OF_TIME
from citeboard.core.confined.limits import Limits

COMMAND = (sys.executable, "-P", "-s", "-m", "citeboard.core.confined.fork_server")
#: Seconds in which a server must begin what it is given, its own start and a file it shares included.
MAX_SILENCE = 20.0
#: Seconds after the end of a process's time in which its server must have said so.
GRACE = 5.0
#: One processor for each process, so that none gets into the way of another.
SINGLE_THREADED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class ServerLost(Exception):
    """The server was gone or did not answer; a new one may do the same work."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """``path`` is where modules are found, ``readable`` the folders of it that stay open to a program.

    ``preload`` is imported before the first work. Without ``uses_kernel`` limits alone hold a process, for
    kernels that break a program otherwise.
    """

    path: Sequence[Path]
    readable: Sequence[Path]
    preload: Sequence[str]
    uses_kernel: bool = True


class ForkServer:
    """One server process, started at once; it gets ready by itself while nobody waits for it."""

    def __init__(self, setup: Setup) -> None:
        ours, theirs = socket.socketpair()
        self._orders = ours
        self._sending = threading.Lock()
        self._owner = os.getpid()
        given = {
            "preload": list(setup.preload),
            "readable": [str(folder) for folder in setup.readable],
            "uses_kernel": setup.uses_kernel,
        }
        with theirs:
            self._process = subprocess.Popen(
                [*COMMAND, json.dumps(given), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                cwd="/",
                env=environment(setup.path),
                pass_fds=[theirs.fileno()],
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        """It runs and is ours: a process that was forked must not talk over the socket of its parent."""
        return self._owner == os.getpid() and self._process.poll() is None

    def run(
        self, program: str, arguments: Mapping[str, Any], *, folder: Path, shared: Path | None, limits: Limits
    ) -> int | None:
        """The exit code of a process that did this in the folder; None where it ran out of time.

        Raises ServerLost.
        """
        order = {
            "program": program,
            "arguments": arguments,
            "shared": None if shared is None else str(shared),
            "limits": asdict(limits),
        }
        message = json.dumps(order).encode()
        line, theirs = socket.socketpair()
        with line:
            with theirs, _opened(folder) as descriptor, self._sending:
                try:
                    self._orders.settimeout(MAX_SILENCE)
                    socket.send_fds(
                        self._orders, [len(message).to_bytes(4, "big")], [theirs.fileno(), descriptor]
                    )
                    self._orders.sendall(message)
                except OSError as gone:
                    raise ServerLost("the server takes no work") from gone
            if _heard(line, MAX_SILENCE) != BEGAN:
                raise ServerLost("the server did not begin")
            how = _heard(line, limits.wall_seconds + GRACE)
        if not how:
            raise ServerLost("the server did not say how the work ended")
        return None if how == OUT_OF_TIME else int(how)

    def close(self) -> None:
        """End it with all that it has under way, if it is ours to end."""
        self._orders.close()
        if self._owner == os.getpid():
            self._process.kill()
            self._process.wait()


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _heard(line: socket.socket, seconds: float) -> str:
    """The next word of the server, byte by byte since two may come at once; empty where none comes."""
    line.settimeout(seconds)
    word = b""
    with suppress(OSError):
        while byte := line.recv(1):
            if byte == b"\n":
                return word.decode()
            word += byte
    return ""


def environment(path: Sequence[Path]) -> dict[str, str]:
    """All that a server and its processes are told of the machine."""
    return {
        "LANG": "C.UTF-8",
        "PATH": os.defpath,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(str(folder) for folder in path),
        **dict.fromkeys(SINGLE_THREADED, "1"),
    }
