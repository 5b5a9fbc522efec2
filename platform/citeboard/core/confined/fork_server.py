"""A server process that imports modules once and forks a sandboxed process for each
order.

The command is `python -P -m citeboard.core.confined.fork_server JSON FD`. The server
has one thread and no secrets. Each order arrives over the socket FD together with two
descriptors. The server reports the start and the end of the work on the first
descriptor, a socket. The second descriptor is the working folder. If the client closes
the socket of an order, the server kills the process of this order. If FD is closed or
the parent of the server exits, the server kills all processes and exits.
"""

import gc
import importlib
import json
import math
import os
import pkgutil
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from citeboard.core.confined.limits import (
    PROGRAM_ERROR_EXIT_CODE,
    ResourceLimits,
    apply_resource_limits,
    choose_exit_code,
    signal_process_on_parent_exit,
)
from citeboard.core.confined.rights import (
    SandboxRights,
    filter_system_calls,
    restrict_file_access,
    switch_to_nobody_user,
)

#: A program writes its result to RESULT_FILE_NAME, and its output and errors to OUTPUT_FILE_NAME.
RESULT_FILE_NAME, OUTPUT_FILE_NAME = "result.json", "said.txt"
#: The server caches the parsed contents of at most MAX_CACHED_SHARED_FILES shared files.
MAX_CACHED_SHARED_FILES = 8
#: DEFAULT_NICENESS is the niceness of work of an account that has delayed no other account.
#: MAX_NICENESS is the highest niceness, and thus the lowest priority, of a process.
DEFAULT_NICENESS, MAX_NICENESS = 10, 19
#: The server preloads codecs, since sandboxed processes may not read Python's folders.
PRELOADED_CODEC_MODULES = "encodings.*"
WORK_BEGAN_MESSAGE, OUT_OF_TIME_MESSAGE = "began", "out of time"
_LENGTH_PREFIX_BYTES = 4
#: The server notices within MAX_ORPHANED_SECONDS seconds that its parent has exited.
MAX_ORPHANED_SECONDS = 2.0


@dataclass(frozen=True)
class ProgramOrder:
    """An order to run ``program`` (MODULE:FUNCTION) in a process.

    ``behind`` is the delay in seconds that the account caused for other accounts, and
    is added to the niceness of the process.
    """

    program: str
    arguments: dict[str, Any]
    shared: str | None
    limits: ResourceLimits
    behind: int = 0


@dataclass
class RunningProgram:
    pid: int
    line: socket.socket
    deadline: float
    is_out_of_time: bool = False


class ForkingServer:
    """A server that forks a sandboxed process for each order.

    The selector of the server watches the socket of orders, the wake-up socket for
    SIGCHLD, and the report socket of each child process.
    """

    #: The output of a process goes to the file OUTPUT_FILE_NAME in its working folder.
    outputs: ClassVar[Mapping[int, str]] = {1: OUTPUT_FILE_NAME, 2: OUTPUT_FILE_NAME}

    def __init__(
        self, orders: socket.socket, *, readable: Sequence[Path], means: Sequence[str]
    ) -> None:
        self._orders = orders
        self._parent, self._pid = os.getppid(), os.getpid()
        self._rights = SandboxRights(readable=list(readable), writable=[Path()])
        self._means = means
        self._running: dict[int, RunningProgram] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(orders, selectors.EVENT_READ)
        ended, wake = socket.socketpair()
        ended.setblocking(False)
        wake.setblocking(False)
        self._ended, self._wake = ended, wake
        self._selector.register(ended, selectors.EVENT_READ)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)

    def serve(self) -> None:
        gc.collect()
        gc.freeze()
        while os.getppid() == self._parent:
            deadlines = [
                running.deadline
                for running in self._running.values()
                if not running.is_out_of_time
            ]
            left = min(deadlines, default=math.inf) - time.monotonic()
            for key, _ in self._selector.select(
                max(0.0, min(left, MAX_ORPHANED_SECONDS))
            ):
                if key.fileobj is self._orders:
                    if not self._receive_order():
                        self._kill_all_programs()
                        return
                elif key.fileobj is self._ended:
                    self._ended.recv(4096)
                else:
                    # By closing the socket, the client has cancelled its order.
                    self._kill(key.data)
                    self._selector.unregister(key.fileobj)
            for running in self._running.values():
                if time.monotonic() > running.deadline and not running.is_out_of_time:
                    running.is_out_of_time = True
                    self._kill(running.pid)
            self._reap_ended_children()
        self._kill_all_programs()

    def _kill_all_programs(self) -> None:
        for pid in self._running:
            self._kill(pid)

    def _receive_order(self) -> bool:
        header, descriptors, _, _ = socket.recv_fds(
            self._orders, _LENGTH_PREFIX_BYTES, 2
        )
        if len(header) < _LENGTH_PREFIX_BYTES or len(descriptors) != 2:
            return False
        message, length = b"", int.from_bytes(header, "big")
        while len(message) < length and (
            part := self._orders.recv(length - len(message))
        ):
            message += part
        facts = json.loads(message)
        order = ProgramOrder(**{**facts, "limits": ResourceLimits(**facts["limits"])})
        line, folder = socket.socket(fileno=descriptors[0]), descriptors[1]
        try:
            shared = _load_shared_file(order.shared) if order.shared else None
            pid = os.fork()
        except Exception:  # noqa: BLE001  (the client sees a closed socket, and the server continues)
            traceback.print_exc()
            line.close()
            os.close(folder)
            return True
        if pid == 0:
            self._run_program_in_child(order, shared, folder)
        os.close(folder)
        deadline = time.monotonic() + order.limits.steps * order.limits.wall_seconds
        self._running[pid] = RunningProgram(pid, line, deadline)
        self._selector.register(line, selectors.EVENT_READ, pid)
        _send_message(line, f"{WORK_BEGAN_MESSAGE} {pid}")
        return True

    def _run_program_in_child(
        self, order: ProgramOrder, shared: object, folder: int
    ) -> None:
        code = PROGRAM_ERROR_EXIT_CODE
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            # Linux would ignore the niceness of a process that has its own session.
            os.setpgid(0, 0)
            os.fchdir(folder)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for target, name in self.outputs.items():
                os.dup2(
                    os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), target
                )
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            os.nice(min(MAX_NICENESS, DEFAULT_NICENESS + order.behind))
            self.apply_sandbox(order)
            signal_process_on_parent_exit()
            if os.getppid() != self._pid:
                return  # The server exited before the kernel could watch it.
            apply_resource_limits(order.limits)
            self.restrict_system_calls()
            code = self.work(order, shared)
        finally:
            os._exit(code)

    def apply_sandbox(self, order: ProgramOrder) -> None:
        if self._means:
            restrict_file_access(self._rights, self._means)
        switch_to_nobody_user()

    def restrict_system_calls(self) -> None:
        """Restrict the system calls of this forked process.

        Call this method after `apply_resource_limits`, which needs some of the system calls that
        this method forbids.
        """
        if self._means:
            filter_system_calls(self._rights, self._means)

    def work(self, order: ProgramOrder, shared: object) -> int:
        try:
            module, _, name = order.program.partition(":")
            program = getattr(importlib.import_module(module), name)
            result = (
                program(order.arguments)
                if order.shared is None
                else program(order.arguments, shared)
            )
            with Path(RESULT_FILE_NAME).open("w", encoding="utf-8") as file:
                json.dump(result, file, ensure_ascii=False)
        except Exception as error:  # noqa: BLE001  (the exit code and the log report the exception)
            return log_error_and_choose_exit_code(error)
        return 0

    def _kill(self, pid: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def _reap_ended_children(self) -> None:
        while self._running:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return
            # The server kills a process's children before the process id is reused.
            self._kill(ended.si_pid)
            pid, status, used = os.wait4(ended.si_pid, 0)
            running = self._running.pop(pid)
            with suppress(KeyError):
                self._selector.unregister(running.line)
            how = (
                OUT_OF_TIME_MESSAGE
                if running.is_out_of_time
                else str(os.waitstatus_to_exitcode(status))
            )
            _send_message(running.line, f"{how} {used.ru_utime + used.ru_stime:.3f}")
            running.line.close()


def _send_message(line: socket.socket, words: str) -> None:
    with suppress(OSError):
        line.send(f"{words}\n".encode())


@lru_cache(maxsize=MAX_CACHED_SHARED_FILES)
def _load_shared_file(path: str) -> object:
    with Path(path).open("rb") as file:
        content: object = json.load(file)
    gc.freeze()
    return content


def log_error_and_choose_exit_code(error: Exception) -> int:
    """Return the process's exit code for an exception of the program.

    The server prints the traceback unless the exception has its own exit code.
    """
    if (code := choose_exit_code(error)) is not None:
        return code
    traceback.print_exc()
    sys.stderr.flush()
    return PROGRAM_ERROR_EXIT_CODE


def preload_modules(names: Sequence[str]) -> None:
    for name in names:
        module = importlib.import_module(name.removesuffix(".*"))
        if name.endswith(".*"):
            for entry in pkgutil.walk_packages(module.__path__, f"{module.__name__}."):
                # Some codecs need another operating system or an extra library.
                with suppress(ImportError):
                    importlib.import_module(entry.name)


def open_order_socket() -> socket.socket:
    """Return the socket from which a fork server reads orders.

    Call this function first. The process then ignores signals to its process group, so
    that running work can end normally.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return socket.socket(fileno=int(sys.argv[-1]))


def main() -> None:
    facts = json.loads(sys.argv[1])
    with open_order_socket() as orders:
        preload_modules([PRELOADED_CODEC_MODULES, *facts["preload"]])
        ForkingServer(
            orders,
            readable=[Path(folder) for folder in facts["readable"]],
            means=facts["means"],
        ).serve()


if __name__ == "__main__":
    main()
