"""Scorers for tests that want a score and not a process: forked from one that has imported what they need.

A scorer of a site imports for a second before it begins, in each of hundreds of tests. What becomes of a real
one, what it may see and how it ends, is proved in `tests.scoring.test_worker` and by `tests.faults`.
"""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

from scoring.worker import confined

MESSAGE = 1 << 16


class WarmScorers:
    """Stands where `scoring.worker.child` starts processes; another command than the scorer's is started."""

    def __init__(self) -> None:
        self._servers: dict[str, tuple[socket.socket, subprocess.Popen]] = {}
        self._starting = threading.Lock()

    def as_module(self) -> SimpleNamespace:
        return SimpleNamespace(
            Popen=self.started, PIPE=subprocess.PIPE, TimeoutExpired=subprocess.TimeoutExpired
        )

    def started(self, command, **how):
        from scoring.worker.child import ROOT

        if tuple(command) != (sys.executable, "-P", "-s", "-m", confined.__name__):
            return subprocess.Popen(command, **how)
        # What libraries read when they are imported is that of the process that has imported them.
        lasting = {name: value for name, value in how["env"].items() if name != "TMPDIR"}
        key = json.dumps(lasting, sort_keys=True)
        with self._starting:
            if key not in self._servers:
                self._servers[key] = _server(lasting, ROOT)
            return ForkedScorer(self._servers[key][0], **how)

    def close(self) -> None:
        for orders, process in self._servers.values():
            orders.close()
            process.wait()


def _server(environment: dict[str, str], root: Path) -> tuple[socket.socket, subprocess.Popen]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-m", __name__, str(theirs.fileno())],
            cwd=root,
            env=environment,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
    return ours, process


class ForkedScorer:
    """What `subprocess.Popen` offers of a process, as far as a worker asks for it."""

    def __init__(self, orders: socket.socket, *, stdin, stdout, stderr, cwd, env, start_new_session) -> None:
        assert stdin == subprocess.PIPE
        assert start_new_session
        self.returncode: int | None = None
        read, write = os.pipe()
        self.stdin = os.fdopen(write, "wb")
        self._line, theirs = socket.socketpair()
        with theirs, os.fdopen(read, "rb"):
            order = json.dumps({"folder": str(cwd), "temporary": env["TMPDIR"]}).encode()
            socket.send_fds(orders, [order], [read, stdout.fileno(), stderr.fileno(), theirs.fileno()])
        self.pid = int(b"".join(iter(partial(self._line.recv, 1), b"\n")))

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._line.settimeout(timeout)
            try:
                said = self._line.recv(16)
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("scorer", timeout or 0) from None
            self.returncode = int(said)
            self._line.close()
        return self.returncode


def serve(orders: socket.socket) -> None:
    for name in (*confined.READY, "scipy.stats", "sklearn.metrics"):
        import_module(name)
    import_module("tasks.types").task_types()
    gc.collect()
    gc.freeze()
    while True:
        message, descriptors, _, _ = socket.recv_fds(orders, MESSAGE, 4)
        if not message:
            return
        # Whoever waits for a scorer is its parent, and is nobody's child that has to be waited for.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        if os.fork() == 0:
            orders.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _attend(json.loads(message), *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _attend(order: dict[str, str], read: int, stdout: int, stderr: int, line: int) -> None:
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.write(line, f"{os.getpid()}\n".encode())
        for source, target in ((read, 0), (stdout, 1), (stderr, 2)):
            os.dup2(source, target)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.chdir(order["folder"])
        os.environ["TMPDIR"] = order["temporary"]
        tempfile.tempdir = None
        code = 1
        try:
            code = confined.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:  # noqa: BLE001  (as an interpreter does at its end)
            traceback.print_exc()
        finally:
            with suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code or 0)
    for descriptor in (read, stdout, stderr):
        os.close(descriptor)
    _, status = os.waitpid(pid, 0)
    with suppress(OSError):
        os.write(line, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
