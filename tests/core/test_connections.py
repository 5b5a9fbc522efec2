"""The threads of a web process share few connections to PostgreSQL."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from tests.conftest import ROOT
from tests.own_database import empty_system

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

BEGIN = """
import django, json, threading
from citeboard.core.connections import return_connections_to_pool, enable_connection_pool
enable_connection_pool()
django.setup()
from django.db import connection, connections

def process_of_server():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]
"""
#: Six threads query at once, each of them twice.
SIX_THREADS = """
start, found = threading.Barrier(6), []

def ask():
    start.wait(30)
    for _ in range(2):
        found.append(process_of_server())
        connection.close()

threads = [threading.Thread(target=ask) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps([len(found), len(set(found))]))
"""
#: A thread keeps its connection object, and returns the connection to the pool while it waits.
GIVEN_BACK = """
held, may_end = threading.Barrier(3), threading.Event()

def hold():
    process_of_server()
    return_connections_to_pool()
    held.wait(30)
    may_end.wait(30)

threads = [threading.Thread(target=hold) for _ in range(2)]
for thread in threads: thread.start()
held.wait(30)
print(json.dumps(process_of_server() > 0))
may_end.set()
"""
#: The server ends the pooled connection.
ENDED = """
first = process_of_server()
connection.close()
import psycopg
parameters = connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}
with psycopg.connect(**parameters, autocommit=True) as other:
    other.execute("SELECT pg_terminate_backend(%s, 5000)", [first])
print(json.dumps(process_of_server() != first))
"""
#: The server refused a write, so the pool drops the connection.
GIVEN_UP = """
first = process_of_server()
connection.is_given_up = True
connection.close_if_unusable_or_obsolete()
print(json.dumps(process_of_server() != first))
"""


def printed_by(program: str, folder: Path) -> object:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has no server whose connections could run out")
    with empty_system(folder / "site") as environment:
        done = subprocess.run(
            [sys.executable, "-c", BEGIN + program],
            cwd=ROOT / "platform",
            env={
                **environment,
                "PYTHONPATH": f"{ROOT / 'platform'}:{ROOT}",
                "CITEBOARD_DATABASE_CONNECTIONS": "2",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_six_threads_share_two_connections(tmp_path: Path) -> None:
    asked, processes = printed_by(SIX_THREADS, tmp_path)  # type: ignore[misc]
    assert asked == 12
    assert processes <= 2


def test_a_waiting_thread_leaves_its_connection_to_others(tmp_path: Path) -> None:
    assert printed_by(GIVEN_BACK, tmp_path) is True


def test_a_connection_that_the_server_ended_is_replaced(tmp_path: Path) -> None:
    assert printed_by(ENDED, tmp_path) is True


def test_a_connection_that_may_not_write_is_not_kept(tmp_path: Path) -> None:
    assert printed_by(GIVEN_UP, tmp_path) is True
