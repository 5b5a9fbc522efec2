"""How long a run takes from its upload to its scores, beyond the scoring itself.

Usage: python bench/latency.py [--runs N]

First one run after the other, each sent when nothing else is under way; then as many at once. The house is
that of `make run`: SQLite, one worker, the default settings. Runs are small, so that all but the scorer's own
seconds is what the site adds: the wake, the claim, copying the files, starting, writing the scores.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "faults"))

from house import served, set_up


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    runs = parser.parse_args().runs
    folder = set_up()
    with served(
        folder,
        only="worker",
        CITEBOARD_LEASE_SECONDS="30",
        CITEBOARD_SWEEP_SECONDS="10",
    ):
        measure_idle(runs)
        measure_queued(runs)


def measure_idle(runs: int) -> None:
    from tests.factories import make_phase, make_submission, make_team

    phase = make_phase()
    team = make_team(season=phase.task.season)
    whole, added = [], []
    for _ in range(runs):
        began = time.monotonic()
        submission = make_submission(phase=phase, team=team)
        while submission.is_moving:
            time.sleep(0.005)
            submission.refresh_from_db()
        whole.append(time.monotonic() - began)
        added.append(whole[-1] - submission.evaluations.get().seconds)
    print(f"{runs} runs, each alone, from upload to scored:")
    print(
        f"  in all              median {statistics.median(whole):.3f} s, p95 {p95(whole):.3f} s"
    )
    print(
        f"  beyond the scoring  median {statistics.median(added):.3f} s, p95 {p95(added):.3f} s"
    )


def measure_queued(runs: int) -> None:
    from tasks.models import Job
    from tests.factories import make_phase, make_submission, make_team

    phase = make_phase()
    team = make_team(season=phase.task.season)
    submissions = [make_submission(phase=phase, team=team) for _ in range(runs)]
    jobs = Job.objects.filter(submission__in=submissions)
    while jobs.exclude(state=Job.State.DONE).exists():
        time.sleep(0.05)
    first = min(job.started_at for job in jobs)
    last = max(job.finished_at for job in jobs)
    seconds_per_run = (last - first).total_seconds() / runs
    scoring = statistics.mean(
        submission.evaluations.get().seconds for submission in submissions
    )
    print(f"{runs} runs, queued at once: {seconds_per_run:.3f} s a run,")
    print(f"  of which the scorer takes {scoring:.3f} s")
    print(f"  the queue adds {seconds_per_run - scoring:.3f} s a run")


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


if __name__ == "__main__":
    main()
