"""A warm process that forks a confined one for each piece of work, so that nothing is imported twice.

`python -P -m citeboard.core.confined.fork_server JSON FD`. It has one thread and knows no secrets. Orders
come over the socket FD, each with a socket on which the server says that the work began and how it ended, and
with the folder that the work has. When the sender of an order closes that socket, its process is killed; when
FD closes, or the process that started the server is gone, everything ends.
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
    FAULT,
    Limits,
    apply_limits,
    die_with_parent,
    exit_code_of,
)
from citeboard.core.confined.rights import (
    Rights,
    become_nobody,
    give_up_calls,
    give_up_files,
)

#: In the folder of the work: what its program returned, and what it wrote for people.
RESULT, SAID = "result.json", "said.txt"
#: Files of ours that several pieces of work share stay read, so many at a time.
MAX_SHARED = 8
#: Niceness of the first work in turn, and the kernel's maximum.
NICENESS, MAX_NICENESS = 10, 19
#: Imported late by name, when `nobody` may no longer read the interpreter's own folders.
CODECS = "encodings.*"
BEGAN, OUT_OF_TIME = "began", "out of time"
_LENGTH = 4
#: Seconds after which a server notices at the latest that nobody is left to send orders.
ORPHANED_FOR = 2.0


@dataclass(frozen=True)
class Order:
    """``program`` is MODULE:FUNCTION; the higher ``behind``, the less of a processor it has."""

    program: str
    arguments: dict[str, Any]
    shared: str | None
    limits: Limits
    behind: int = 0


@dataclass
class Running:
    pid: int
    line: socket.socket
    deadline: float
    is_out_of_time: bool = False


class Server:
    """Its selector holds the orders' socket, the signal of ended children, and a line for each child."""

    #: The file in the folder of the work that each of its descriptors writes.
    outputs: ClassVar[Mapping[int, str]] = {1: SAID, 2: SAID}

    def __init__(
        self, orders: socket.socket, *, readable: Sequence[Path], means: Sequence[str]
    ) -> None:
        self._orders = orders
        self._parent, self._pid = os.getppid(), os.getpid()
        self._rights = Rights(readable=list(readable), writable=[Path()])
        self._means = means
        self._running: dict[int, Running] = {}
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
            for key, _ in self._selector.select(max(0.0, min(left, ORPHANED_FOR))):
                if key.fileobj is self._orders:
                    if not self._take_order():
                        self._end()
                        return
                elif key.fileobj is self._ended:
                    self._ended.recv(4096)
                else:
                    # Nobody says anything on a line: its other end was closed.
                    self._kill(key.data)
                    self._selector.unregister(key.fileobj)
            for running in self._running.values():
                if time.monotonic() > running.deadline and not running.is_out_of_time:
                    running.is_out_of_time = True
                    self._kill(running.pid)
            self._reap()
        self._end()

    def _end(self) -> None:
        for pid in self._running:
            self._kill(pid)

    def _take_order(self) -> bool:
        header, descriptors, _, _ = socket.recv_fds(self._orders, _LENGTH, 2)
        if len(header) < _LENGTH or len(descriptors) != 2:
            return False
        message, length = b"", int.from_bytes(header, "big")
        while len(message) < length and (
            part := self._orders.recv(length - len(message))
        ):
            message += part
        facts = json.loads(message)
        order = Order(**{**facts, "limits": Limits(**facts["limits"])})
        line, folder = socket.socket(fileno=descriptors[0]), descriptors[1]
        try:
            shared = _shared(order.shared) if order.shared else None
            pid = os.fork()
        except Exception:  # noqa: BLE001  (whatever it is: the sender is told, and the server goes on)
            traceback.print_exc()
            line.close()
            os.close(folder)
            return True
        if pid == 0:
            self._become(order, shared, folder)
        os.close(folder)
        deadline = time.monotonic() + order.limits.steps * order.limits.wall_seconds
        self._running[pid] = Running(pid, line, deadline)
        self._selector.register(line, selectors.EVENT_READ, pid)
        _tell(line, f"{BEGAN} {pid}")
        return True

    def _become(self, order: Order, shared: object, folder: int) -> None:
        code = FAULT
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            os.fchdir(folder)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for target, name in self.outputs.items():
                os.dup2(
                    os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), target
                )
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            os.nice(min(MAX_NICENESS, NICENESS + order.behind))
            self.confine(order)
            die_with_parent()
            if os.getppid() != self._pid:
                return  # It was gone before the kernel was asked to tell.
            apply_limits(order.limits)
            self.close_calls()
            code = self.work(order, shared)
        finally:
            os._exit(code)

    def confine(self, order: Order) -> None:
        """In the process of the work: take from it what it may not do."""
        if self._means:
            give_up_files(self._rights, self._means)
        become_nobody()

    def close_calls(self) -> None:
        """There, once its limits are set, which takes calls that are closed then."""
        if self._means:
            give_up_calls(self._rights, self._means)

    def work(self, order: Order, shared: object) -> int:
        try:
            module, _, name = order.program.partition(":")
            program = getattr(importlib.import_module(module), name)
            result = (
                program(order.arguments)
                if order.shared is None
                else program(order.arguments, shared)
            )
            with Path(RESULT).open("w", encoding="utf-8") as file:
                json.dump(result, file, ensure_ascii=False)
        except Exception as error:  # noqa: BLE001  (all that is left of it is what is told)
            return told_and_code(error)
        return 0

    def _kill(self, pid: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            # Between fork and setsid it is in our own group.
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        while self._running:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return
            # Kill its children too, before another process gets its number.
            self._kill(ended.si_pid)
            pid, status, used = os.wait4(ended.si_pid, 0)
            running = self._running.pop(pid)
            with suppress(KeyError):
                self._selector.unregister(running.line)
            how = (
                OUT_OF_TIME
                if running.is_out_of_time
                else str(os.waitstatus_to_exitcode(status))
            )
            _tell(running.line, f"{how} {used.ru_utime + used.ru_stime:.3f}")
            running.line.close()


def _tell(line: socket.socket, words: str) -> None:
    with suppress(OSError):
        line.send(f"{words}\n".encode())


@lru_cache(maxsize=MAX_SHARED)
def _shared(path: str) -> object:
    with Path(path).open("rb") as file:
        content: object = json.load(file)
    gc.freeze()
    return content


def told_and_code(error: Exception) -> int:
    """The exit code of work that ends so; what has no code of its own is told at length."""
    if (code := exit_code_of(error)) is not None:
        return code
    traceback.print_exc()
    sys.stderr.flush()
    return FAULT


def preload(names: Sequence[str]) -> None:
    for name in names:
        module = importlib.import_module(name.removesuffix(".*"))
        if name.endswith(".*"):
            for entry in pkgutil.walk_packages(module.__path__, f"{module.__name__}."):
                # A codec of another system, or a module whose library is not installed.
                with suppress(ImportError):
                    importlib.import_module(entry.name)


def orders_of_sender() -> socket.socket:
    """To be called first: what is under way when everybody else is told to end comes to its end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return socket.socket(fileno=int(sys.argv[-1]))


def main() -> None:
    facts = json.loads(sys.argv[1])
    with orders_of_sender() as orders:
        preload([CODECS, *facts["preload"]])
        Server(
            orders,
            readable=[Path(folder) for folder in facts["readable"]],
            means=facts["means"],
        ).serve()


if __name__ == "__main__":
    main()
