"""kill -9 of every process that a run passes through, again and again, while runs come in.

Usage: python bench/faults/kills.py [--topology sqlite|postgresql] [--kills N] [--minutes M] [--only NAME ...]

Leases of 2 s and sweeps every second. On SQLite a house of its own: site and two workers. On PostgreSQL a
site, a Redis, an S3 server and two groups of workers, each under a `serve` of its own; there whole groups are
killed too, Redis, and every connection to the database. For each kill two runs are uploaded through HTTP, one
before and one after it, so that the kill meets a run at any point of its way; an idle process is killed
before both. What was answered with 201 must be there at the end, once, scored exactly once, and equal to a
recomputation from scratch. Exits 1 if anything was lost, double or wrong, or took too long.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from house import GROWN, SMALL, TOPOLOGIES, deployed, served, set_up

#: Lease and sweep, the watchdog's shortest patience, a start anew, and a run of scoring, on a busy machine.
LONGEST = 60.0
REDIS_AWAY = 5.0  # seconds


@dataclass
class Fault:
    """One kind of kill: how it is done, and what came of all of them."""

    name: str
    strike: Callable[[Any], None]
    is_idle: bool = False
    kills: int = 0
    unanswered: int = 0
    waits: list[float] = field(default_factory=list)
    submissions: list[int] = field(default_factory=list)


def of_process(find: Callable[[Any], int | None]) -> Callable[[Any], None]:
    """Kills the process that is found, once there is one."""

    def strike(house: Any) -> None:
        from tests.faults.serving import kill, until

        victims: list[int] = []

        def is_found() -> bool:
            victims.extend(filter(None, [find(house)]))
            return bool(victims)

        until(is_found, "there is somebody to kill")
        kill(victims[0])

    return strike


def faults(chance: random.Random, topology: str) -> list[Fault]:
    def one_of(find: Callable[[Any], list[int]]) -> Callable[[Any], int | None]:
        def choose(house: Any) -> int | None:
            found = find(house)
            return chance.choice(found) if found else None

        return choose

    found = [
        Fault("worker", of_process(lambda house: house.pid("worker"))),
        Fault(
            "idle worker", of_process(lambda house: house.pid("worker")), is_idle=True
        ),
        Fault("scorer", of_process(one_of(lambda house: house.scorers))),
        Fault("pusher", of_process(lambda house: house.pid("pusher"))),
        Fault("monitor", of_process(lambda house: house.pid("monitor"))),
        Fault("sentinel", of_process(lambda house: house.sentinel)),
        Fault("parent of the queue", of_process(lambda house: house.leader)),
        Fault("web process", of_process(one_of(lambda house: house.web_processes))),
        Fault("parent of the site", of_process(lambda house: house.site)),
    ]
    if topology == GROWN:
        found += [
            Fault("a whole group", lambda house: house.kill_a_group()),
            Fault("Redis", lambda house: house.kill_redis(seconds=REDIS_AWAY)),
            Fault("all connections", lambda house: end_connections()),
        ]
    return found


def end_connections() -> None:
    """Those of every process but this one to the database, at once, as when its server is started anew."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topology", choices=list(TOPOLOGIES), default=SMALL)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument(
        "--minutes", type=float, default=30, help="no kill begins after so long"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help="kill these alone, named as in the table",
    )
    given = parser.parse_args()
    many = {
        "CITEBOARD_API_UPLOADS_PER_MINUTE": "10000",
        "CITEBOARD_API_REQUESTS_PER_MINUTE": "100000",
    }
    folder = set_up(given.topology, with_bucket=given.topology == GROWN, **many)
    with started(folder, given.topology) as house:
        done = kill_again_and_again(house, given)
        is_sound = examine(done, given.topology)
    sys.exit(0 if is_sound else 1)


def started(folder: Path, topology: str) -> AbstractContextManager[Any]:
    if topology == GROWN:
        return deployed(folder, groups=2, CITEBOARD_WORKERS="1")
    return served(folder, CITEBOARD_WORKERS="2")


def kill_again_and_again(house: Any, given: argparse.Namespace) -> list[Fault]:
    from citeboard.teams.models import Token
    from tests.factories import make_phase, make_team

    phase = make_phase()
    team = make_team(season=phase.task.season)
    _, token = Token.objects.create_token(
        user=team.memberships.get().user, name="bench"
    )
    chance = random.Random(given.seed)
    kinds = [
        fault
        for fault in faults(chance, given.topology)
        if not given.only or fault.name in given.only
    ]
    end = time.monotonic() + given.minutes * 60
    for number in range(given.kills):
        if time.monotonic() > end:
            print(f"time is up after {number} kills")
            break
        # Portions with seeds of their own begin with kinds of their own.
        fault = kinds[(number + given.seed) % len(kinds)]
        strike(
            house,
            fault,
            Sender(house, phase, token, number),
            pause=chance.uniform(0, 0.8),
        )
    return kinds


def strike(house: Any, fault: Fault, sender: Sender, *, pause: float) -> None:
    """Two uploads with the kill between them, and the time until both are scored."""
    began = time.monotonic()
    before = threading.Thread(target=sender.send, args=(fault,))
    if not fault.is_idle:
        before.start()
        time.sleep(pause)
    fault.strike(house)
    fault.kills += 1
    if fault.is_idle:
        before.start()
    before.join()
    sender.send(fault)
    sender.wait_until_settled()
    fault.waits.append(time.monotonic() - began)


class Sender:
    """Uploads for one kill; a file and a key of its own each time, sent until the site has answered."""

    def __init__(self, house: Any, phase: Any, token: str, number: int) -> None:
        self.house, self.phase, self.token = house, phase, token
        self.number = 2 * number
        self.sent: list[int] = []

    def send(self, fault: Fault) -> None:
        from tests.factories import other_run
        from tests.faults.uploading import upload

        self.number += 1
        content, key = other_run(self.number), f"run-{self.number}"
        while (
            answered := upload(
                self.house.port, self.phase.pk, self.token, content, key=key
            )
        ) is None:
            fault.unanswered += 1
            time.sleep(0.1)
        fault.submissions.append(answered)
        self.sent.append(answered)

    def wait_until_settled(self) -> None:
        from tasks.models import Submission
        from tests.faults.serving import until

        mine = Submission.objects.filter(pk__in=self.sent, status__in=Submission.MOVING)
        until(
            lambda: not mine.exists(),
            "both runs have come to an end",
            within=10 * LONGEST,
        )


def examine(done: list[Fault], topology: str) -> bool:
    """Prints what came of each kind of kill; whether every promise was kept."""
    from tasks.models import Job, Phase, Submission
    from tests.faults.promises import assert_board_is_in_order

    print(TOPOLOGIES[topology])
    print(
        f"{'killed':<20} {'kills':>5} {'uploads':>7} {'attempts':>8} {'no answer':>9}"
        f" {'lost':>5} {'double':>6} {'wrong':>5} {'longest':>9}"
    )
    total = dict.fromkeys(("lost", "double", "wrong"), 0)
    longest = 0.0
    for fault in done:
        uploads = len(fault.submissions)
        jobs = Job.objects.filter(submission__in=fault.submissions)
        attempts = sum(jobs.values_list("attempt", flat=True))
        found = [broken_promise(pk) for pk in fault.submissions]
        counts = {name: found.count(name) for name in total}
        total = {name: total[name] + count for name, count in counts.items()}
        longest = max([longest, *fault.waits])
        print(
            f"{fault.name:<20} {fault.kills:>5} {uploads:>7} {attempts:>8} {fault.unanswered:>9}"
            f" {counts['lost']:>5} {counts['double']:>6} {counts['wrong']:>5}"
            f" {max(fault.waits, default=0.0):>7.1f} s"
        )
    uploads = sum(len(fault.submissions) for fault in done)
    # What nobody was told of is double as well: a run that was sent again and taken twice.
    total["double"] += Submission.objects.count() - uploads
    assert_board_is_in_order(Phase.objects.get())
    kills = sum(fault.kills for fault in done)
    print(
        f"{kills} kills, {uploads} uploads: {total['lost']} lost, {total['double']} double,"
        f" {total['wrong']} wrong; the longest was unfinished for {longest:.1f} s"
    )
    print("The board equals a recomputation from scratch.")
    return not any(total.values()) and longest < LONGEST


def broken_promise(pk: int) -> str:
    """lost, double or wrong; empty for a run that is there and scored exactly once."""
    from tasks.models import Submission
    from tests.faults.promises import is_sound

    run = Submission.objects.filter(pk=pk).first()
    if run is None or run.status != "scored":
        return "lost"
    if run.evaluations.count() > len(run.phase.task.rules):
        return "double"
    return "" if is_sound(run) else "wrong"


if __name__ == "__main__":
    main()
