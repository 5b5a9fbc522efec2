"""A board of 200 teams and 10 metrics: its table uncached, its page from the cache, 304, and hello-world.

Usage: python bench/board.py [--submissions N ...]

CPU time of one process, median of many calls, on a SQLite file of its own. Hello-world is the site's own
liveness probe, which asks nothing of the database: all requests go through the same middleware. Runs that
do not count have one score instead of ten, since no board reads them; of those that do each two are compared.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TEAMS, METRICS = 200, 10
PATH = "/seasons/bench/task/phase/"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--submissions", type=int, nargs="+", default=[1_000, 10_000, 100_000]
    )
    sizes = parser.parse_args().submissions
    tables = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="citeboard-bench-") as folder:
            child = [sys.executable, __file__, "--submissions", str(size)]
            if len(sizes) > 1:
                # Each size in a process of its own: Django is set up once, on one database.
                tables[size] = float(
                    subprocess.run(child, check=True, capture_output=True, text=True)
                    .stdout.splitlines()[-1]
                    .split()[-1]
                )
            else:
                measure(size, Path(folder))
    if tables:
        for size, milliseconds in tables.items():
            print(f"{size:>9,} submissions: table uncached {milliseconds:6.2f} ms CPU")
        print(
            f"from the fewest to the most: {tables[max(tables)] / tables[min(tables)]:.2f} times"
        )


def measure(size: int, folder: Path) -> None:
    set_up(folder)
    seed(size)
    from django.core.cache import caches
    from django.test import Client

    client = Client()
    etag = client.get(PATH)["ETag"]
    seen = {"If-None-Match": etag}

    def uncached() -> None:
        for name in ("pages", "results", "boards"):
            caches[name].clear()
        assert client.get(PATH).status_code == 200

    def unchanged() -> None:
        assert client.get(PATH, headers=seen).status_code == 304

    rows = {
        "hello-world (liveness probe)": lambda: client.get("/health/live"),
        "page from the cache": lambda: client.get(PATH),
        "304": unchanged,
        "page uncached": uncached,
        "table uncached": table_of_the_board(),
    }
    taken = {name: milliseconds(call) for name, call in rows.items()}
    hello = next(iter(taken.values()))
    for name, own in taken.items():
        print(
            f"{size:>9,} submissions: {name:<30} {own:6.2f} ms CPU, {hello / own:5.0%} of hello-world"
        )
    print(
        f"page of {len(client.get(PATH).content) / 1e3:.0f} kB; table uncached {taken['table uncached']:.3f}"
    )


def table_of_the_board() -> Callable[[], Any]:
    """Standings and the table made of them. What comparisons say of ranks is kept, as between two scores."""
    from django.http import QueryDict
    from django.template.loader import render_to_string

    from citeboard.web.boards.board_page import BoardPage
    from scoring.results.board.query import BoardQuery
    from scoring.results.board.standings import compute_board
    from tasks.models import Phase

    query = BoardQuery.of(QueryDict())

    def made() -> str:
        phase = Phase.objects.select_related("task__season").get()
        board = compute_board(phase, None)
        page = BoardPage(board, query)
        return render_to_string("boards/_table.html", {"page": page})

    return made


def milliseconds(call: Callable[[], Any], seconds: float = 2.0) -> float:
    """CPU time of a call: the median, after a few for warming up."""
    for _ in range(3):
        call()
    taken = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(taken) < 9:
        begun = time.process_time_ns()
        call()
        taken.append((time.process_time_ns() - begun) / 1e6)
    return statistics.median(taken)


def set_up(folder: Path) -> None:
    sys.path[:0] = [str(ROOT / "platform"), str(ROOT)]
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "citeboard.settings",
        "CITEBOARD_DATA_DIR": str(folder),
        "CITEBOARD_INSECURE_HTTP": "yes",
        "CITEBOARD_LOG_LEVEL": "ERROR",
        "CITEBOARD_ALLOWED_HOSTS": "testserver",
    }
    for name in ("DATABASE_URL", "REDIS_URL"):
        os.environ.pop(name, None)
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)


def seed(size: int) -> None:
    from tasks.models import Gold, Phase, Season, Task

    now = dt.datetime.now(dt.UTC)
    season = Season.objects.create(slug="bench", title="Bench", is_public=True)
    task = Task.objects.create(
        season=season, slug="task", title="Task", type="clsumm-1a", rules=["corrected"]
    )
    phase = Phase.objects.create(
        task=task,
        slug="phase",
        title="Phase",
        opens=now,
        closes=now + dt.timedelta(days=9),
    )
    facts = {
        "digest": "d",
        "instances": 600,
        "file": "f",
        "index": "i",
        "public": "p",
        "reason": "r",
    }
    gold = Gold.objects.create(task=task, split="test", number=1, **facts)
    fill(phase, gold, size)


def fill(phase: Any, gold: Any, size: int) -> None:
    """Teams of the season and their scored runs."""
    from django.db import connection

    from citeboard.teams.models import Team
    from scoring.models import Evaluation
    from scoring.results.board.comparison_state import get_or_create_board_order
    from tasks.jobs import tallies
    from tasks.models import Registration, Submission

    chance = random.Random(0)
    now = dt.datetime.now(dt.UTC)
    task, season = phase.task, phase.task.season
    teams = Team.objects.bulk_create(
        [Team(name=f"Team {n:03}", slug=f"team-{n}") for n in range(TEAMS)]
    )
    Registration.objects.bulk_create(
        [Registration(season=season, team=team) for team in teams]
    )
    runs = Submission.objects.bulk_create(
        [
            Submission(
                phase=phase, team=teams[n % TEAMS], number=n // TEAMS + 1, system=f"System {n}", file="f",
                filename="run.jsonl", sha256="0" * 64, size=1, status="scored",
                submitted_at=now + dt.timedelta(seconds=n),
            )
            for n in range(size)
        ],
        batch_size=1000,
    )  # fmt: skip
    evaluations = Evaluation.objects.bulk_create(
        [
            Evaluation(
                submission=run, gold=gold, rules="corrected", options_digest="d", phase=phase, team=run.team,
                rank_value=chance.random(), submitted_at=run.submitted_at, statistics="s", seconds=1,
                attempt=1,
            )
            for run in runs
        ],
        batch_size=1000,
    )  # fmt: skip
    seed_scores(evaluations, task, chance)
    # As workers do: every few seconds, and for each board.
    tallies.merge_tallied_rows()
    get_or_create_board_order(phase.pk, "corrected")
    connection.cursor().execute("ANALYZE")


def seed_scores(evaluations: list[Any], task: Any, chance: random.Random) -> None:
    """Each two that count are compared: the further apart they are, the surer they differ."""
    from scoring.models import Comparison, Score, Signature

    best: dict[int, Any] = {}
    for evaluation in evaluations:
        if (
            evaluation.team_id not in best
            or best[evaluation.team_id].rank_value < evaluation.rank_value
        ):
            best[evaluation.team_id] = evaluation
    declared = [metric.name for metric in task.task_type.rules["corrected"]]
    names = [*declared, *(f"measure_{n}" for n in range(METRICS))]
    counting = {row.pk for row in best.values()}
    columns = [
        f"{name}|rules:corrected|average:micro|gold:0123456789ab|v:1" for name in names
    ]
    shared = Signature.objects.get_or_insert_ids(
        [
            Signature(
                metric=name,
                column=column,
                position=place,
                text=f"{column}|n:*|missing:*",
            )
            for place, (name, column) in enumerate(zip(names, columns, strict=True))
        ]
    )
    Score.objects.bulk_create(
        [
            Score(
                evaluation=evaluation, shared_id=signature, n=600, low=0.1, high=0.9,
                value=evaluation.rank_value if place == 0 else chance.random(),
            )
            for evaluation in evaluations
            for place, signature in enumerate(shared[: METRICS if evaluation.pk in counting else 1])
        ],
        batch_size=1000,
    )  # fmt: skip
    rows = sorted(best.values(), key=lambda row: row.pk)
    of_two = {
        "metric": declared[0],
        "error": 0.01,
        "test": "approximate",
        "trials": 10_000,
        "units": 600,
    }
    Comparison.objects.bulk_create(
        [
            Comparison(first=first, second=second, difference=first.rank_value - second.rank_value, **of_two,
                p=chance.random() / 10 ** (9 * abs(first.rank_value - second.rank_value)))
            for first, second in itertools.combinations(rows, 2)
        ],
        batch_size=1000,
    )  # fmt: skip


if __name__ == "__main__":
    main()
