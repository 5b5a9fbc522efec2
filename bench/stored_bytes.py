"""Bytes of database that a scored run takes, by task type and table.

Usage: python bench/stored_bytes.py [--runs N] [--classes N] [--database postgres://...]

The sample of each task type is scored under its first two rule sets. The result is recorded for many runs of
one phase, as a worker records it, with random numbers in place of its own and at least N classes in each
dimension, so that nothing compresses because it repeats. Every run has intervals for its classes, as the runs
on a board have. Comparisons are rows of pairs of runs and are left out.
"""

from __future__ import annotations

import argparse
import copy
import datetime as dt
import hashlib
import importlib
import json
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OURS = ("scoring_", "tasks_")
#: Rule sets of a task, as most have: the corrected one and one of those that were used.
RULES = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="of each task type")
    parser.add_argument(
        "--classes", type=int, default=4, help="at least so many in each dimension"
    )
    parser.add_argument(
        "--database",
        default="",
        help="a PostgreSQL database without tables; else SQLite",
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="citeboard-bench-") as folder:
        set_up(Path(folder), given.database)
        from tasks.types import task_types

        totals = []
        for task_type in task_types().values():
            before = sizes()
            evaluations, numbers = seed(task_type, given.runs, given.classes)
            after = sizes()
            own = {
                name: (size - before.get(name, 0)) / given.runs
                for name, size in after.items()
            }
            totals.append(sum(own.values()))
            print(
                f"{task_type.slug:<24} {totals[-1]:>8,.0f} bytes a run"
                f" ({evaluations} rule sets, {numbers} numbers):"
                + "".join(
                    f"  {name} {size:,.0f}"
                    for name, size in sorted(own.items())
                    if size >= 1
                )
            )
        print(f"{'all types':<24} {sum(totals) / len(totals):>8,.0f} bytes a run")


def set_up(folder: Path, database: str) -> None:
    sys.path[:0] = [str(ROOT / "platform"), str(ROOT)]
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "citeboard.settings",
        "CITEBOARD_DATA_DIR": str(folder),
        "CITEBOARD_INSECURE_HTTP": "yes",
        "CITEBOARD_LOG_LEVEL": "ERROR",
    }
    for name in ("DATABASE_URL", "REDIS_URL"):
        os.environ.pop(name, None)
    if database:
        os.environ["DATABASE_URL"] = database
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def sizes() -> dict[str, int]:
    """Bytes by table, its indexes with it."""
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            tables = [
                name
                for name in connection.introspection.table_names()
                if name.startswith(OURS)
            ]
            found = {}
            for name in tables:
                cursor.execute(f"VACUUM FULL {name}")
                cursor.execute("SELECT pg_total_relation_size(%s)", [name])
                found[name] = cursor.fetchone()[0]
            return found
        cursor.execute("VACUUM")
        cursor.execute(
            "SELECT m.tbl_name, SUM(d.pgsize) FROM dbstat d JOIN sqlite_schema m ON m.name = d.name"
            " GROUP BY m.tbl_name"
        )
        return {name: size for name, size in cursor.fetchall() if name.startswith(OURS)}


def seed(task_type: Any, runs: int, classes: int) -> tuple[int, int]:
    """One phase with its runs; returns how many rule sets and numbers each has."""
    from citeboard.teams.models import Team
    from tasks.models import Gold, Phase, Season, Submission, Task

    chance = random.Random(0)
    now = dt.datetime.now(dt.UTC)
    results = [scored(task_type, rules) for rules in list(task_type.rules)[:RULES]]
    season = Season.objects.create(slug=task_type.slug, title="Bench", is_public=True)
    task = Task.objects.create(
        season=season,
        slug="task",
        title="Task",
        type=task_type.slug,
        rules=list(task_type.rules)[:RULES],
    )
    phase = Phase.objects.create(
        task=task,
        slug="phase",
        title="Phase",
        opens=now,
        closes=now + dt.timedelta(days=9),
    )
    facts = {"instances": 600, "file": "f", "index": "i", "public": "p", "reason": "r"}
    gold = Gold.objects.create(
        task=task, split="test", number=1, digest=results[0]["gold"]["sha256"], **facts
    )
    team = Team.objects.create(name=task_type.slug, slug=task_type.slug)
    numbers = 0
    for number in range(1, runs + 1):
        sha256 = hashlib.sha256(chance.randbytes(9)).hexdigest()
        submission = Submission.objects.create(
            phase=phase, team=team, number=number, system=f"System {number}", filename="run.jsonl",
            file=f"{task_type.slug}/{number}/run.jsonl", sha256=sha256, size=100_000, status="scored",
            submitted_at=now + dt.timedelta(seconds=number),
        )  # fmt: skip
        numbers = sum(
            record(submission, gold, drawn(result, classes, chance), chance)
            for result in results
        )
    return len(results), numbers


def scored(task_type: Any, rules: str) -> dict[str, Any]:
    """What `score --json` prints of the type's sample."""
    from scoring.offline.scoring import ScoringRequest, score

    module = importlib.import_module(f"tasks.types.{task_type.slug.replace('-', '_')}")
    own = Path(str(module.__file__)).parent / "sample"
    path = own / "options.json"
    options = json.loads(path.read_text()) if path.exists() else {}
    gold = [own / "gold"] if (own / "gold").exists() else sorted(own.glob("gold*"))
    return score(
        ScoringRequest(
            task_type=task_type,
            gold=gold,
            run=next(path for path in own.iterdir() if path.name.startswith("run")),
            rules=rules,
            options=task_type.validate_options(
                {
                    name: value.replace("{sample}", str(own))
                    for name, value in options.items()
                }
            ),
        )
    )


def drawn(
    result: dict[str, Any], classes: int, chance: random.Random
) -> dict[str, Any]:
    """The same with numbers of chance and at least so many classes in each dimension."""
    result = copy.deepcopy(result)
    for said in result["metrics"].values():
        said["value"], said["low"], said["high"] = (
            chance.random(),
            chance.random(),
            chance.random(),
        )
    for dimension, own in result["breakdowns"].items():
        first = next(iter(own.values()))
        for place in range(classes - len(own)):
            own[f"{dimension} {place}"] = copy.deepcopy(first)
        for metrics in own.values():
            for said in metrics.values():
                said["value"] = chance.random()
    return result


def record(
    submission: Any, gold: Any, result: dict[str, Any], chance: random.Random
) -> int:
    """As a worker does, with the intervals of the classes; returns how many numbers that is."""
    from django.db import connection, transaction
    from django.utils import timezone

    from scoring.worker import compare_board
    from scoring.worker.recording import record_scores
    from tasks.jobs.leases import compute_options_digest
    from tasks.models import Job

    job = Job.objects.create(
        submission=submission, gold=gold, rules=result["rules"], options=result["options"],
        options_digest=compute_options_digest(result["options"]), sets_status=True, state="done", attempt=1,
        progress=1, trace=submission.sha256[:32], started_at=timezone.now(), finished_at=timezone.now(),
    )  # fmt: skip
    with transaction.atomic():
        name = f"{submission.pk}/job-{job.pk}-1.npz"
        evaluation = record_scores(job=job, result=result, statistics=name, seconds=1.5)
        connection.run_on_commit = []  # nobody is woken, and there is no file
    ends = {
        dimension: {
            label: {metric: (chance.random(), chance.random()) for metric in metrics}
            for label, metrics in own.items()
        }
        for dimension, own in result["breakdowns"].items()
    }
    compare_board.save_class_intervals(evaluation, ends)
    by_class = sum(
        len(metrics)
        for own in result["breakdowns"].values()
        for metrics in own.values()
    )
    return len(result["metrics"]) + by_class


if __name__ == "__main__":
    main()
