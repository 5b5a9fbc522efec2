"""A site and workers of their own, in a folder that goes afterwards, to measure what runs live through."""

from __future__ import annotations

import atexit
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
#: Names the PostgreSQL server, as for the tests.
SERVER = "CITEBOARD_TEST_DATABASE_URL"
#: So that the queue says which of its processes is which.
LOGGED = {"CITEBOARD_LOG_LEVEL": "DEBUG"}
#: What a site without a setting has, and what it may grow to.
SMALL, GROWN = "sqlite", "postgresql"
TOPOLOGIES = {
    SMALL: "SQLite, a folder, one group of workers",
    GROWN: "PostgreSQL, Redis, two groups of workers",
}


def set_up(
    topology: str = SMALL,
    *,
    with_redis: bool = False,
    with_bucket: bool = False,
    **environment: str,
) -> Path:
    """Settings on a new database; the folder that holds it. To be called once, before models are imported.

    In the environment ``MIGRATED`` may name a file of SQLite to begin with.
    """
    folder = folder_of_measurement()
    for name in [
        name
        for name in os.environ
        if (name.startswith("CITEBOARD_") and name != SERVER)
        or name in ("DATABASE_URL", "REDIS_URL", "PORT")
    ]:
        del os.environ[name]
    sys.path[:0] = [str(ROOT), str(ROOT / "platform")]
    os.environ |= {
        "CITEBOARD_DATA_DIR": str(folder / "data"),
        "CITEBOARD_INSECURE_HTTP": "yes",
        "CITEBOARD_LOG_LEVEL": "WARNING",
        "DJANGO_SETTINGS_MODULE": "citeboard.settings",
        **({"DATABASE_URL": own_database()} if topology == GROWN else {}),
        **({"REDIS_URL": redis_of_measurement(folder)} if with_redis else {}),
        **({"CITEBOARD_STORAGE": own_bucket()} if with_bucket else {}),
        **environment,
    }
    if topology == SMALL and (migrated := os.environ.get("MIGRATED")):
        (folder / "data").mkdir()
        shutil.copyfile(migrated, folder / "data" / "citeboard.sqlite3")
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    return folder


def folder_of_measurement() -> Path:
    """Return a new folder that is removed at the end, even if a signal ends the
    measurement early.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended before its time"))
    folder = Path(tempfile.mkdtemp(prefix="citeboard-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def own_database() -> str:
    """The address of a new PostgreSQL database, which goes afterwards, on the server that the tests use."""
    import psycopg

    asked = [sys.executable, str(ROOT / "scripts" / "find_postgres.py")]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    if found.returncode:
        sys.exit(found.stderr.strip())
    server, name = found.stdout.strip(), f"citeboard_bench_{secrets.token_hex(4)}"

    def execute(command: str) -> None:
        with psycopg.connect(server, autocommit=True) as control:
            control.execute(command)

    execute(f'CREATE DATABASE "{name}"')
    atexit.register(execute, f'DROP DATABASE "{name}" WITH (FORCE)')
    return f"{server.rpartition('/')[0]}/{name}"


def own_bucket() -> str:
    """The address of a bucket on an S3 server in a process of its own."""
    import boto3

    from tests.faults.serving import free_port, until

    port = free_port()
    command = [
        sys.executable,
        "-c",
        "from moto.server import main; main()",
        "-H",
        "127.0.0.1",
        "-p",
        str(port),
    ]
    server = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    atexit.register(server.kill)
    os.environ |= {"AWS_ACCESS_KEY_ID": "ours", "AWS_SECRET_ACCESS_KEY": "secret"}
    endpoint = f"http://127.0.0.1:{port}"

    def is_made() -> bool:
        with suppress(Exception):
            client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
            client.create_bucket(Bucket="citeboard")
            return True
        return False

    until(is_made, "the S3 server has a bucket")
    return f"s3://citeboard/site?endpoint={endpoint}&region=us-east-1"


def redis_of_measurement(folder: Path) -> str:
    """The address of a Redis that goes with the measurement."""
    from tests.own_redis import own_redis

    kept = ExitStack()
    atexit.register(kept.close)
    return str(kept.enter_context(own_redis(folder)).url)


@contextmanager
def served(
    folder: Path, *, only: str | None = None, **environment: str
) -> Iterator[Any]:
    """`manage.py serve` on that database."""
    from tests.faults.serving import Served

    house = Served(
        {**os.environ, **LOGGED, **environment}, folder / "serve.log", only=only
    )
    try:
        house.wait_until_ready()
        yield house
    finally:
        house.destroy()


@contextmanager
def deployed(
    folder: Path, *, groups: int = 2, **environment: str
) -> Iterator[Deployment]:
    """A site, Redis, and groups of workers as on machines of their own, each under a `serve` of its own."""
    from tests.own_redis import own_redis

    with (
        own_redis(folder) as redis,
        _deployment(folder, redis, environment, groups) as deployment,
    ):
        yield deployment


@contextmanager
def _deployment(
    folder: Path, redis: Any, environment: dict[str, str], groups: int
) -> Iterator[Deployment]:
    deployment = Deployment(
        folder,
        redis,
        {**os.environ, **LOGGED, **environment, "REDIS_URL": redis.url},
        groups,
    )
    try:
        deployment.wait_until_ready()
        yield deployment
    finally:
        deployment.destroy()


class Deployment:
    """Several houses on one database. Of what each group of workers has, somebody's is shown."""

    def __init__(
        self, folder: Path, redis: Any, environment: dict[str, str], groups: int
    ) -> None:
        self.redis = redis
        self._folder, self._environment = folder, environment
        self._chance = random.Random(0)
        self._begun = 0
        self._site = self._served("site")
        self.groups = [self._served("worker") for _ in range(groups)]
        self.port = self._site.port

    def _served(self, only: str) -> Any:
        from tests.faults.serving import Served

        self._begun += 1
        own = {"CITEBOARD_WORK_DIR": str(self._folder / f"work-{self._begun}")}
        log = self._folder / f"serve-{self._begun}.log"
        return Served({**self._environment, **own}, log, only=only)

    def wait_until_ready(self) -> None:
        for house in (self._site, *self.groups):
            house.wait_until_ready()

    def kill_a_group(self) -> None:
        """`serve` of a group, as when its machine is lost; another machine takes its place."""
        lost = self._chance.choice(self.groups)
        lost.process.kill()
        lost.process.wait()
        self.groups.remove(lost)
        self.groups.append(self._served("worker"))
        self.groups[-1].wait_until_ready()
        lost.destroy()

    def kill_redis(self, *, seconds: float) -> None:
        self.redis.kill()
        time.sleep(seconds)
        self.redis.start()

    @property
    def site(self) -> int | None:
        return self._site.site

    @property
    def web_processes(self) -> list[int]:
        return self._site.web_processes

    @property
    def leader(self) -> int | None:
        return self._chance.choice(self.groups).leader

    @property
    def sentinel(self) -> int | None:
        return self._chance.choice(self.groups).sentinel

    @property
    def scorers(self) -> list[int]:
        return [pid for house in self.groups for pid in house.scorers]

    def pid(self, role: str) -> int | None:
        return self._chance.choice(self.groups).pid(role)

    def destroy(self) -> None:
        for house in (self._site, *self.groups):
            house.destroy()
