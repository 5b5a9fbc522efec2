"""Play a failover of PostgreSQL while runs are sent: one server becomes read-only, another
takes over.

Usage: python bench/faults/failover.py [--uploads N]

The script starts two PostgreSQL servers, the second as a standby of the first.
DATABASE_URL names both with `target_session_attrs=read-write`. One client sends runs
without a pause. The first server refuses writes but goes on answering, as after a
failover; then the second is promoted. Uploads must be answered 503 with `Retry-After`
meanwhile and be taken afterwards without a new start of the site. Exits 1 after any
other answer, or if an accepted run is not stored exactly once and scored.
"""

from __future__ import annotations

import argparse
import atexit
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
from house import ROOT, folder_of_measurement
from upgrade import PREPARE, Broken, Client, Release, require_all, wait_until_scored

sys.path.insert(0, str(ROOT))

from tests.faults.serving import free_port, until

NAME = "citeboard"
#: Seconds during which no server accepts writes.
BETWEEN = 10.0
PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
#: A server of a measurement need not survive the machine.
FAST = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"


class Server:
    """A PostgreSQL server in a folder of its own, which ends with the measurement."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()

    def make(self) -> None:
        run("initdb", "-D", str(self.folder), "-U", "postgres", "--auth", "trust")

    def copy(self, other: Server) -> None:
        """Make this server a standby of the other."""
        run(
            "pg_basebackup",
            "-D",
            str(self.folder),
            "-d",
            other.address(),
            "-R",
            "-X",
            "stream",
        )

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= {FAST}"
        log = f"{self.folder}.log"
        run("pg_ctl", "-D", str(self.folder), "-l", log, "-w", "-o", options, "start")
        atexit.register(
            run, "pg_ctl", "-D", str(self.folder), "-m", "immediate", "stop"
        )

    def promote(self) -> None:
        run("pg_ctl", "-D", str(self.folder), "-w", "promote")

    def address(self, database: str = "postgres") -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}"

    def ask(self, statement: str, database: str = "postgres") -> Any:
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            answer = connection.execute(statement)
            return answer.fetchone() if answer.description else None


def run(program: str, *words: str) -> None:
    """Run a program of PostgreSQL, which refuses to be root."""
    command = [str(PROGRAMS[-1] / program), *words]
    if os.getuid() == 0:
        switch = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        command = [*switch, *command]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uploads", type=int, default=10)
    given = parser.parse_args()
    if not PROGRAMS:
        sys.exit("no PostgreSQL is installed below /usr/lib/postgresql")
    folder = folder_of_measurement()
    folder.chmod(0o711)
    servers = folder / "servers"
    servers.mkdir()
    if os.getuid() == 0:
        subprocess.run(["chown", "postgres", str(servers)], check=True)
    first, second = Server(servers / "first"), Server(servers / "second")
    first.make()
    first.start()
    first.ask(f"CREATE DATABASE {NAME}")
    second.copy(first)
    second.start()
    site = folder / "site"
    site.mkdir()
    hosts = f"host=127.0.0.1,127.0.0.1&port={first.port},{second.port}"
    address = f"postgres://postgres@/{NAME}?{hosts}&target_session_attrs=read-write"
    release = Release("this tree", ROOT, site, address)
    try:
        played(release, first, second, given.uploads)
    except (Broken, AssertionError) as reason:
        sys.exit(f"BROKEN: {reason}")


def played(release: Release, first: Server, second: Server, uploads: int) -> None:
    release.manage("migrate", "--verbosity", "0")
    phase, token, run_bytes = release.asked(PREPARE)
    client = Client(phase, token, run_bytes.encode())
    with release.served(client), client.sending():
        client.wait_for(uploads)
        first.ask("ALTER SYSTEM SET default_transaction_read_only = on")
        first.ask("SELECT pg_reload_conf()")
        began = time.monotonic()
        time.sleep(BETWEEN)
        until(lambda: is_level(first), "the standby has everything")
        second.promote()
        promoted = time.monotonic()
        client.wait_for(1)
        back = time.monotonic() - promoted
        client.wait_for(uploads)
        client.end()
        wait_until_scored(release)
        taken = list(client.taken)
        require_all(taken, release)
    answers = ", ".join(
        f"{count} × {status}" for status, count in sorted(client.answers.items())
    )
    print(
        f"no server took writes for {promoted - began:.0f} s; {answers}; uploads were taken again "
        f"{back:.1f} s after the second server was promoted; all {len(taken)} runs are scored"
    )
    if others := set(client.answers) - {201, 202, 503}:
        raise Broken(f"uploads were answered {sorted(others)}")


def is_level(first: Server) -> bool:
    row = first.ask(
        "SELECT replay_lsn >= pg_current_wal_lsn() FROM pg_stat_replication"
    )
    return bool(row and row[0])


if __name__ == "__main__":
    main()
