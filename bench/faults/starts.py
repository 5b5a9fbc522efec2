"""Start new sites on an overloaded machine: each start must end in a site that runs.

Usage: python bench/faults/starts.py [--starts N] [--load L] [--watched S] [--at-once K]

Processes that only compute, at the lowest priority, raise the load of the machine to L.
Then each start is that of `make run` (scripts/run.sh) in an empty folder of its own, as
a session of its own, and without a network. It is watched until the site is ready and
for S seconds more, while the demo is sent. A start fails after twenty minutes. K starts
run at the same time. Exits 1 if a site did not run at the end of its start, if the
watchdog ended a site that was starting, if "database is locked" was logged, or if the
messages need more than a screen of 24 lines.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from tests.faults.serving import ROOT, free_port

SCREEN = 24  # lines of 80 characters
WIDTH = 80
#: Seconds until a start fails, and until the machine has its load.
PATIENCE, RAISING = 1200.0, 300.0
STOP_SECONDS = 30.0
KILLED = "The site did not answer and computed nothing"
LOCKED = "database is locked"
#: Requests for other machines fail at once, as without a network.
NO_NETWORK = "http://127.0.0.1:1"
BUSY = "while True: pass"
#: Set when a signal ends the measurement.
ENDED = threading.Event()


@dataclass(frozen=True, kw_only=True)
class Start:
    """``ready`` is None if the site never answered; ``load`` is that of the machine when it did."""

    ready: float | None
    is_running: bool
    load: float
    messages: str

    @property
    def lines(self) -> int:
        """Return the lines of a terminal that the messages need."""
        return sum(
            max(1, -(-len(line) // WIDTH)) for line in self.messages.splitlines()
        )

    def problems(self) -> list[str]:
        found = []
        if self.ready is None or not self.is_running:
            found.append("no site runs")
        if kills := self.messages.count(KILLED):
            found.append(f"the watchdog ended the starting site {kills} times")
        if locked := self.messages.count(LOCKED):
            found.append(f"“{LOCKED}” was logged {locked} times")
        if self.lines > SCREEN:
            found.append(f"{self.lines} lines do not fit on a screen of {SCREEN}")
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--load", type=int, default=30)
    parser.add_argument("--watched", type=float, default=30.0)
    parser.add_argument("--at-once", type=int, default=1)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, end_early)
    # Packages are installed beforehand, so that only starts are measured.
    subprocess.run(["sh", "scripts/environment.sh", "site"], cwd=ROOT, check=True)
    with loaded(given.load):
        print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}")
        print(f"{'start':>5} {'ready after':>11} {'load':>5} {'lines':>5}")
        with ThreadPoolExecutor(given.at_once) as pool:
            starts = []
            for start in pool.map(started, [given.watched] * given.starts):
                starts.append(start)
                show(len(starts), start)
    good = sum(not start.problems() for start in starts)
    print(f"{good} of {given.starts} starts ended in a site that runs, without a fault")
    sys.exit(0 if good == given.starts else 1)


def end_early(*_: object) -> None:
    ENDED.set()
    sys.exit("ended before its time")


def show(number: int, start: Start) -> None:
    ready = "never" if start.ready is None else f"{start.ready:.0f} s"
    print(
        f"{number:>5} {ready:>11} {start.load:>5.0f} {start.lines:>5}"
        f"  {'; '.join(start.problems())}",
        flush=True,
    )
    if start.problems():
        print(start.messages, flush=True)


@contextmanager
def loaded(load: int) -> Iterator[None]:
    """Start processes that compute, and wait until the one-minute load is as high as
    requested.
    """
    command = ["nice", "-n", "19", sys.executable, "-c", BUSY]
    missing = max(0, load - int(os.getloadavg()[0]))
    busy = [subprocess.Popen(command) for _ in range(missing)]
    try:
        until = time.monotonic() + RAISING
        while os.getloadavg()[0] < 0.95 * load and time.monotonic() < until:
            time.sleep(1)
        yield
    finally:
        for process in busy:
            process.kill()
        for process in busy:
            process.wait()


def started(watched: float) -> Start:
    with tempfile.TemporaryDirectory(prefix="citeboard-start-") as name:
        folder, port = Path(name), free_port()
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                ["sh", "scripts/run.sh"],
                cwd=ROOT,
                env=environment(folder, port),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            ready = seconds_until_ready(process, port)
            load = os.getloadavg()[0]
            if ready is not None:
                ENDED.wait(watched)
            is_running = process.poll() is None and answers(port)
        finally:
            stop(process)
        messages = (folder / "log").read_text(errors="replace")
    return Start(ready=ready, is_running=is_running, load=load, messages=messages)


def environment(folder: Path, port: int) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return kept | {
        "PORT": str(port),
        "CITEBOARD_DATA_DIR": str(folder / "data"),
        "CITEBOARD_WORK_DIR": str(folder / "work"),
        "HTTPS_PROXY": NO_NETWORK,
        "HTTP_PROXY": NO_NETWORK,
    }


def seconds_until_ready(process: subprocess.Popen[bytes], port: int) -> float | None:
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < PATIENCE:
        if answers(port):
            return time.monotonic() - began
        if ENDED.wait(0.5):
            break
    return None


def answers(port: int) -> bool:
    address = f"http://127.0.0.1:{port}/health/ready"
    with suppress(httpx.HTTPError):
        return httpx.get(address, timeout=60, trust_env=False).status_code == 200
    return False


def stop(process: subprocess.Popen[bytes]) -> None:
    """End `serve` in good order, then the demo and all other processes of the start."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


if __name__ == "__main__":
    main()
