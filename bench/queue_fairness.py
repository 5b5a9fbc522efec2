"""How long small runs wait while a heavy one is scored, and a team's one run behind another team's many.

Usage: python bench/queue_fairness.py [--runs N] [--instances N] [--fast-lane yes|no]

The house is that of `make run`: SQLite, one worker and its fast lane. First so many small runs of five teams
alone, then as many once a citation-text run of so many instances is being scored; last a team's single run
sent after as many of another team. Exits 1 if small runs
wait more than 1.5 times as long beside the heavy run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "faults"))

from house import served, set_up
from large_run import write_benchmark

TEAMS = 5
WANTED = 1.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--instances", type=int, default=60_000)
    parser.add_argument("--fast-lane", choices=("yes", "no"), default="yes")
    given = parser.parse_args()
    folder = set_up()
    pace = {"CITEBOARD_LEASE_SECONDS": "30", "CITEBOARD_SWEEP_SECONDS": "10"}
    with served(folder, only="worker", CITEBOARD_FAST_LANE=given.fast_lane, **pace):
        alone = told(f"{given.runs} small runs alone", waits(sent(given.runs)))
        heavy = send_heavy(given.instances)
        beside = told("the same beside a heavy one", waits(sent(given.runs)))
        heavy.refresh_from_db()
        if not heavy.is_moving:
            print(
                f"  the heavy run was {heavy.status} before them: more --instances are needed"
            )
        print(f"  waiting {beside / alone:.2f} times as long, wanted at most {WANTED}")
        measure_teams(given.runs)
    sys.exit(1 if beside > WANTED * alone else 0)


def sent(runs: int) -> list[Any]:
    from tests.factories import make_phase, make_submission, make_team

    phase = make_phase()
    teams = [make_team(season=phase.task.season) for _ in range(TEAMS)]
    return [
        make_submission(phase=phase, team=teams[number % TEAMS])
        for number in range(runs)
    ]


def send_heavy(instances: int) -> Any:
    """Returns once it is being scored."""
    from tests.factories import make_phase, make_submission, make_task

    phase = make_phase(
        task=make_task(type="citation-text", rules=["corrected"]), with_gold=False
    )
    with tempfile.TemporaryDirectory() as folder:
        content = write_benchmark(phase, Path(folder), instances)
    submission = make_submission(phase=phase, content=content)
    while submission.status not in ("scoring", "scored"):
        time.sleep(0.05)
        submission.refresh_from_db()
    return submission


def waits(submissions: Sequence[Any]) -> list[float]:
    """Seconds from the queue to a worker, once all have been scored."""
    from tasks.models import Job

    jobs = Job.objects.filter(submission__in=submissions)
    while jobs.exclude(state=Job.State.DONE).exists():
        time.sleep(0.05)
    return [(job.started_at - job.created_at).total_seconds() for job in jobs]


def told(what: str, seconds: Sequence[float]) -> float:
    mean, median, longest = (
        statistics.mean(seconds),
        statistics.median(seconds),
        max(seconds),
    )
    print(
        f"{what}: waiting {mean:.2f} s on average, median {median:.2f} s, longest {longest:.2f} s"
    )
    return mean


def measure_teams(runs: int) -> None:
    from tests.factories import make_phase, make_submission, make_team

    phase = make_phase()
    many, one = (make_team(season=phase.task.season) for _ in range(2))
    before = [make_submission(phase=phase, team=many) for _ in range(runs)]
    late = make_submission(phase=phase, team=one)
    [own] = waits([late])
    others = waits(before)
    print(
        f"one run behind {runs} of another team waited {own:.2f} s, the last of those {max(others):.2f} s"
    )


if __name__ == "__main__":
    main()
