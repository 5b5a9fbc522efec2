"""Work done in confined processes: so much at once, and never all of it for one account."""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from citeboard.core.confined import limits as ends
from citeboard.core.confined.fork_server import BEGAN, OUT_OF_TIME, RESULT, SAID
from citeboard.core.confined.limits import MEGABYTE, Limits
from citeboard.core.confined.rights import NOBODY

#: So much of what a program said is logged when it failed.
MAX_LOGGED = 4000
#: Seconds that a request waits for its turn, and until it may come back after it got none.
PATIENCE, RETRY_AFTER = 5.0, 5
#: So many requests for each place are answered or wait; a web process needs more threads than that.
PRESENT_PER_PLACE = 4
SAFE_AGE = 3600.0  # seconds
#: A process that failed with less room than this on the disk failed for want of it.
LEAST_FREE = MEGABYTE
_FILE_MODE, _FOLDER_MODE = 0o644, 0o711

log = logging.getLogger(__name__)


class PoolFull(Exception):
    retry_after = RETRY_AFTER
    is_upload = True

    def __init__(self, *, by_owner: bool) -> None:
        self.by_owner = by_owner
        super().__init__(
            "another file of yours is still being read; please send this one again in a few seconds"
            if by_owner
            else "many files are being read just now; please send yours again in a few seconds"
        )


class LimitExceeded(Exception):
    """The program needed more than it may have; the message says what, as a clause."""


class ProgramFailed(Exception):
    """The program ended by a fault of its own or was ended by someone; the log says how."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """A function, named MODULE:FUNCTION, its arguments as JSON values, and the files it is given by name.

    The function sees the folder of the files as its working folder, may write there, and returns JSON values.
    ``shared`` is a JSON file of ours that many pieces of work need, which the function gets as it is read.
    """

    program: str
    arguments: Mapping[str, Any]
    limits: Limits
    files: Mapping[str, Path | bytes] = field(default_factory=dict)
    shared: Path | None = None


@dataclass(frozen=True)
class Done:
    result: Any
    folder: Path

    def file(self, name: str) -> Path:
        path = self.folder / name
        try:
            is_file = stat.S_ISREG(path.lstat().st_mode)
        except FileNotFoundError:
            is_file = False
        if not is_file:
            raise ProgramFailed(f"the process left no file {name}")
        return path


class Pool:
    """At most ``size`` processes at once, and for one owner at most all but one of them.

    Some more requests may wait for a few seconds, and they are never all of one owner's either.
    """

    def __init__(self, *, size: int, work_folder: Path, setup: Setup) -> None:
        self._size = size
        self._folder = work_folder
        self._setup = setup
        self._server: ForkServer | None = None
        self._starting = threading.Lock()
        self._is_closed = False
        self._turn = threading.Condition()
        self._busy = 0
        self._present: Counter[str] = Counter()
        self._running: Counter[str] = Counter()

    def warm(self) -> None:
        self._ready_server()

    def close(self) -> None:
        with self._starting:
            self._is_closed = True
            if self._server is not None:
                self._server.close()
                self._server = None

    @contextmanager
    def done(self, work: Work, *, owner: str | None = None) -> Iterator[Done]:
        """The work's result, and its folder as long as the block lasts."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=self._folder))
        try:
            with self._place(owner):
                for name, source in work.files.items():
                    if isinstance(source, bytes):
                        (folder / name).write_bytes(source)
                    else:
                        shutil.copyfile(source, folder / name)
                    (folder / name).chmod(_FILE_MODE)
                folder.chmod(_FOLDER_MODE)
                if os.geteuid() == 0:
                    os.chown(folder, NOBODY, NOBODY)
                code = self._run(work, folder)
            yield Done(_result(code, folder, work), folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _place(self, owner: str | None) -> Iterator[None]:
        name = owner or ""
        share = max(1, self._size - 1)
        with self._turn:
            if owner is not None and self._present.total() >= PRESENT_PER_PLACE * self._size:
                raise PoolFull(by_owner=False)
            if owner is not None and self._present[name] >= (PRESENT_PER_PLACE - 1) * self._size:
                raise PoolFull(by_owner=True)
            self._present[name] += 1
            patience = None if owner is None else PATIENCE
            is_free = self._turn.wait_for(
                lambda: self._busy < self._size and (owner is None or self._running[name] < share), patience
            )
            if not is_free:
                self._present[name] -= 1
                raise PoolFull(by_owner=self._busy < self._size)
            self._busy += 1
            self._running[name] += 1
            self._turn.notify_all()
        try:
            yield
        finally:
            with self._turn:
                self._busy -= 1
                self._running[name] -= 1
                self._present[name] -= 1
                self._turn.notify_all()

    def _run(self, work: Work, folder: Path) -> int | None:
        for is_last in (False, True):
            server = self._ready_server()
            try:
                return server.run(
                    work.program, work.arguments, folder=folder, shared=work.shared, limits=work.limits
                )
            except ServerLost:
                log.warning("The fork server %s is lost", server.pid)
                self._replace(server)
                if is_last:
                    raise ProgramFailed("the process could not be started") from None
        return None

    def _ready_server(self) -> ForkServer:
        with self._starting:
            if self._is_closed:
                raise ProgramFailed("the pool is closed")
            if self._server is not None and not self._server.is_usable:
                self._server.close()
                self._server = None
            if self._server is None:
                # Folders of work whose process was killed, by an age that no work reaches.
                for folder in self._folder.glob("*-*"):
                    with suppress(OSError):
                        if folder.stat().st_mtime < time.time() - SAFE_AGE:
                            shutil.rmtree(folder, ignore_errors=True)
                self._server = ForkServer(self._setup)
            return self._server

    def _replace(self, lost: ForkServer) -> None:
        with self._starting:
            if self._server is lost:
                self._server = None
                lost.close()


def _result(code: int | None, folder: Path, work: Work) -> Any:
    bounds = work.limits
    exceeded = {
        None: f"it took more than {bounds.wall_seconds:g} s",
        -signal.SIGXCPU: f"it took more than {bounds.cpu_seconds} s of computing",
        ends.OUT_OF_MEMORY: f"it needed more than {bounds.memory_mb} MB of memory",
        ends.FILE_TOO_LARGE: f"it wrote a file of more than {bounds.file_mb} MB",
    }
    if code in exceeded:
        raise LimitExceeded(exceeded[code])
    if code != 0 and shutil.disk_usage(folder).free < LEAST_FREE:
        raise OSError(errno.ENOSPC, "no room was left to read the file", str(folder))
    if code != 0:
        log.error(
            "%s ended with %s: %s",
            work.program,
            code,
            _read(folder / SAID, MAX_LOGGED).decode(errors="replace"),
        )
        raise ProgramFailed(f"the process ended with {code}")
    try:
        return json.loads(_read(folder / RESULT, bounds.file_mb * MEGABYTE))
    except (OSError, ValueError, RecursionError) as fault:
        raise ProgramFailed("the process left no result") from fault


def _read(path: Path, length: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path.name} is no file")
        return file.read(length)


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
    """``path`` is where modules are found, ``readable`` the folders of it that stay open to a program."""

    path: Sequence[Path]
    readable: Sequence[Path]
    preload: Sequence[str]
    uses_kernel: bool = True


class ForkServer:
    def __init__(self, setup: Setup) -> None:
        ours, theirs = socket.socketpair()
        self._orders = ours
        self._sending = threading.Lock()
        self._owner = os.getpid()
        facts = {
            "preload": list(setup.preload),
            "readable": [str(folder) for folder in setup.readable],
            "uses_kernel": setup.uses_kernel,
        }
        with theirs:
            self._process = subprocess.Popen(
                [*COMMAND, json.dumps(facts), str(theirs.fileno())],
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
    line.settimeout(seconds)
    word = b""
    with suppress(OSError):
        while byte := line.recv(1):
            if byte == b"\n":
                return word.decode()
            word += byte
    return ""


def environment(path: Sequence[Path]) -> dict[str, str]:
    return {
        "LANG": "C.UTF-8",
        "PATH": os.defpath,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(str(folder) for folder in path),
        **dict.fromkeys(SINGLE_THREADED, "1"),
    }
