"""Play an upgrade from the last release to this tree while runs are sent, and the way back
by a restore.

Usage: python bench/faults/upgrade.py [--topology sqlite|postgresql] [--uploads N] [--release VERSION]

docs/releases.md has the commit of VERSION, which is the last release by default. One client sends runs
without a pause, each until it is taken, by an `Idempotency-Key`. Meanwhile the old release makes a backup
and ends, `migrate` of the new release runs by itself, and the new release starts: every run that was taken
must be there once, scored. Then the site goes back: `later_runs` saves what came after the backup, and the
old release restores it. It must have the runs of the backup and no others, and take the saved files again.
At the end the site is upgraded once more. At least N runs come before the backup, between it and the end of
the old release, and after the upgrade. Exits 1 if a run was lost, double or not listed, or if an upload was
answered 500.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
from house import GROWN, ROOT, SMALL, TOPOLOGIES, folder_of_measurement, own_database

sys.path.insert(0, str(ROOT))

from scripts.release import commits
from tests.faults.serving import Served, until

#: Timeout of each step in seconds; the machine may be busy.
PATIENCE = 1200.0
PAUSE = 0.2  # seconds between two uploads
PREPARE = """
from citeboard.teams.models import Token
from tests.factories import make_phase, make_team, run_bytes
import json
phase = make_phase(runs_per_day=None, runs_in_total=None)
team = make_team(season=phase.task.season)
token = Token.objects.create_token(user=team.memberships.get().user, name="upgrade")[1]
print(json.dumps([phase.pk, token, run_bytes().decode()]))
"""
STORED = """
from tasks.models import Submission
import json
runs = Submission.objects.values_list("idempotency_key", "status", "sha256")
print(json.dumps(sorted(runs)))
"""


class Broken(Exception):
    """A promise of the upgrade that was not kept."""


class Release:
    """The programs of a release on the site's database and data folder."""

    def __init__(self, name: str, root: Path, site: Path, database: str) -> None:
        self.name, self._root, self._site = name, root, site
        inherited = {
            key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ
        }
        self._environment = inherited | {
            "DATABASE_URL": database,
            "CITEBOARD_DATA_DIR": str(site / "data"),
            "CITEBOARD_WORK_DIR": str(site / f"work-{name}"),
            "CITEBOARD_INSECURE_HTTP": "yes",
            "CITEBOARD_LOG_LEVEL": "INFO",
            "CITEBOARD_API_UPLOADS_PER_MINUTE": "100000",
            "CITEBOARD_API_REQUESTS_PER_MINUTE": "100000",
            # The watchdog of 0.3.0 measures time by the wall clock.
            "CITEBOARD_START_SECONDS": "600",
            "PYTHONPATH": os.pathsep.join([str(root), str(root / "platform")]),
        }

    def move_to(self, database: str) -> None:
        self._environment["DATABASE_URL"] = database

    def manage(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=self._root,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise Broken(f"{self.name}, {words[0]}: {done.stdout}{done.stderr}")
        return done.stdout

    def asked(self, code: str) -> Any:
        """Run the code in a shell of the release, and return its output, decoded from
        JSON.
        """
        said = self.manage("shell", "-c", code)
        return json.loads(said.strip().splitlines()[-1])

    def stored(self) -> dict[str, str]:
        """Return the status of each stored run by its key. Raises Broken if a run is
        stored twice.
        """
        rows = self.asked(STORED)
        keys = Counter(key for key, _status, _sha256 in rows)
        if double := [key for key, count in keys.items() if count > 1]:
            raise Broken(f"{self.name}: stored more than once: {double}")
        return {key: status for key, status, _sha256 in rows}

    @contextmanager
    def served(self, client: Client) -> Iterator[None]:
        log = self._site / f"{self.name}-{time.monotonic_ns()}.log"
        house = Served(self._environment, log, only=None, root=self._root)
        try:
            until(
                lambda: (
                    "Citeboard is ready" in house.said()
                    or house.process.poll() is not None
                ),
                f"{self.name} is ready",
                within=PATIENCE,
            )
            client.port = house.port
            yield
            client.port = None
            house.stop()
        finally:
            house.destroy()


class Client:
    """Sends one run after the other, each until the site accepts it; pauses while the
    site is down.
    """

    def __init__(self, phase: int, token: str, run: bytes) -> None:
        self._path = f"/api/v1/phases/{phase}/submissions/"
        self._token, self._run = token, run
        self.port: int | None = None
        self.taken: list[str] = []
        self.answers: Counter[int] = Counter()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._send_all, daemon=True)

    @contextmanager
    def sending(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self.end()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _send_all(self) -> None:
        number = 1
        while not self._ended.wait(PAUSE):
            key = f"run-{number}"
            if self.send(key, self.content(number)):
                self.taken.append(key)
                number += 1

    def content(self, number: int) -> bytes:
        return self._run + b" " * number + b"\n"

    def send(self, key: str, content: bytes) -> bool:
        """Send a run once; return True if the site accepted it. Status 0 counts missing
        answers.
        """
        port = self.port
        try:
            answer = httpx.post(
                f"http://127.0.0.1:{port or 1}{self._path}",
                headers={
                    "Authorization": f"Token {self._token}",
                    "Idempotency-Key": key,
                },
                data={"system": key},
                files={"run": ("run.jsonl", content)},
                timeout=120,
                trust_env=False,
            )
        except httpx.HTTPError:
            self.answers[0] += 1
            return False
        self.answers[answer.status_code] += 1
        return answer.status_code in (200, 201, 202)

    def wait_for(self, more: int) -> None:
        wanted = len(self.taken) + more
        until(lambda: len(self.taken) >= wanted, "runs are taken", within=PATIENCE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topology", choices=list(TOPOLOGIES), default=SMALL)
    parser.add_argument("--uploads", type=int, default=10)
    released = commits((ROOT / "docs" / "releases.md").read_text(encoding="utf-8"))
    parser.add_argument("--release", choices=released, default=next(iter(released)))
    given = parser.parse_args()
    folder = folder_of_measurement()
    site = folder / "site"
    site.mkdir()
    database = (
        own_database()
        if given.topology == GROWN
        else f"sqlite:///{site / 'data' / 'citeboard.sqlite3'}"
    )
    unpack(released[given.release], folder / given.release)
    old = Release(given.release, folder / given.release, site, database)
    new = Release("this tree", ROOT, site, database)
    try:
        played(old, new, folder, given.uploads, given.topology == GROWN)
    except (Broken, AssertionError) as reason:
        sys.exit(f"BROKEN: {reason}")


def unpack(commit: str, folder: Path) -> None:
    """Write the tree of a commit into a new folder."""
    command = ["git", "-C", str(ROOT), "archive", commit]
    packed = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder)  # noqa: S202  (our own tree)


def played(
    old: Release, new: Release, folder: Path, uploads: int, own_databases: bool
) -> None:
    backup, saved = folder / "backup", folder / "saved"
    old.manage("migrate", "--verbosity", "0")
    phase, token, run = old.asked(PREPARE)
    client = Client(phase, token, run.encode())
    with client.sending():
        with old.served(client):
            client.wait_for(uploads)
            before = set(client.taken)
            old.manage("backup", str(backup))
            client.wait_for(uploads)
        began = time.monotonic()
        new.manage("migrate", "--verbosity", "0")
        migrated = time.monotonic() - began
        with new.served(client):
            stopped = time.monotonic() - began
            client.wait_for(uploads)
            client.end()
            wait_until_scored(new)
    taken = list(client.taken)
    tell(f"{old.name} to {new.name}", client, taken)
    print(f"no site answered for {stopped:.0f} s, of which {migrated:.0f} s to migrate")
    require_all(taken, new)

    said = new.manage("later_runs", str(backup), "--save", str(saved))
    lines = (saved / "runs.jsonl").read_text().splitlines()
    listed = {facts["idempotency_key"]: facts for facts in map(json.loads, lines)}
    if own_databases:
        # 0.3.0 keeps the tables of a newer release, and its next migration then fails.
        empty = own_database()
        old.move_to(empty)
        new.move_to(empty)
    old.manage("restore", str(backup), "--overwrite")
    there = set(old.stored())
    print(f"restored by {old.name}: {len(there)} runs; {said.splitlines()[-1]}")
    if missing := before - there:
        raise Broken(f"taken before the backup and not restored: {missing}")
    if there | set(listed) != set(taken) or there & set(listed):
        raise Broken("the list is not what the backup lacks")

    with old.served(client):
        for key, facts in listed.items():
            content = (saved / facts["path"]).read_bytes()
            until(
                lambda key=key, content=content: client.send(key, content),
                "a saved run is taken again",
                within=PATIENCE,
            )
        wait_until_scored(old)
    require_all(taken, old)
    print(f"sent again to {old.name}: {len(listed)} runs; all {len(taken)} are scored")

    new.manage("migrate", "--verbosity", "0")
    said = new.manage("send_again", str(saved))
    with new.served(client):
        wait_until_scored(new)
    require_all(taken, new)
    print(f"upgraded once more: {said.strip().splitlines()[-1]}")
    if client.answers[500]:
        raise Broken(f"{client.answers[500]} uploads were answered 500")


def tell(what: str, client: Client, taken: list[str]) -> None:
    answers = ", ".join(
        f"{count} × {status or 'no answer'}"
        for status, count in sorted(client.answers.items())
    )
    print(f"{what}: {len(taken)} runs taken; {answers}")


def wait_until_scored(release: Release) -> None:
    end = time.monotonic() + PATIENCE
    while waiting := [
        key for key, status in release.stored().items() if status != "scored"
    ]:
        if time.monotonic() > end:
            raise Broken(f"{release.name}: not scored: {waiting}")
        time.sleep(2)


def require_all(taken: list[str], release: Release) -> None:
    stored = release.stored()
    if lost := [key for key in taken if stored.get(key) != "scored"]:
        raise Broken(f"{release.name}: lost or not scored: {lost}")
    # If the client lost an answer, it sent a stored run again.
    if others := set(stored) - set(taken):
        raise Broken(f"{release.name}: stored and never taken: {others}")


if __name__ == "__main__":
    main()
