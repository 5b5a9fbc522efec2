"""Compare the throughput of two groups of workers with that of one: scorings that wait,
and scorings that compute.

Usage: python bench/load/two_workers.py [--topology sqlite|postgresql] [--runs N] [--seconds S] [--only KIND]

N runs are queued at once for one group with one worker, then N runs for two such
groups. A waiting scoring sleeps for S seconds besides its own work, as if it waited for
another machine. A computing scoring needs a processor for S seconds. Exits 1 if a run
was not scored exactly once, or if two groups score waiting runs less than 1.8 times as
fast, where `--runs` is 10 or more.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "faults"))

from house import GROWN, ROOT, SMALL, TOPOLOGIES, set_up

WANTED, FEWEST = 1.8, 10
BODIES = {
    "wait": "time.sleep({seconds})\nreturn real(arguments)",
    "compute": "while time.process_time() < {seconds}:\n    pass\nreturn real(arguments)",
}
#: A group of workers whose scorers are others; `serve` would start it likewise.
GROUP = """
import os, sys
sys.path[:0] = [{platform!r}, {root!r}]
import django
django.setup()
from django.core.management import call_command
from scoring.worker import child
child.SCORER_SERVER_COMMAND = (sys.executable, "-P", "-s", {script!r})
call_command("qcluster")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topology", choices=list(TOPOLOGIES), default=SMALL)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--only", choices=list(BODIES), help="these scorings alone")
    given = parser.parse_args()
    alone = {"CITEBOARD_WORKERS": "1", "CITEBOARD_FAST_LANE": "no"}
    folder = set_up(given.topology, with_redis=given.topology == GROWN, **alone)
    print(f"{TOPOLOGIES[given.topology].split(', ')[0]}, {os.cpu_count()} processors")
    is_kept = True
    for kind in [given.only] if given.only else BODIES:
        one, two = (
            measured(
                folder, groups=groups, kind=kind, seconds=given.seconds, runs=given.runs
            )
            for groups in (1, 2)
        )
        print(
            f"scorings that {kind} {given.seconds:g} s, {given.runs} runs: {one:.3f} a second by one group, "
            f"{two:.3f} by two: {two / one:.2f} times"
        )
        if kind == "wait" and given.runs >= FEWEST and two / one < WANTED:
            print(f"BROKEN: at least {WANTED} times was wanted")
            is_kept = False
    is_kept = all_are_scored_once() and is_kept
    sys.exit(0 if is_kept else 1)


def measured(
    folder: Path, *, groups: int, kind: str, seconds: float, runs: int
) -> float:
    """Runs scored in a second, from the first claim to the last score."""
    from tasks.models import Job
    from tests.factories import make_phase, make_submission, make_team

    with running(folder, groups, BODIES[kind].format(seconds=seconds)):
        phase = make_phase()
        teams = [make_team(season=phase.task.season) for _ in range(2)]
        sent = [
            make_submission(phase=phase, team=teams[number % 2])
            for number in range(runs)
        ]
        jobs = Job.objects.filter(submission__in=sent)
        while jobs.exclude(state__in=(Job.State.DONE, Job.State.FAILED)).exists():
            time.sleep(0.1)
        lasted = max(job.finished_at for job in jobs) - min(
            job.started_at for job in jobs
        )
    return runs / lasted.total_seconds()


@contextmanager
def running(folder: Path, groups: int, body: str) -> Iterator[None]:
    """Groups of workers that take jobs; they are gone afterwards, and have left nothing behind."""
    from tasks.models import WorkerGroup
    from tests.faults.serving import until
    from tests.scoring.scorers import script_of

    WorkerGroup.objects.all().delete()
    script = script_of(folder, body)
    code = GROUP.format(
        platform=str(ROOT / "platform"), root=str(ROOT), script=str(script)
    )
    started: list[Any] = []
    try:
        for number in range(groups):
            own = {**os.environ, "CITEBOARD_WORK_DIR": str(folder / f"work-{number}")}
            command = [sys.executable, "-c", code]
            with (folder / "group.log").open("ab") as log:
                started.append(
                    subprocess.Popen(
                        command, env=own, stdout=log, stderr=log, start_new_session=True
                    )
                )
        until(lambda: WorkerGroup.objects.count() == groups, "all groups fetch wakes")
        yield
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def all_are_scored_once() -> bool:
    from tasks.models import Submission
    from tests.faults.promises import is_sound

    runs = list(Submission.objects.all())
    sound = sum(is_sound(run) for run in runs)
    print(
        f"{sound} of {len(runs)} runs are scored exactly once, as the offline scorer scores them"
    )
    return sound == len(runs)


if __name__ == "__main__":
    main()
