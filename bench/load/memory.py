"""Measure how much memory a site and its workers gain while they answer requests and score
runs.

Usage: python bench/load/memory.py [--topology sqlite|postgresql] [--requests N] [--scorings N]

The site is started as `serve` starts it. Four clients read pages and the API in rounds;
in each round runs are uploaded, and the round ends when all of them are scored. Memory
is measured between rounds, while nothing is asked: anonymous memory of `serve`, of the
web processes with those that read files, and of the processes of the queue. Shared
memory counts once. The process of a single scoring is left out, as it ends with the
scoring. A worker that replaces another shares its memory with its parent until it has
scored a run, so runs are sent until no worker is new. A first round warms up and does
not count. Exits 1 after a wrong answer or
score, or if memory grew by 5 % or more in at least 20 rounds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))

from clients import Answer, Client, form_of, signed_in
from house import GROWN, SMALL, TOPOLOGIES, served, set_up

LARGEST_GROWTH = 0.05
ROUNDS, CLIENTS = 20, 4
#: Samples of one measurement, and seconds between them.
SAMPLES, PAUSE = 5, 1.0
PATIENCE = 1800.0
UNLIMITED = {
    "CITEBOARD_API_UPLOADS_PER_MINUTE": "1000000",
    "CITEBOARD_API_REQUESTS_PER_MINUTE": "1000000",
    "CITEBOARD_API_ANONYMOUS_REQUESTS_PER_MINUTE": "1000000",
}
#: The defaults of `serve`; INFO appears only in the log.
PACE = {
    "CITEBOARD_LEASE_SECONDS": "30",
    "CITEBOARD_SWEEP_SECONDS": "10",
    "CITEBOARD_FAST_LANE": "no",
    "CITEBOARD_LOG_LEVEL": "INFO",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topology", choices=list(TOPOLOGIES), default=SMALL)
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--scorings", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    folder = set_up(given.topology, with_redis=given.topology == GROWN, **UNLIMITED)
    from django.core.management import call_command

    call_command("collectstatic", verbosity=0, interactive=False)
    print(TOPOLOGIES[given.topology].split(", ")[0])
    requests, runs = given.requests // given.rounds, given.scorings // given.rounds
    with served(folder, **PACE) as house:
        load = Load(house)
        load.play(requests, runs)
        before = measure_used_workers(load, house)
        print(f"{'requests':>8} {'scorings':>8} {'  '.join(before)} MB")
        show(0, 0, before)
        for number in range(1, given.rounds + 1):
            load.play(requests, runs)
            after = measure_used_workers(load, house)
            show(number * requests, number * runs, after)
    growth = sum(after.values()) / sum(before.values()) - 1
    print(f"all together {100 * growth:+.1f} %")
    is_kept = growth < LARGEST_GROWTH or given.rounds < ROUNDS
    if not is_kept:
        print(f"BROKEN: less than {100 * LARGEST_GROWTH:g} % was wanted")
    sys.exit(0 if is_kept else 1)


def show(requests: int, scorings: int, memory: dict[str, float]) -> None:
    cells = "  ".join(f"{value:>{len(name)}.1f}" for name, value in memory.items())
    print(f"{requests:>8,} {scorings:>8,} {cells}", flush=True)


class Load:
    """Two teams that send runs to a phase, and the addresses that are read meanwhile."""

    def __init__(self, house: Any) -> None:
        from citeboard.teams.models import Token
        from tests.factories import make_phase, make_submission, make_team

        self.phase = make_phase(runs_per_day=None, runs_in_total=None)
        season = self.phase.task.season
        teams = [make_team(season=season) for _ in range(2)]
        leads = [team.memberships.get().user for team in teams]
        self._tokens = [
            Token.objects.create_token(user=lead, name="load")[1] for lead in leads
        ]
        session, _secret = signed_in(leads[0])
        first = make_submission(phase=self.phase, team=teams[0])
        self._client = Client(house.port)
        self._lock = threading.Lock()
        self._sent = 0
        self._paths = self._read_paths(first.pk, {"Cookie": f"sessionid={session}"})

    def _read_paths(
        self, run: int, cookie: dict[str, str]
    ) -> Iterator[tuple[str, dict[str, str]]]:
        season = f"/seasons/{self.phase.task.season.slug}/"
        board = f"{season}{self.phase.task.slug}/{self.phase.slug}/"
        public = ["/", season, board, f"/api/v1/phases/{self.phase.pk}/leaderboard/"]
        own = [board, f"{board}submit/", f"/submissions/{run}/"]
        return cycle(
            [*((path, {}) for path in public * 2), *((path, cookie) for path in own)]
        )

    def play(self, requests: int, runs: int) -> None:
        """Send the requests, including the uploads; return when all runs are scored."""
        every = max(1, requests // runs) if runs else requests + 1
        with ThreadPoolExecutor(CLIENTS) as pool:
            turns = (number % every == 0 for number in range(requests))
            list(pool.map(self._ask, turns))
        self._wait_until_scored()

    def _ask(self, is_upload: bool) -> None:
        with self._lock:
            path, headers = next(self._paths)
            self._sent += is_upload
            number = self._sent
        if is_upload:
            answer, expected = self._upload(number), {201, 202}
        else:
            answer, expected = self._client.ask("GET", path, headers=headers), {200}
        if answer.status not in expected:
            sys.exit(
                f"BROKEN: {path} was answered {answer.status}: {answer.body[:300]!r}"
            )

    def _upload(self, number: int) -> Answer:
        from tests.factories import other_run

        body, kind = form_of({"system": "System"}, other_run(number))
        token = self._tokens[number % 2]
        headers = {"Authorization": f"Token {token}", "Content-Type": kind}
        path = f"/api/v1/phases/{self.phase.pk}/submissions/"
        return self._client.ask("POST", path, body, headers)

    def _wait_until_scored(self) -> None:
        from tasks.models import Job, Submission

        moving = Submission.objects.filter(status__in=Submission.MOVING)
        busy = Job.objects.filter(state__in=(Job.State.QUEUED, Job.State.RUNNING))
        end = time.monotonic() + PATIENCE
        while moving.exists() or busy.exists():
            if time.monotonic() > end:
                sys.exit(f"BROKEN: {moving.count()} runs are still to be scored")
            time.sleep(0.5)
        if lost := Submission.objects.exclude(status=Submission.Status.SCORED).count():
            sys.exit(f"BROKEN: {lost} runs were not scored")


def measure_used_workers(load: Load, house: Any) -> dict[str, float]:
    """Measure memory while every worker of the queue has scored a run."""
    while True:
        before = find_workers(house)
        load.play(1, 1)
        memory = measured(house)
        if find_workers(house) <= before:
            return memory


def find_workers(house: Any) -> set[int]:
    return {process.pid for process in family(house.leader) if not is_scorer(process)}


def measured(house: Any) -> dict[str, float]:
    """Return megabytes of anonymous memory by part of the site, each a median of
    samples.
    """
    samples = []
    for _ in range(SAMPLES):
        time.sleep(PAUSE)
        samples.append(
            {
                "serve": megabytes([psutil.Process(house.process.pid)]),
                "web processes": megabytes(family(house.site)),
                "queue": megabytes(family(house.leader)),
            }
        )
    return {
        name: statistics.median(sample[name] for sample in samples)
        for name in samples[0]
    }


def family(pid: int | None) -> list[psutil.Process]:
    if pid is None:
        sys.exit("BROKEN: a part of the site is not running")
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def is_scorer(process: psutil.Process) -> bool:
    """Tell whether a process scores one run, or forks such processes."""
    with suppress(psutil.NoSuchProcess):
        return "scoring.worker.confined" in process.cmdline()
    return True


def megabytes(processes: list[psutil.Process]) -> float:
    total = 0
    for process in processes:
        with suppress(psutil.NoSuchProcess, OSError):
            if is_scorer(process):
                continue
            rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
            total += sum(
                int(line.split()[1])
                for line in rollup.splitlines()
                if line.startswith("Pss_Anon:")
            )
    return total / 1000


if __name__ == "__main__":
    main()
