"""A Redis of a test's own, without anything kept on disk, that may be killed and started again."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from tests.faults.serving import free_port, until


class OwnRedis:
    def __init__(self, program: str, folder: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        bound = ["--port", str(self.port), "--bind", "127.0.0.1"]
        self._command = [program, *bound, "--save", "", "--dir", str(folder)]
        self.start()

    def start(self) -> None:
        self._server = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        until(self.answers, "Redis answers")

    def answers(self) -> bool:
        try:
            with redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False

    def kill(self) -> None:
        """-9, with everything that it knew."""
        self._server.kill()
        self._server.wait()


@contextmanager
def own_redis(folder: Path) -> Iterator[OwnRedis]:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    server = OwnRedis(program, folder)
    try:
        yield server
    finally:
        server.kill()
