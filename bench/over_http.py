"""What a reader's pages cost over HTTP: board kept, 304 and made, a run, home and season, beside hello-world.

Usage: python bench/over_http.py [--submissions N ...] [--seconds S]

The site's own server (one process, one thread, with its headers, request ids and counts) on a board of 200
teams and 10 metrics; a client of one connection asks for one page after another. What counts is the server's
CPU time a request, as the kernel counts it; requests a second stand beside it. Hello-world is the liveness
probe of the same server. A board is made in four ways, none of which sends a page that was made before:
computed from the database, as after each new score; the same once a worker has stored its ranks; another view
of a board that was computed, asked for with a query that no page was made for; and the same for somebody who
is signed in.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from board import PATH, ROOT, TEAMS, seed, set_up

TICKS = os.sysconf("SC_CLK_TCK")
BOOT_SECONDS, ROUNDS = 60, 5
HELLO, CACHED, UNCHANGED = (
    "hello-world (liveness probe)",
    "board from the cache",
    "board, 304",
)
FIRST, RANKED, VIEW, OWN = (
    "board, first after a score",
    "board, first with its ranks stored",
    "board, another view of it",
    "board, signed in",
)
RUN = "run, first after a score"
HOME, SEASON, OWN_HOME, OWN_SEASON = (
    "home",
    "season",
    "home, signed in",
    "season, signed in",
)


class Cost(NamedTuple):
    """Of one request: the server's CPU time in ms, and how many there were in a second."""

    cpu: float
    rate: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--submissions", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument(
        "--seconds", type=float, default=4, help="for each page, at most"
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        measure(asked.submissions[0], asked.seconds)
        return
    made: dict[str, dict[int, float]] = {FIRST: {}, RANKED: {}, VIEW: {}, OWN: {}}
    for size in asked.submissions:
        # Each size in a process of its own: Django is set up once, on one database.
        child = [
            sys.executable,
            __file__,
            "--one",
            "--submissions",
            str(size),
            "--seconds",
            str(asked.seconds),
        ]
        told = subprocess.run(
            child, check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        print(told, end="")
        for name, by_size in made.items():
            [line] = [line for line in told.splitlines() if name in line]
            by_size[size] = float(line.split(name)[1].split()[0])
    few, many = min(asked.submissions), max(asked.submissions)
    for name, by_size in made.items():
        print(
            f"{name}, from {few:,} submissions to {many:,}: {by_size[many] / by_size[few]:.2f} times"
        )


def measure(size: int, seconds: float) -> None:
    with tempfile.TemporaryDirectory(prefix="citeboard-bench-") as folder:
        set_up(Path(folder))
        seed(size)
        with server() as (process, port):
            report(size, costs(process, port, seconds))


def costs(process: int, port: int, seconds: float) -> dict[str, Cost]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    tag = _asked(connection, PATH)["ETag"]
    number = itertools.count()

    cookie, run = session(), f"{PATH}runs/{best_run()}/"

    def first(path: str, *, is_ranked: bool = False) -> Callable[[], object]:
        def ask() -> object:
            score_one_anew()
            if is_ranked:
                store_ranks()
            return _asked(connection, path)

        return ask

    def get(path: str, **headers: str) -> Callable[[], object]:
        return lambda: _asked(connection, path, **headers)

    pages: dict[str, Callable[[], object]] = {
        HELLO: get("/health/live"),
        CACHED: get(PATH),
        UNCHANGED: get(PATH, **{"If-None-Match": tag}),
        FIRST: first(PATH),
        RANKED: first(PATH, is_ranked=True),
        # A reader's choice that nobody made before, and that leaves all rows.
        VIEW: lambda: _asked(connection, f"{PATH}?system={next(number)}"),
        OWN: get(PATH, Cookie=cookie),
        RUN: first(run),
        HOME: get("/"),
        SEASON: get("/seasons/bench/"),
        OWN_HOME: get("/", Cookie=cookie),
        OWN_SEASON: get("/seasons/bench/", Cookie=cookie),
    }
    spent: dict[str, list[Cost]] = {name: [] for name in pages}
    # In turn, so that what else the machine does meets all of them alike.
    for _ in range(ROUNDS):
        for name, ask in pages.items():
            spent[name].append(_cost(process, ask, seconds / ROUNDS))
    return {name: sorted(found)[len(found) // 2] for name, found in spent.items()}


def session() -> str:
    """The cookie of somebody who has signed in and is in no team."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    from citeboard.teams.models import User

    user = User.objects.create_user("reader@example.org")
    own = SessionStore()
    own[SESSION_KEY] = str(user.pk)
    own[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    own[HASH_SESSION_KEY] = user.get_session_auth_hash()
    own.save()
    return f"{settings.SESSION_COOKIE_NAME}={own.session_key}"


def best_run() -> int:
    """The first of the board, which has all of its scores."""
    from scoring.models import Evaluation

    return Evaluation.objects.order_by("-rank_value").values_list(
        "submission", flat=True
    )[0]


TIMES = itertools.count()


def score_one_anew() -> None:
    """Of the rows of the board one after the other, which is all that has changed on the next page of it."""
    from scoring.models import Comparison, Evaluation
    from tasks.models.seasons import increment_board_version

    number = next(TIMES)
    pair = Comparison.objects.select_related("second").order_by("pk")[
        number % (TEAMS - 1)
    ]
    Evaluation.objects.filter(pk=pair.second_id).update(statistics=f"s{number}")
    # As the worker says it once a run was scored.
    increment_board_version(pair.second.phase_id, pair.second.team_id)


def store_ranks() -> None:
    """As a worker does after each score, outside of the server."""
    from scoring.results.board.standings import compute_board
    from scoring.results.board.visibility import Audience
    from tasks.models import Phase

    phase = Phase.objects.select_related("task__season").get()
    compute_board(phase, None, audience=Audience.ORGANISER, stores_ranks=True)


def report(size: int, found: dict[str, Cost]) -> None:
    for name, cost in found.items():
        share = found[HELLO].cpu / cost.cpu
        print(
            f"{size:>9,} submissions: {name:<34} {cost.cpu:6.2f} ms CPU, {share:5.0%} of hello-world,"
            f" {cost.rate:6.0f} a second ({cost.rate / found[HELLO].rate:4.0%})"
        )


def _cost(process: int, ask: Callable[[], object], seconds: float) -> Cost:
    for _ in range(3):
        ask()
    before, began, count = _cpu(process), time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        ask()
        count += 1
    return Cost(
        (_cpu(process) - before) * 1000 / count, count / (time.perf_counter() - began)
    )


def _cpu(process: int) -> float:
    """Seconds of the server and of what it has started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return _own_cpu(process) + sum(_own_cpu(int(child)) for child in children)


def _own_cpu(process: int) -> float:
    # In nanoseconds, for each thread; the older count in ticks is too coarse for a fraction of a second.
    return sum(
        int((task / "schedstat").read_text().split()[0]) / 1e9
        for task in Path(f"/proc/{process}/task").iterdir()
    )


def _asked(
    connection: http.client.HTTPConnection, path: str, **headers: str
) -> http.client.HTTPMessage:
    connection.request("GET", path, headers={"Accept-Encoding": "gzip", **headers})
    response = connection.getresponse()
    response.read()
    assert response.status in (200, 304), f"{path} was answered {response.status}"
    return response.headers


@contextmanager
def server() -> Iterator[tuple[int, int]]:
    """The process and the port of one site."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {
        "PYTHONPATH": f"{ROOT / 'platform'}{os.pathsep}{ROOT}",
        "CITEBOARD_ALLOWED_HOSTS": "127.0.0.1",
    }
    command = [
        sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port),
        "--workers", "1", "--blocking-threads", "1", "--log-level", "error", "citeboard.wsgi:application",
    ]  # fmt: skip
    process = subprocess.Popen(command, env=environment, cwd=ROOT)
    try:
        _wait_for(port)
        yield process.pid, port
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(port: int) -> None:
    end = time.monotonic() + BOOT_SECONDS
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            assert time.monotonic() < end, (
                f"the server did not answer within {BOOT_SECONDS} seconds"
            )
            time.sleep(0.1)


if __name__ == "__main__":
    main()
