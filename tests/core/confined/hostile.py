"""What a stranger's file might make a reader do, as programs of a confined process."""

import ctypes
import os
import signal
import socket
import threading
import time
from pathlib import Path


def echo(given, shared=None):
    return {
        "given": given,
        "shared": shared,
        "files": sorted(path.name for path in Path().iterdir()),
    }


def read_run(given):
    return Path("run").read_text(encoding="utf-8")


def burn(given):
    while True:
        pass


def hang(given):
    signal.pause()


def fill_memory(given):
    kept = []
    while True:
        kept.append(bytearray(1 << 20))


def fill_disk(given):
    with Path("large").open("wb") as file:
        while True:
            file.write(bytes(1 << 20))


def write_files(given):
    for number in range(1000):
        Path(f"{number}").touch()
    signal.pause()


def write_bytes(given):
    for number in range(10):
        Path(f"{number}").write_bytes(bytes(4 << 20))
    signal.pause()


def share_memory(given):
    number = {"x86_64": 29, "aarch64": 194}[os.uname().machine]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(number, 0, ctypes.c_size_t(4096), 0o1600)
    return {"refused": ctypes.get_errno()}


def multiply(given):
    """As many processes as there may be; each would outlive the check."""
    begun = 0
    for _ in range(200):
        try:
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
        except OSError as refused:
            return {"begun": begun, "refused": type(refused).__name__}
        begun += 1
    return {"begun": begun, "refused": ""}


def start_program(given):
    os.execv("/bin/sh", ["sh", "-c", "true"])  # noqa: S606


def open_file(given):
    try:
        return {"read": Path(given["path"]).read_bytes()[:100].decode(errors="replace")}
    except OSError as refused:
        return {"refused": type(refused).__name__}


def list_folder(given):
    try:
        return {"names": sorted(path.name for path in Path(given["path"]).iterdir())}
    except OSError as refused:
        return {"refused": type(refused).__name__}


def connect(given):
    try:
        with socket.create_connection((given["host"], given["port"]), timeout=5):
            return {"connected": True}
    except OSError as refused:
        return {"connected": False, "refused": type(refused).__name__}


def send_signal(given):
    try:
        os.kill(given["pid"], signal.SIGTERM)
    except OSError as refused:
        return {"refused": type(refused).__name__}
    return {"sent": True}


def die(given):
    os.abort()


def fail(given):
    raise ValueError("a reader's own fault")


def say_environment(given):
    return dict(os.environ)


def remember(given):
    """Whether an earlier piece of work left anything in the memory of its process."""
    before = getattr(threading, "_left_behind", None)
    threading._left_behind = given["word"]
    return before


def niceness(given):
    return os.nice(0)


def session_and_group(given):
    return {"session": os.getsid(0), "leads_group": os.getpgid(0) == os.getpid()}


def link_result(given):
    Path("result.json").unlink(missing_ok=True)
    Path("result.json").symlink_to("/etc/passwd")
    os._exit(0)


def pipe_result(given):
    os.mkfifo("result.json")
    os._exit(0)


def return_nonsense(given):
    Path("result.json").write_text("[" * 100_000)
    os._exit(0)
