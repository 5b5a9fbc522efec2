"""What each page, upload and scoring costs in computing time and bytes, with few and with many runs stored.

Usage: python bench/load/costs.py [--topology sqlite|postgresql] [--runs N ...] [--seasons N] [--requests N]

The site has so many seasons of three tasks. The phase that is asked about has so many scored runs of 200
teams. Requests come one after the other by HTTP. Computing time is that of the site's processes and, beside
it, that of PostgreSQL's for this database, by the kernel's count, so that what else the machine does matters
little. Boards are asked for unchanged (304), as a process keeps them, and made anew after a score. Uploads go
to that phase too; scorings are those of another one with two topics. Exits 1 if an answer was not as it
should be, if an upload is not there, or if with the most runs anything but `/metrics` takes more than
three times the computing time that it takes with the fewest.
"""

from __future__ import annotations

import argparse
import datetime as dt
import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))

from clients import Answer, Client, form_of, signed_in
from house import GROWN, SMALL, TOPOLOGIES, served, set_up
from processor import computing_seconds, database_seconds, megabytes

MOST_TIMES = 3.0
#: It counts the jobs that were ever done, so that its histogram never falls, whichever process is asked.
GROWS = "/metrics"
#: Milliseconds of which the kernel's count is not sure, over all requests.
UNSURE = 1.0
WARM_UP = 12
PACE = {
    "CITEBOARD_LEASE_SECONDS": "30",
    "CITEBOARD_SWEEP_SECONDS": "10",
    "CITEBOARD_FAST_LANE": "no",
    "CITEBOARD_LOG_LEVEL": "INFO",
}


@dataclass(frozen=True)
class Cost:
    """Milliseconds of computing a time, by the site and by PostgreSQL, and bytes of an answer."""

    what: str
    site: float
    database: float
    size: int = 0
    compressed: int = 0

    @property
    def whole(self) -> float:
        return self.site + self.database


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topology", choices=list(TOPOLOGIES), default=SMALL)
    parser.add_argument("--runs", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--seasons", type=int, default=100)
    parser.add_argument("--requests", type=int, default=150)
    given = parser.parse_args()
    if len(given.runs) == 1:
        told = measured(given.topology, given.runs[0], given.seasons, given.requests)
        print(json.dumps([asdict(cost) for cost in told]))
        return
    sizes = sorted(given.runs)
    costs = {}
    for size in sizes:
        # Each in a process of its own: Django is set up once, on one database.
        own = [
            "--topology",
            given.topology,
            "--runs",
            str(size),
            "--requests",
            str(given.requests),
        ]
        own += ["--seasons", str(given.seasons)]
        done = subprocess.run(
            [sys.executable, __file__, *own],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"BROKEN: with {size:,} runs")
        costs[size] = [
            Cost(**cost) for cost in json.loads(done.stdout.splitlines()[-1])
        ]
    print(TOPOLOGIES[given.topology].split(", ")[0])
    sys.exit(0 if show(costs) else 1)


def show(costs: dict[int, list[Cost]]) -> bool:
    """Whether everything grows as little as it should."""
    few, many = min(costs), max(costs)
    head = f"{'computing time a time':<26} {f'{few:,} runs':>14} {f'{many:,} runs':>14} {'times':>6}"
    print(f"{head} {'PostgreSQL':>11} {'bytes':>9} {'gzip':>8}")
    is_kept = True
    for before, after in zip(costs[few], costs[many], strict=True):
        times = after.whole / max(before.whole, 0.01)
        print(
            f"{after.what:<26} {before.whole:>11.1f} ms {after.whole:>11.1f} ms {times:>6.2f}"
            f" {after.database:>8.1f} ms {after.size or '':>9} {after.compressed or '':>8}"
        )
        if (
            after.what != GROWS
            and times > MOST_TIMES
            and after.whole - before.whole > UNSURE
        ):
            print(f"BROKEN: {after.what} takes more than {MOST_TIMES:g} times as long")
            is_kept = False
    return is_kept


def measured(topology: str, runs: int, seasons: int, requests: int) -> list[Cost]:
    from django.core.management import call_command

    many = {
        "CITEBOARD_API_UPLOADS_PER_MINUTE": "100000",
        "CITEBOARD_API_REQUESTS_PER_MINUTE": "1000000",
    }
    many["CITEBOARD_API_ANONYMOUS_REQUESTS_PER_MINUTE"] = "1000000"
    folder = set_up(topology, with_redis=topology == GROWN, **many)
    call_command("collectstatic", verbosity=0, interactive=False)
    stored = Stored(runs, seasons)
    with served(folder, only="site", **PACE) as house:
        site = Site(house, stored, requests)
        costs = [*site.pages(), site.uploads()]
        memory = megabytes(house.process.pid)
    with served(folder, only="worker", **PACE) as house:
        costs.append(scorings(house, max(10, requests // 5)))
        told = f"{memory:.0f} MB of memory for the site, {megabytes(house.process.pid):.0f} MB for a group"
    print(f"{runs:,} runs: {told} with one worker", file=sys.stderr)
    return costs


class Stored:
    """A phase with runs among other seasons, and somebody who sends more."""

    def __init__(self, runs: int, seasons: int) -> None:
        from board import fill
        from django.db import connection
        from django.utils import timezone

        from citeboard.teams.models import Token
        from scoring.models import Evaluation
        from tasks.models import Gold, Job, Submission
        from tests.factories import make_phase, make_season, make_task, make_team

        for _ in range(seasons - 1):
            season = make_season()
            for _ in range(3):
                make_phase(task=make_task(season=season), with_gold=False)
        self.phase = make_phase()
        gold = Gold.objects.current(self.phase)
        fill(self.phase, gold, runs)
        done = {
            "gold": gold,
            "rules": "corrected",
            "sets_status": True,
            "state": "done",
        }
        # Some days ago: whose turn it is follows from what was begun lately.
        at = timezone.now() - dt.timedelta(days=5)
        Job.objects.bulk_create(
            [
                Job(
                    submission=run,
                    started_at=at,
                    finished_at=at + dt.timedelta(seconds=run.number),
                    **done,
                )
                for run in self.phase.submissions.all()
            ],
            batch_size=1000,
        )
        connection.cursor().execute("ANALYZE")
        self.team = make_team(
            season=self.phase.task.season, name="Sender", slug="sender"
        )
        _, self.token = Token.objects.create_token(
            user=self.team.memberships.get().user, name="load"
        )
        lead = self.team.memberships.get().user
        self.cookie = {"Cookie": f"sessionid={signed_in(lead)[0]}"}
        self.run = Submission.objects.filter(phase=self.phase).order_by("pk").first()
        Submission.objects.filter(pk=self.run.pk).update(
            team=self.team, submitted_by=lead
        )
        Evaluation.objects.filter(submission=self.run).update(team=self.team)
        task = self.phase.task
        self.season = f"/seasons/{task.season.slug}/"
        self.board = f"{self.season}{task.slug}/{self.phase.slug}/"

    def change(self) -> None:
        """As when a run is scored."""
        from django.db.models import F

        from tasks.models import Phase

        Phase.objects.filter(pk=self.phase.pk).update(version=F("version") + 1)


class Site:
    def __init__(self, house: Any, stored: Stored, requests: int) -> None:
        self.house, self.stored, self.requests = house, stored, requests
        self.client = Client(house.port)

    def pages(self) -> list[Cost]:
        stored = self.stored
        api = f"/api/v1/phases/{stored.phase.pk}/leaderboard/"
        lists = [
            self.read("liveness probe", "/health/live"),
            self.read("home, kept", "/"),
            self.read("home, made anew", "/", before=stored.change),
            self.read("season, kept", stored.season),
            self.read("season, made anew", stored.season, before=stored.change),
        ]
        etag = self.client.ask("GET", stored.board).headers["etag"]
        return [
            *lists,
            self.read(
                "board, 304", stored.board, status=304, headers={"If-None-Match": etag}
            ),
            self.read("board, kept", stored.board),
            self.read("board, made anew", stored.board, before=stored.change),
            self.read("board by API, made anew", api, before=stored.change),
            self.read(
                "a run, by its team",
                f"/submissions/{stored.run.pk}/",
                headers=stored.cookie,
            ),
            self.read(
                "the form of uploads", f"{stored.board}submit/", headers=stored.cookie
            ),
            self.read(GROWS, "/metrics"),
        ]

    def read(
        self,
        what: str,
        path: str,
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        before: Callable[[], None] | None = None,
    ) -> Cost:
        sizes = []

        def ask() -> None:
            if before is not None:
                before()
            answer = self.client.ask("GET", path, headers=headers)
            refuse_other(what, answer, status)
            sizes.append(answer.body)

        spent = self.spent(ask, WARM_UP, self.requests)
        compressed = len(gzip.compress(sizes[-1], 6)) if sizes[-1] else 0
        return Cost(what, *spent, len(sizes[-1]), compressed)

    def uploads(self) -> Cost:
        from tasks.models import Job, Submission
        from tests.factories import other_run

        stored, sent = self.stored, []
        path = f"/api/v1/phases/{stored.phase.pk}/submissions/"
        before = Submission.objects.count()

        def send() -> None:
            body, kind = form_of({"system": "System"}, other_run(len(sent) + 1))
            headers = {"Authorization": f"Token {stored.token}", "Content-Type": kind}
            answer = self.client.ask("POST", path, body, headers)
            refuse_other("upload", answer, 201)
            sent.append(json.loads(answer.body)["id"])

        spent = self.spent(send, WARM_UP, max(20, self.requests // 3))
        if Submission.objects.count() - before != len(set(sent)) or len(
            set(sent)
        ) != len(sent):
            sys.exit("BROKEN: an upload is lost or double")
        # Scorings are measured elsewhere; the board of these 200 teams has no matrices to compare by.
        Job.objects.filter(submission__in=sent).update(state=Job.State.CANCELLED)
        return Cost("upload", *spent)

    def spent(
        self, work: Callable[[], None], warm_up: int, times: int
    ) -> tuple[float, float]:
        """Milliseconds a time, by the site and by PostgreSQL."""
        for _ in range(warm_up):
            work()
        site, database = computing_seconds(self.house.process.pid), database_seconds()
        for _ in range(times):
            work()
        site = computing_seconds(self.house.process.pid) - site
        return 1000 * site / times, 1000 * max(
            0.0, database_seconds() - database
        ) / times


def scorings(house: Any, runs: int) -> Cost:
    """From the claim to the scores, with the scorer's own work and the comparisons of the board."""
    from tests.factories import make_phase, make_submission, make_team

    phase = make_phase()
    team = make_team(season=phase.task.season, name="Scored", slug="scored")

    def send(number: int) -> None:
        sent = [make_submission(phase=phase, team=team) for _ in range(number)]
        while any(run.is_moving for run in sent):
            time.sleep(0.2)
            for run in sent:
                run.refresh_from_db()
        if any(run.status != "scored" for run in sent):
            sys.exit("BROKEN: a run was not scored")

    send(3)
    site, database = computing_seconds(house.process.pid), database_seconds()
    send(runs)
    site = computing_seconds(house.process.pid) - site
    return Cost(
        "scoring",
        1000 * site / runs,
        1000 * max(0.0, database_seconds() - database) / runs,
    )


def refuse_other(what: str, answer: Answer, status: int) -> None:
    if answer.status != status:
        sys.exit(f"BROKEN: {what} was answered {answer.status}: {answer.body[:300]!r}")


if __name__ == "__main__":
    main()
