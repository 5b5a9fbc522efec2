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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from citeboard.core.confined import limits as ends
from citeboard.core.confined.fork_server import (
    OUT_OF_TIME_MESSAGE,
    OUTPUT_FILE_NAME,
    RESULT_FILE_NAME,
    WORK_BEGAN_MESSAGE,
)
from citeboard.core.confined.left_folders import remove_folder
from citeboard.core.confined.limits import MEGABYTE, ResourceLimits
from citeboard.core.confined.rights import CONFINEMENT_MECHANISMS, NOBODY_USER_ID
from citeboard.core.confined.turns import (
    SandboxPoolFull,
    UploadReadQueue,
    UploadReadRequest,
    UploadSender,
)

#: The log contains at most MAX_LOGGED_CHARACTERS characters of a failed program's output.
MAX_LOGGED_CHARACTERS = 4000
STALE_FOLDER_SECONDS = 3600.0  # seconds
#: A program's failure is due to a full disk if fewer than MIN_FREE_BYTES bytes are free.
MIN_FREE_BYTES = MEGABYTE
_INPUT_FILE_MODE, _WORK_FOLDER_MODE = 0o644, 0o711

log = logging.getLogger(__name__)


class ResourceLimitExceeded(Exception):
    """A program exceeded a resource limit. The message of the exception names the
    limit.
    """


class SandboxedProgramFailed(Exception):
    """A sandboxed program failed or was killed. The log contains the reason."""


@dataclass(frozen=True, kw_only=True)
class SandboxedFunctionCall:
    """A function to run in a sandboxed process.

    ``program`` names the function as MODULE:FUNCTION. The arguments and the result of
    the function are JSON values. The function runs in a working folder with copies of
    ``files``, and may write to this folder. ``shared`` is a JSON file of the site,
    which the fork server parses once and passes to the function. If ``is_ours`` is
    False, the log omits the program's output.
    """

    program: str
    arguments: Mapping[str, Any]
    limits: ResourceLimits
    files: Mapping[str, Path | bytes] = field(default_factory=dict)
    shared: Path | None = None
    is_ours: bool = True


@dataclass(frozen=True)
class FinishedSandboxedCall:
    result: Any
    folder: Path

    def file(self, name: str) -> Path:
        path = self.folder / name
        try:
            is_file = stat.S_ISREG(path.lstat().st_mode)
        except FileNotFoundError:
            is_file = False
        if not is_file:
            raise SandboxedProgramFailed(f"the process left no file {name}")
        return path


class SandboxPool:
    def __init__(
        self,
        *,
        size: int,
        work_folder: Path,
        setup: "ForkServerSetup",
        hourly_seconds: float = float("inf"),
    ) -> None:
        self.turns = UploadReadQueue(size, hourly_seconds)
        self._folder = work_folder
        self._setup = setup
        self._server: ForkServer | None = None
        self._starting = threading.Lock()
        self._is_closed = False

    def start_server(self) -> None:
        self._start_server_if_needed()

    def close(self) -> None:
        with self._starting:
            self._is_closed = True
            if self._server is not None:
                self._server.close()
                self._server = None

    @contextmanager
    def done(
        self, work: SandboxedFunctionCall, *, sender: UploadSender | None = None
    ) -> Iterator[FinishedSandboxedCall]:
        """Run the work in a sandboxed process, and yield the result.

        The working folder exists until the end of the block.
        """
        self._folder.mkdir(mode=0o700, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=self._folder))
        try:
            with self.turns.turn(sender) as turn:
                for name, source in work.files.items():
                    if isinstance(source, bytes):
                        (folder / name).write_bytes(source)
                    else:
                        shutil.copyfile(source, folder / name)
                    (folder / name).chmod(_INPUT_FILE_MODE)
                folder.chmod(_WORK_FOLDER_MODE)
                if os.geteuid() == 0:
                    os.chown(folder, NOBODY_USER_ID, NOBODY_USER_ID)
                code = self._run_on_fork_server(work, folder, turn)
                if (
                    code is None
                    and sender is not None
                    and sender.submits
                    and sender.gives_way
                ):
                    # A background job reads the file later, with a longer time limit.
                    raise SandboxPoolFull
            yield FinishedSandboxedCall(_read_result(code, folder, work), folder)
        finally:
            # On a busy machine, the folder can outlast the first removal.
            for pause in (0, 0.01, 0.1, 1):
                time.sleep(pause)
                remove_folder(folder)
                if not folder.exists():
                    break

    def _run_on_fork_server(
        self, work: SandboxedFunctionCall, folder: Path, turn: UploadReadRequest
    ) -> int | None:
        for is_last in (False, True):
            server = self._start_server_if_needed()
            began = time.monotonic()
            try:
                code, seconds = server.run(work, folder, turn)
            except ForkServerLost:
                if turn.is_over:
                    self.turns.record_processor_seconds(turn, time.monotonic() - began)
                    return None
                log.warning("The fork server %s is lost", server.pid)
                with self._starting:
                    server.close()
                if is_last:
                    # The pool counts as full if the second fork server is lost too.
                    # An overloaded machine may not start a process in time.
                    raise SandboxPoolFull from None
            else:
                self.turns.record_processor_seconds(turn, seconds)
                return code
        return None

    def _start_server_if_needed(self) -> "ForkServer":
        with self._starting:
            if self._is_closed:
                raise SandboxedProgramFailed("the pool is closed")
            if self._server is not None and not self._server.is_usable:
                self._server.close()
                self._server = None
            if self._server is None:
                # Folders older than any running work belong to killed processes.
                for folder in self._folder.glob("*-*"):
                    with suppress(OSError):
                        if folder.stat().st_mtime < time.time() - STALE_FOLDER_SECONDS:
                            remove_folder(folder)
                variables = build_process_environment(self._setup.path)
                self._server = ForkServer(
                    self._setup.command, {**variables, **self._setup.variables}
                )
            return self._server


def _read_result(code: int | None, folder: Path, work: SandboxedFunctionCall) -> Any:
    bounds = work.limits
    exceeded = {
        None: f"it took more than {bounds.wall_seconds:g} s",
        -signal.SIGXCPU: f"it took more than {bounds.cpu_seconds} s of computing",
        ends.OUT_OF_MEMORY_EXIT_CODE: f"it needed more than {bounds.memory_mb} MB of memory",
        ends.FILE_TOO_LARGE_EXIT_CODE: f"it wrote a file of more than {bounds.file_mb} MB",
    }
    if code in exceeded:
        raise ResourceLimitExceeded(exceeded[code])
    if code != 0 and shutil.disk_usage(folder).free < MIN_FREE_BYTES:
        raise OSError(errno.ENOSPC, "no room was left to read the file", str(folder))
    if code != 0:
        words = (
            _read_regular_file(folder / OUTPUT_FILE_NAME, MAX_LOGGED_CHARACTERS).decode(
                errors="replace"
            )
            if work.is_ours
            else "(not ours)"
        )
        log.error("%s ended with %s: %s", work.program, code, words)
        raise SandboxedProgramFailed(f"the process ended with {code}")
    try:
        return json.loads(
            _read_regular_file(folder / RESULT_FILE_NAME, bounds.file_mb * MEGABYTE)
        )
    except (OSError, ValueError, RecursionError) as fault:
        raise SandboxedProgramFailed("the process left no result") from fault


def _read_regular_file(path: Path, length: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path.name} is no file")
        return file.read(length)


FORK_SERVER_COMMAND = (
    sys.executable,
    "-P",
    "-s",
    "-m",
    "citeboard.core.confined.fork_server",
)
#: A fork server must start and begin the work of an order within MAX_FORK_SERVER_SILENCE_SECONDS seconds.
MAX_FORK_SERVER_SILENCE_SECONDS = 20.0
#: A server that computes less than MIN_FORK_SERVER_CPU_SECONDS in MAX_FORK_SERVER_SILENCE_SECONDS is stuck.
MIN_FORK_SERVER_CPU_SECONDS = 0.05
#: The fork server must report a timeout of a process within TIMEOUT_GRACE_SECONDS seconds.
TIMEOUT_GRACE_SECONDS = 5.0
#: The pool checks the files that a program writes every POLL_SECONDS seconds.
POLL_SECONDS = 0.2
#: Numerical libraries use one thread, so that processes do not compete for processors.
THREAD_COUNT_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


class ForkServerLost(Exception):
    """The fork server exited or did not respond.

    The work can be repeated in a new fork server.
    """


@dataclass(frozen=True, kw_only=True)
class ForkServerSetup:
    """The configuration of a fork server.

    ``path`` is the server's search path for Python modules. Programs can read only the
    ``readable`` folders.
    """

    path: Sequence[Path]
    readable: Sequence[Path]
    preload: Sequence[str]
    #: `means` names the kernel mechanisms of the sandbox.
    #: If `means` is empty, only resource limits confine programs.
    means: Sequence[str] = CONFINEMENT_MECHANISMS
    #: `variables` contains additional environment variables of the fork server.
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def command(self) -> list[str]:
        readable = [str(folder) for folder in self.readable]
        facts = {
            "preload": list(self.preload),
            "readable": readable,
            "means": list(self.means),
        }
        return [*FORK_SERVER_COMMAND, json.dumps(facts)]


class ForkServer:
    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.command, self.environment = tuple(command), dict(environment)
        ours, theirs = socket.socketpair()
        self._orders = ours
        self._sending = threading.Lock()
        self._owner = os.getpid()
        with theirs:
            end = theirs.fileno()
            self._process = subprocess.Popen(
                [*command, str(end)],
                stdin=subprocess.DEVNULL,
                cwd="/",
                env=self.environment,
                pass_fds=[end],
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        return self._owner == os.getpid() and self._process.poll() is None

    def run(
        self, work: SandboxedFunctionCall, folder: Path, turn: UploadReadRequest
    ) -> tuple[int | None, float]:
        """Run the work, and return its exit code and its processor seconds.

        The exit code is None after a timeout. Raises ForkServerLost if the fork server
        exits or does not respond.
        """
        facts: dict[str, Any] = {
            "shared": work.shared,
            "limits": work.limits,
            "behind": turn.behind,
        }
        with self.start_program(
            work.program, work.arguments, folder=folder, **facts
        ) as line:
            turn.line = line
            if turn.is_over:
                raise ForkServerLost("another is to be read first")
            word, _, process = self._receive_end_message(line).partition(" ")
            if word != WORK_BEGAN_MESSAGE:
                raise ForkServerLost("the server did not begin")
            written = WrittenFilesMonitor(folder, work.limits, int(process))
            said = receive_message(
                line, work.limits.wall_seconds + TIMEOUT_GRACE_SECONDS, written
            )
        how, _, seconds = said.rpartition(" ")
        if not how:
            raise ForkServerLost("the server did not say how the work ended")
        return None if how == OUT_OF_TIME_MESSAGE else int(how), float(seconds)

    def _receive_end_message(self, line: socket.socket) -> str:
        computed = -1.0
        while True:
            began = time.monotonic()
            word = receive_message(line, MAX_FORK_SERVER_SILENCE_SECONDS)
            # An empty message before the timeout means that the server disconnected.
            if word or time.monotonic() - began < MAX_FORK_SERVER_SILENCE_SECONDS:
                return word
            before, computed = computed, self._measure_processor_seconds()
            if computed < before + MIN_FORK_SERVER_CPU_SECONDS:
                return ""

    def _measure_processor_seconds(self) -> float:
        try:
            times = psutil.Process(self._process.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def start_program(
        self,
        program: str,
        arguments: Mapping[str, Any],
        *,
        folder: Path,
        limits: ResourceLimits,
        shared: Path | None = None,
        behind: int = 0,
    ) -> socket.socket:
        """Start a program, and return the socket on which the server reports its end.

        The server also reports the start of the program. A client that closes the
        socket ends the program.
        """
        order = {"program": program, "arguments": arguments, "behind": behind}
        order |= {"shared": shared and str(shared), "limits": asdict(limits)}
        message = json.dumps(order).encode()
        line, theirs = socket.socketpair()
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        with theirs, self._sending:
            try:
                self._orders.settimeout(MAX_FORK_SERVER_SILENCE_SECONDS)
                socket.send_fds(
                    self._orders,
                    [len(message).to_bytes(4)],
                    [theirs.fileno(), descriptor],
                )
                self._orders.sendall(message)
            except OSError as gone:
                line.close()
                raise ForkServerLost("the server takes no work") from gone
            finally:
                os.close(descriptor)
        return line

    def close(self) -> None:
        self._orders.close()
        if self._owner == os.getpid():
            self._process.kill()
            self._process.wait()


class WrittenFilesMonitor:
    """The files and bytes that a program has written into its working folder.

    The kernel limits the size of each file but not the total size, which this class
    limits. If the site may inspect the process, deleted files also count while the
    process has them open.
    """

    def __init__(self, folder: Path, limits: ResourceLimits, process: int = 0) -> None:
        self._folder, self._limits = folder, limits
        self._open_files = Path(f"/proc/{process}/fd") if process else None
        self._before = self._count_files_and_bytes()

    def check(self) -> None:
        """Raise ResourceLimitExceeded if the program has written too many files or bytes."""
        files, size = (
            now - before
            for now, before in zip(
                self._count_files_and_bytes(), self._before, strict=True
            )
        )
        most_files, most_mb = self._limits.total_files, self._limits.total_mb
        if most_files is not None and files > most_files:
            raise ResourceLimitExceeded(f"it wrote more than {most_files:,} files")
        if most_mb is not None and size > most_mb * MEGABYTE:
            raise ResourceLimitExceeded(f"it wrote more than {most_mb} MB")

    def _count_files_and_bytes(self) -> tuple[int, int]:
        files = size = 0
        try:
            for path, folders, names in os.walk(
                self._folder, onerror=_raise_unless_file_vanished
            ):
                files += len(folders) + len(names)
                for name in names:
                    try:
                        size += (Path(path) / name).lstat().st_size
                    except OSError as reason:
                        _raise_unless_file_vanished(reason)
        except RecursionError as reason:
            raise ResourceLimitExceeded(UNCOUNTABLE_FOLDER_MESSAGE) from reason
        nameless = self._find_open_deleted_file_sizes()
        return files + len(nameless), size + sum(nameless.values())

    def _find_open_deleted_file_sizes(self) -> dict[tuple[int, int], int]:
        found: dict[tuple[int, int], int] = {}
        if self._open_files is None:
            return found
        with suppress(OSError):
            for path in self._open_files.iterdir():
                with suppress(OSError):
                    file = path.stat()
                    if stat.S_ISREG(file.st_mode) and file.st_nlink == 0:
                        found[file.st_dev, file.st_ino] = file.st_size
        return found


UNCOUNTABLE_FOLDER_MESSAGE = (
    "it wrote a folder that is closed or too deep to be counted"
)


def _raise_unless_file_vanished(reason: OSError) -> None:
    if not isinstance(reason, FileNotFoundError | NotADirectoryError):
        raise ResourceLimitExceeded(UNCOUNTABLE_FOLDER_MESSAGE) from reason


def receive_message(
    line: socket.socket, seconds: float, written: WrittenFilesMonitor | None = None
) -> str:
    """Return the next message that the fork server sends to the client.

    The message is empty after a timeout or a closed connection. The function checks the
    limits on written files while it waits. Raises ResourceLimitExceeded if the program has
    written too many files or bytes.
    """
    word, until = b"", time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        line.settimeout(min(left, POLL_SECONDS))
        try:
            byte = line.recv(1)
        except TimeoutError:
            if written is not None:
                written.check()
            continue
        except OSError:
            break
        if byte in (b"", b"\n"):
            return word.decode() if byte else ""
        word += byte
    return ""


def build_process_environment(path: Sequence[Path]) -> dict[str, str]:
    return {
        "LANG": "C.UTF-8",
        "PATH": os.defpath,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(str(folder) for folder in path),
        **dict.fromkeys(THREAD_COUNT_VARIABLES, "1"),
    }
