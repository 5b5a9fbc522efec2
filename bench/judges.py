"""Measure how busy a judge is kept: a stub endpoint answers in 50 ms, a worker of the site asks it.

Usage: python bench/judges.py [--responses N] [--at-once N] [--topology sqlite|postgresql]

The share is the time of requests in flight, as the stub sees them, by the time between the first and the
last of them and `at_once`. A reference in the same run sends as many requests over bare connections and
does nothing else, so that the ratio of both shares depends little on the machine. The exit code is 1 if the
ratio is below 90 %, or if a pair is asked twice.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent / "faults"))

from house import ROOT, SMALL, TOPOLOGIES, set_up

LATENCY = 0.05
LEAST = 0.9
REPLY = json.dumps(
    {
        "choices": [{"message": {"content": "Yes"}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 1},
    }
).encode()
HEAD = (
    f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(REPLY)}"
    "\r\n\r\n"
).encode()


class Load(NamedTuple):
    """The requests of a part of the run, and the share of `at_once` that was in flight."""

    requests: int
    seconds: float
    connections: int
    share: float

    def __str__(self) -> str:
        return (
            f"{self.requests:,} requests in {self.seconds:.1f} s over {self.connections} connections: "
            f"{self.share:.1%} busy"
        )


class Stub:
    """An endpoint in a thread of its own; the programs that ask it are other processes."""

    def __init__(self) -> None:
        self.port = 0
        self.begin()
        self._ready = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()
        self._ready.wait()

    def begin(self) -> None:
        """Forget the requests so far."""
        self.asked = Counter[bytes]()
        self.connections = 0
        self.busy = 0.0
        self.first = self.last = 0.0

    def load(self, at_once: int) -> Load:
        seconds = self.last - self.first
        share = self.busy / (seconds * at_once)
        return Load(sum(self.asked.values()), seconds, self.connections, share)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        async with server:
            await server.serve_forever()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.connections += 1
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()
                return
            began = time.monotonic()
            self.first = self.first or began
            [length] = [
                int(line.split(b":")[1])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length:")
            ]
            self.asked[await reader.readexactly(length)] += 1
            await asyncio.sleep(LATENCY)
            writer.write(HEAD + REPLY)
            await writer.drain()
            self.last = time.monotonic()
            self.busy += self.last - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--responses", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--topology", choices=TOPOLOGIES, default=SMALL)
    parser.add_argument("--reference", metavar="PORT", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--requests", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.reference:
        ask_bare(given.reference, given.requests, given.at_once)
        return
    folder = set_up(given.topology)
    stub = Stub()
    ask_for_run(folder, stub.port, given.responses, given.at_once)
    stub.begin()
    environment = {**os.environ, "CITEBOARD_JUDGES": str(folder / "judges.toml")}
    command = [sys.executable, str(ROOT / "manage.py"), "work", "--until-idle"]
    subprocess.run(
        [*command, "--queue", "judges"], cwd=ROOT, env=environment, check=True
    )
    judged = stub.load(given.at_once)
    most = max(stub.asked.values())
    print(f"site:      {judged}", flush=True)
    stub.begin()
    own = [sys.executable, str(Path(__file__)), f"--reference={stub.port}"]
    counts = [f"--requests={judged.requests}", f"--at-once={given.at_once}"]
    subprocess.run([*own, *counts], check=True)
    reference = stub.load(given.at_once)
    ratio = judged.share / reference.share
    print(f"reference: {reference}")
    print(
        f"ratio {ratio:.3f} with {given.at_once} at once; a pair was asked at most {most} times"
    )
    sys.exit(ratio < LEAST or most > 1)


def ask_bare(port: int, requests: int, at_once: int) -> None:
    """Send requests over connections that are kept alive, and do nothing with the replies."""
    body = json.dumps({"model": "stub", "messages": [{"content": "x" * 1000}]})

    def ask(count: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for _ in range(count):
            connection.request("POST", "/v1/chat/completions", body)
            connection.getresponse().read()
        connection.close()

    counts = [len(range(start, requests, at_once)) for start in range(at_once)]
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(ask, counts))


def ask_for_run(folder: Path, port: int, responses: int, at_once: int) -> None:
    """Let a run wait for its pairs, and queue the questions to the judge."""
    from django.conf import settings
    from ledger import JUDGE, waiting_run

    from scoring.worker.judging import record_judge_consent
    from scoring.worker.score import score

    path = folder / "judges.toml"
    path.write_text(
        f'[[judge]]\nname = "{JUDGE}"\nkind = "chat"\nmodel = "stub"\n'
        f'address = "http://127.0.0.1:{port}/v1"\nat_once = {at_once}\n'
    )
    settings.JUDGES_FILE = path
    run, _files = waiting_run(folder / "run", responses)
    record_judge_consent(phase=run.phase, prompt=None, budget=None, by=None)
    run.submitted_at = run.phase.phase_judges.get().agreed_at
    run.save(update_fields=["submitted_at"])
    score(run.jobs.get().pk)


if __name__ == "__main__":
    main()
