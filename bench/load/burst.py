"""Many uploads at once: 200 of 20 accounts, 40 at a time, then 36 of one account, 12 at a time.

Usage: python bench/load/burst.py [--topology sqlite|postgresql]

The site and its workers are started as `serve` does it, with the default settings. No upload is sent twice.
Exits 1 unless every upload was answered 201 or 202, each run that was taken is scored once with the numbers
of the offline scorer, and the board has every team.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))

from clients import Answer, Client, Record, form_of, shown
from house import GROWN, SMALL, TOPOLOGIES, deployed, served, set_up
from rush import PACE, run_of

ACCOUNTS, UPLOADS, AT_ONCE, OF_ONE, OF_ONE_AT_ONCE = 20, 200, 40, 36, 12
TAKEN = {201, 202}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topology", choices=list(TOPOLOGIES), default=SMALL)
    parser.add_argument(
        "--minutes", type=float, default=15, help="for scoring what was taken"
    )
    given = parser.parse_args()
    folder = set_up(given.topology)
    from django.core.management import call_command

    call_command("collectstatic", verbosity=0, interactive=False)
    start = deployed if given.topology == GROWN else served
    burst = Burst()
    with start(folder, **PACE) as house:
        print(TOPOLOGIES[given.topology])
        many = [(number % ACCOUNTS, number) for number in range(UPLOADS)]
        burst.send(
            house.port, f"{UPLOADS} uploads of {ACCOUNTS}", many, at_once=AT_ONCE
        )
        one = [(ACCOUNTS, UPLOADS + number) for number in range(OF_ONE)]
        burst.send(house.port, f"{OF_ONE} uploads of one", one, at_once=OF_ONE_AT_ONCE)
        burst.record.show()
        burst.wait(given.minutes * 60)
        broken = burst.broken_promises(house.port)
    for promise in broken:
        print(f"BROKEN: {promise}")
    sys.exit(1 if broken else 0)


class Burst:
    def __init__(self) -> None:
        from citeboard.teams.models import Token
        from tests.factories import make_phase, make_team, make_user

        self.phase = make_phase(runs_in_total=None, runs_per_day=None)
        users = [make_user(password=None) for _ in range(ACCOUNTS + 1)]
        self.teams = [
            make_team(season=self.phase.task.season, lead=user) for user in users
        ]
        self.tokens = [
            Token.objects.create_token(user=user, name="burst")[1] for user in users
        ]
        self.record = Record()

    def send(
        self, port: int, what: str, sent: Sequence[tuple[int, int]], *, at_once: int
    ) -> None:
        """Each as the account's number and the run's."""
        path = f"/api/v1/phases/{self.phase.pk}/submissions/"

        def one(which: tuple[int, int]) -> Answer:
            account, number = which
            body, kind = form_of(
                {"system": f"System {number}"}, run_of(account, number)
            )
            headers = {
                "Authorization": f"Token {self.tokens[account]}",
                "Content-Type": kind,
            }
            return Client(port).ask("POST", path, body, headers)

        with ThreadPoolExecutor(at_once) as pool:
            for answer in pool.map(one, sent):
                self.record.note(what, answer, TAKEN)
                if answer.status not in TAKEN:
                    self.record.broken.append(
                        f"{what}: {answer.status} {answer.body[:200]!r}"
                    )

    def wait(self, seconds: float) -> None:
        from tasks.models import Job, Submission

        moving = Submission.objects.filter(
            phase=self.phase, status__in=Submission.MOVING
        )
        until = time.monotonic() + seconds
        while moving.exists() and time.monotonic() < until:
            time.sleep(0.2)
        jobs = Job.objects.filter(state=Job.State.DONE).select_related("submission")
        waited = [
            (job.finished_at - job.submission.submitted_at).total_seconds()
            for job in jobs
        ]
        print(f"{'from upload to scores':<22} {len(waited):>7,} {shown(waited)}")

    def broken_promises(self, port: int) -> list[str]:
        from tasks.models import Submission
        from tests.faults.promises import is_sound

        found = list(dict.fromkeys(self.record.broken))[:10]
        runs = list(Submission.objects.filter(phase=self.phase))
        if len(runs) != UPLOADS + OF_ONE:
            found.append(f"{len(runs)} of {UPLOADS + OF_ONE} runs are stored")
        unsound = sum(not is_sound(run) for run in runs)
        if unsound:
            found.append(
                f"{unsound} runs are not scored exactly once, as the offline scorer scores them"
            )
        board = Client(port).ask("GET", f"/api/v1/phases/{self.phase.pk}/leaderboard/")
        rows: list[Any] = json.loads(board.body)["rows"]
        if len({row["team"] for row in rows}) != ACCOUNTS + 1:
            found.append(f"the board has {len(rows)} rows of {ACCOUNTS + 1} teams")
        return found


if __name__ == "__main__":
    main()
