"""A copy of the site for drills, which sends no mail and no webhooks.

The copy of the site has its own folder, database and port.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import DatabaseError, connection

from citeboard.ops.backups import write_backup
from citeboard.ops.drill.door import InterruptibleProxy
from citeboard.ops.drill.own_redis import TemporaryRedisServer

#: A drill waits at most START_TIMEOUT_SECONDS seconds for the copy of the site to start or recover.
START_TIMEOUT_SECONDS = 300.0
#: The timeout REQUEST_TIMEOUT_SECONDS exceeds the 20 s that uploads may wait for SQLite's lock.
REQUEST_TIMEOUT_SECONDS = 60.0
#: The site's copy inherits only the variables in INHERITED_VARIABLES, which contain no server address.
INHERITED_VARIABLES = (
    "PATH",
    "HOME",
    "LANG",
    "CITEBOARD_CONFINEMENT",
    "CITEBOARD_SHARED",
)
#: The script PREPARE_SITE_COPY_SCRIPT removes the webhooks and the upload limits of the copied site.
PREPARE_SITE_COPY_SCRIPT = """
from tasks.models import Delivery, Phase, Webhook
Delivery.objects.all().delete()
Webhook.objects.all().delete()
Phase.objects.update(runs_per_day=None, runs_in_total=None)
"""


class SiteCopyFailed(Exception):
    """The copy of the site cannot be created or does not start."""


@dataclass(frozen=True)
class SiteResponse:
    """A response of the copy of the site.

    ``status`` is 0 if the site did not respond. The keys of ``headers`` are header
    names in lower case.
    """

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def facts(self) -> dict[str, Any]:
        with suppress(ValueError):
            found = json.loads(self.body)
            if isinstance(found, dict):
                return found
        return {}


@dataclass
class SiteCopy:
    """A copy of the site in ``folder``, with its own database and port.

    ``token`` is an API token that permits submitting ``run`` to ``phase``.
    """

    folder: Path
    environment: dict[str, str]
    door: InterruptibleProxy | None = None
    phase: int = 0
    token: str = ""
    run: Path = Path()
    process: subprocess.Popen[bytes] | None = None
    redis: TemporaryRedisServer | None = None
    wrapper: tuple[str, ...] = ()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def database(self) -> Path:
        return self.folder / "database" / "citeboard.sqlite3"

    @property
    def is_sqlite(self) -> bool:
        return self.door is None

    def manage(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *words]
        if self.wrapper and self.is_alive():
            command = [*self.build_namespace_command(), *command]
        return subprocess.run(
            command,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def build_namespace_command(self) -> list[str]:
        """Return the command prefix that enters the mount namespace of the copy."""
        assert self.process is not None
        command = ["nsenter", "--target", str(self.process.pid), "--mount"]
        if "--user" in self.wrapper:
            command += ["--user", "--preserve-credentials"]
        return command

    def required(self, *words: str) -> str:
        done = self.manage(*words)
        if done.returncode:
            raise SiteCopyFailed(f"{words[0]}: {done.stderr.strip()[-1000:]}")
        return done.stdout

    def prepare(self) -> None:
        facts = json.loads(
            self.required("demo", "--only", "begin", "--json").strip().splitlines()[-1]
        )
        self.required("shell", "--verbosity", "0", "-c", PREPARE_SITE_COPY_SCRIPT)
        phase = facts["phases"][0]
        self.token, self.phase = facts["token"], phase["id"]
        self.run = Path(phase["example_run"])

    @contextmanager
    def served(self) -> Iterator[None]:
        log = (self.folder / "log").open("ab")
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "serve"]
        self.process = subprocess.Popen(
            [*self.wrapper, *command],
            env=self.environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            wait_until(self.is_ready, "the copy does not start", alive=self.is_alive)
            yield
        finally:
            self._stop()
            log.close()

    def is_alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def is_ready(self) -> bool:
        return self.get("/health/ready").status == 200

    def _stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def get(self, path: str) -> SiteResponse:
        return self._send_request("GET", path, None, {})

    def upload(self) -> SiteResponse:
        """Submit the run that the drill uses, under a new system name."""
        boundary = uuid.uuid4().hex
        name = f"drill {uuid.uuid4().hex[:8]}"
        parts = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="system"\r\n\r\n{name}\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="run"; filename="{self.run.name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        ).encode()
        body = parts + self.run.read_bytes() + f"\r\n--{boundary}--\r\n".encode()
        headers = {
            "Authorization": f"Token {self.token}",
            "Content-Type": f"multipart/form-data; boundary={boundary}",
        }
        path = f"/api/v1/phases/{self.phase}/submissions/"
        return self._send_request("POST", path, body, headers)

    def fetch_run_status(self, submission: int) -> str:
        path = f"/api/v1/submissions/{submission}/"
        headers = {"Authorization": f"Token {self.token}"}
        return str(
            self._send_request("GET", path, None, headers).facts.get("status", "")
        )

    def _send_request(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> SiteResponse:
        port = int(self.environment["PORT"])
        line = HTTPConnection("127.0.0.1", port, timeout=REQUEST_TIMEOUT_SECONDS)
        try:
            line.request(method, path, body, headers)
            answer = line.getresponse()
            given = {name.lower(): value for name, value in answer.getheaders()}
            return SiteResponse(answer.status, given, answer.read())
        except (OSError, HTTPException):
            return SiteResponse(0)
        finally:
            line.close()


def wait_until(
    condition: Callable[[], bool],
    otherwise: str,
    *,
    alive: Callable[[], bool] = lambda: True,
) -> float:
    """Wait until the condition is true, and return the waiting time in seconds.

    Raises SiteCopyFailed if the condition is still false after START_TIMEOUT_SECONDS.
    """
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > START_TIMEOUT_SECONDS or not alive():
            raise SiteCopyFailed(otherwise)
        time.sleep(0.5)
    return time.monotonic() - began


@contextmanager
def restore_site_copy(folder: Path) -> Iterator[SiteCopy]:
    """Restore a backup of the site into a folder, and yield the copy of the site.

    At the end of the block, the copy's database is dropped.
    """
    (folder / "database").mkdir(parents=True)
    (folder / "work").mkdir()
    with _create_empty_database(folder) as (address, door):
        copy = SiteCopy(folder, _build_environment_variables(folder, address), door)
        write_backup(folder / "backup", with_secret=True, is_incremental=False)
        copy.required("migrate", "--verbosity", "0")
        copy.required("restore", str(folder / "backup"), "--overwrite")
        shutil.rmtree(folder / "backup")
        copy.prepare()
        yield copy


def _build_environment_variables(folder: Path, address: str) -> dict[str, str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    kept = {
        name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ
    }
    path = os.pathsep.join(
        [str(settings.BASE_DIR / "platform"), str(settings.BASE_DIR)]
    )
    return kept | {
        "PYTHONPATH": path,
        "DJANGO_SETTINGS_MODULE": "citeboard.settings",
        "DATABASE_URL": address,
        "PORT": str(port),
        "CITEBOARD_DATA_DIR": str(folder / "data"),
        "CITEBOARD_WORK_DIR": str(folder / "work"),
        "CITEBOARD_INSECURE_HTTP": "yes",
    }


@contextmanager
def _create_empty_database(
    folder: Path,
) -> Iterator[tuple[str, InterruptibleProxy | None]]:
    """Yield the URL of an empty database, and the proxy in front of the database
    server.

    The empty database is of the same kind (SQLite or PostgreSQL) as the site's
    database. The proxy is None for SQLite.
    """
    if connection.vendor == "sqlite":
        yield f"sqlite:///{folder / 'database' / 'citeboard.sqlite3'}", None
        return
    with connection.cursor() as cursor:
        server = connection.connection.info
        name = f"{server.dbname[:40]}_drill_{uuid.uuid4().hex[:8]}"
        try:
            cursor.execute(f'CREATE DATABASE "{name}"')
        except DatabaseError as reason:
            raise SiteCopyFailed(
                f"the drill needs a database of its own beside {server.dbname}: {reason}"
            ) from reason
    door = InterruptibleProxy(server.host, server.port)
    try:
        # A user name or password may contain characters with a meaning in URLs.
        parts = filter(None, (server.user, server.password))
        user = ":".join(quote(part, safe="") for part in parts)
        yield f"postgres://{user}@127.0.0.1:{door.port}/{name}", door
    finally:
        door.close()
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
