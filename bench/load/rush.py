"""The last minutes before a deadline: many teams send at once, while others read the board.

Usage: python bench/load/rush.py [--topology sqlite|postgresql] [--teams N] [--uploads N] [--seconds S]

The site and its workers are started as `serve` does it, with the default settings but two: all readers share
one address here, so that its limit on requests is lifted. Every team may have half as many runs as it sends,
and every tenth sends a broken file first. A quarter of the teams use the form of the page, the others
the API. Uploads come ever faster until the end. Who is answered 503 comes back after `Retry-After`; a form
that is taken is answered 302, as forms are. After the deadline the phase is closed, and some more are sent.

Exits 1 unless every answer was 2xx, 302, 304, 409, 422, 429, or 503 with `Retry-After`; every team has
exactly as many runs as its limit; each run that was taken is there once and scored once, with the numbers
that the offline scorer gives; and the board holds every team once, in order.
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
import queue
import random
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))

from clients import MAX_RETRIES, Answer, Client, Record, form_of, shown, signed_in
from house import GROWN, SMALL, TOPOLOGIES, deployed, served, set_up
from processor import computing_seconds, database_seconds

#: As `serve` has them by default.
PACE = {
    "CITEBOARD_LEASE_SECONDS": "30",
    "CITEBOARD_SWEEP_SECONDS": "10",
    "CITEBOARD_FAST_LANE": "yes",
    "CITEBOARD_LOG_LEVEL": "INFO",
}
SENDERS, LATE = 64, 20
BROKEN = b'{"topic": \n'
#: Answers of five kinds, so that teams differ.
KINDS = 5


@dataclass(frozen=True, kw_only=True)
class Sent:
    """One file of a team, and when it is sent, in seconds from the beginning."""

    team: int
    number: int
    at: float
    content: bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topology", choices=list(TOPOLOGIES), default=SMALL)
    parser.add_argument("--teams", type=int, default=500)
    parser.add_argument("--uploads", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument(
        "--minutes", type=float, default=30, help="for scoring what was taken"
    )
    given = parser.parse_args()
    if given.uploads % given.teams or given.uploads < 2 * given.teams:
        parser.error("every team sends as many files, and two or more")
    folder = set_up(
        given.topology, CITEBOARD_API_ANONYMOUS_REQUESTS_PER_MINUTE="1000000"
    )
    from django.core.management import call_command

    call_command("collectstatic", verbosity=0, interactive=False)
    start = deployed if given.topology == GROWN else served
    rush = Rush(given.teams, given.uploads // given.teams)
    with start(folder, **PACE) as house:
        print(
            f"{TOPOLOGIES[given.topology]}: {given.teams} teams, {given.uploads} uploads in "
            f"{given.seconds:g} s, {given.readers} readers"
        )
        rush.send_and_read(house.port, given.seconds, given.readers)
        rush.send_late(house.port)
        rush.record.show()
        rush.wait_until_scored(given.minutes * 60)
        rush.show_costs(house)
    broken = rush.broken_promises()
    for promise in broken:
        print(f"BROKEN: {promise}")
    if not broken:
        kept = f"{given.teams * rush.limit} runs of {given.teams} teams are stored, {rush.limit} of each"
        print(f"{kept}, and scored once.")
    sys.exit(1 if broken else 0)


class Rush:
    """A phase with its teams, what they send, and what became of it."""

    def __init__(self, teams: int, per_team: int) -> None:
        from citeboard.teams.models import Token
        from tests.factories import make_phase, make_team, make_user

        self.limit = per_team // 2
        self.per_team = per_team
        self.phase = make_phase(runs_in_total=self.limit, runs_per_day=None)
        self.users = [make_user(password=None) for _ in range(teams)]
        self.teams = [
            make_team(season=self.phase.task.season, lead=user) for user in self.users
        ]
        self.tokens = [
            Token.objects.create_token(user=user, name="load")[1] for user in self.users
        ]
        self.cookies = {
            team: signed_in(self.users[team])
            for team in range(teams)
            if self.uses_form(team)
        }
        task = self.phase.task
        self.page = f"/seasons/{task.season.slug}/{task.slug}/{self.phase.slug}/"
        self.record = Record()
        #: How many runs each team was told that are taken.
        self.taken: Counter[int] = Counter()
        self._lock = threading.Lock()

    @staticmethod
    def uses_form(team: int) -> bool:
        return team % 4 == 0

    def files(self, seconds: float) -> list[Sent]:
        """Their number grows evenly with time until the end; in no order between the files of a team."""
        chance = random.Random(0)
        found = []
        for team in range(len(self.teams)):
            for number in range(self.per_team):
                is_broken = number == 0 and team % 10 == 0
                content = BROKEN if is_broken else run_of(team, number)
                at = seconds * math.sqrt(chance.random())
                found.append(Sent(team=team, number=number, at=at, content=content))
        return sorted(found, key=lambda sent: sent.at)

    def send_and_read(self, port: int, seconds: float, readers: int) -> None:
        files = self.files(seconds)
        waiting: queue.SimpleQueue[Sent | None] = queue.SimpleQueue()
        began = time.monotonic()
        done = threading.Event()
        late: list[float] = []
        senders = [
            threading.Thread(target=self._send_from, args=(waiting, port, began, late))
            for _ in range(min(SENDERS, len(files)))
        ]
        reading = [
            threading.Thread(target=self._read, args=(port, done, place))
            for place in range(readers)
        ]
        for thread in (*senders, *reading):
            thread.start()
        for sent in files:
            time.sleep(max(0.0, began + sent.at - time.monotonic()))
            waiting.put(sent)
        for _ in senders:
            waiting.put(None)
        for thread in senders:
            thread.join()
        done.set()
        for thread in reading:
            thread.join()
        print(
            f"all were answered after {time.monotonic() - began:.0f} s; the {len(senders)} senders "
            f"began {max(late):.1f} s late at most"
        )

    def _send_from(
        self,
        waiting: queue.SimpleQueue[Sent | None],
        port: int,
        began: float,
        late: list[float],
    ) -> None:
        client = Client(port)
        while (sent := waiting.get()) is not None:
            late.append(time.monotonic() - began - sent.at)
            for _ in range(MAX_RETRIES):
                answer = self.send(client, sent)
                if answer.status != 503 or answer.retry_after is None:
                    break
                time.sleep(answer.retry_after)

    def send(self, client: Client, sent: Sent) -> Answer:
        if self.uses_form(sent.team):
            return self._send_by_form(client, sent)
        headers = {
            "Authorization": f"Token {self.tokens[sent.team]}",
            "Idempotency-Key": f"run-{sent.number}",
        }
        body, kind = form_of({"system": f"System {sent.number}"}, sent.content)
        path = f"/api/v1/phases/{self.phase.pk}/submissions/"
        answer = client.ask("POST", path, body, {**headers, "Content-Type": kind})
        self._note("upload by API", sent, answer, 201, 202)
        return answer

    def _send_by_form(self, client: Client, sent: Sent) -> Answer:
        session, secret = self.cookies[sent.team]
        cookies = f"sessionid={session}; csrftoken={secret}"
        fields = {
            "csrfmiddlewaretoken": secret,
            "system": f"System {sent.number}",
            "kind": "primary",
        }
        body, kind = form_of(fields, sent.content)
        answer = client.ask(
            "POST",
            f"{self.page}submit/",
            body,
            {"Cookie": cookies, "Content-Type": kind},
        )
        self._note("upload by form", sent, answer, 302)
        return answer

    def _note(self, what: str, sent: Sent, answer: Answer, *taken: int) -> None:
        self.record.note(what, answer, taken)
        if answer.status in taken:
            with self._lock:
                self.taken[sent.team] += 1

    def _read(self, port: int, done: threading.Event, place: int) -> None:
        """A visitor who looks at the board each second, and now and then at something else."""
        client, seen = Client(port), {}
        pages = {
            "read board": self.page,
            "read home": "/",
            "read season": f"/seasons/{self.phase.task.season.slug}/",
            "read board by API": f"/api/v1/phases/{self.phase.pk}/leaderboard/",
        }
        names = [
            "read board",
            "read board by API",
            "read board",
            "read home",
            "read board",
            "read season",
        ]
        number = place
        while not done.wait(1.0):
            what = names[number % len(names)]
            number += 1
            headers = {"If-None-Match": seen[what]} if what in seen else {}
            answer = client.ask("GET", pages[what], headers=headers)
            if answer.status == 200 and "etag" in answer.headers:
                seen[what] = answer.headers["etag"]
            self.record.note(what, answer, {200, 304})

    def send_late(self, port: int) -> None:
        """Once the phase is over, nobody's run is taken."""
        self.phase.closes = dt.datetime.now(dt.UTC)
        self.phase.save()
        client = Client(port)
        for team in range(min(LATE, len(self.teams))):
            self.send(
                client,
                Sent(
                    team=team,
                    number=self.per_team,
                    at=0,
                    content=run_of(team, self.per_team),
                ),
            )

    def wait_until_scored(self, seconds: float) -> None:
        from tasks.models import Submission

        moving = Submission.objects.filter(status__in=Submission.MOVING)
        left, end = moving.count(), time.monotonic() + seconds
        began = time.monotonic()
        while moving.exists() and time.monotonic() < end:
            time.sleep(0.5)
        lasted = time.monotonic() - began
        print(
            f"{left} runs were still to be scored then; {lasted:.0f} s later {moving.count()}"
        )

    def show_costs(self, house: Any) -> None:
        from tasks.models import Job

        jobs = list(Job.objects.filter(state=Job.State.DONE))
        if not jobs:
            return
        waited = [
            (job.finished_at - job.submission.submitted_at).total_seconds()
            for job in jobs
        ]
        lasted = (
            max(job.finished_at for job in jobs) - min(job.started_at for job in jobs)
        ).total_seconds()
        print(f"{'from upload to scores':<22} {len(jobs):>7,} {shown(waited)}")
        groups = getattr(house, "groups", [house])
        web, work = (
            computing_seconds(house.site),
            sum(computing_seconds(group.leader) for group in groups),
        )
        print(
            f"{len(jobs) / max(lasted, 0.001):.1f} runs scored a second; computing time in all: "
            f"{web:.0f} s for requests, {work:.0f} s for scoring, {database_seconds():.0f} s in PostgreSQL"
        )

    def broken_promises(self) -> list[str]:
        from scoring.results.board.standings import compute_board
        from tasks.models import Phase, Submission
        from tests.faults.promises import kept, recomputed

        found = [
            f"an answer that nobody should get: {told}"
            for told in self.record.broken[:10]
        ]
        runs = list(Submission.objects.filter(phase=self.phase).order_by("pk"))
        by_team = Counter(run.team_id for run in runs)
        for place, team in enumerate(self.teams):
            if not by_team[team.pk] == self.taken[place] == self.limit:
                found.append(
                    f"{team}: {by_team[team.pk]} runs stored, {self.taken[place]} told, limit {self.limit}"
                )
        contents = Counter((run.team_id, run.sha256) for run in runs)
        found += [
            f"stored {times} times: {key}"
            for key, times in contents.items()
            if times > 1
        ]
        expected: dict[tuple[str, ...], dict[str, float | None]] = {}
        places = {team.pk: place for place, team in enumerate(self.teams)}
        for run in runs:
            evaluations = list(run.evaluations.select_related("gold", "phase__task"))
            if run.status != "scored" or len(evaluations) != len(self.phase.task.rules):
                found.append(
                    f"run {run.pk} is {run.status} with {len(evaluations)} evaluations: {run.reason}"
                )
                continue
            for evaluation in evaluations:
                key = (str(places[run.team_id] % KINDS), evaluation.rules)
                if key not in expected:
                    expected[key] = recomputed(evaluation)
                if kept(evaluation) != expected[key]:
                    found.append(
                        f"run {run.pk} has other numbers than the offline scorer gives"
                    )
        phase = Phase.objects.select_related("task__season").get(pk=self.phase.pk)
        rows = compute_board(phase, None).rows
        values = [row.value for row in rows]
        if len(rows) != len(self.teams) or values != sorted(values, reverse=True):
            found.append(
                f"the board has {len(rows)} rows, in order: {values == sorted(values, reverse=True)}"
            )
        return found


def run_of(team: int, number: int) -> bytes:
    """A valid run whose bytes are nobody else's, and whose numbers are those of the team's kind."""
    from tests.factories import run_bytes

    return (
        run_bytes(sentences=(str(team % KINDS),))
        + b" " * (1 + team)
        + b"\n" * (1 + number)
    )


if __name__ == "__main__":
    main()
