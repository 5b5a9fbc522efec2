"""How long a participant waits from sending a run to its score, through HTTP, on an idle site.

Usage: python bench/upload_to_score.py [--runs N] [--rest S] [--data FOLDER]

The site is that of `make run`: SQLite, files in a folder, one worker, the default settings, the demo season
with its boards compared; FOLDER is a data folder that has one already, of which a copy is taken. Runs of its
first phase are sent one after the other, each as soon as the one before shows that it is scored (and S
seconds later), and each is asked for every 50 ms. The reference is the offline scorer in the same run, before
and after: a process for each run, under all rule sets of the task.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "load"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "faults"))

from clients import form_of
from house import ROOT, served, set_up

PACE, PATIENCE, REFERENCES = 0.05, 900, 5
#: As `serve` has them by default.
DEFAULTS = {
    "CITEBOARD_LEASE_SECONDS": "30",
    "CITEBOARD_SWEEP_SECONDS": "10",
    "CITEBOARD_FAST_LANE": "yes",
    "CITEBOARD_LOG_LEVEL": "WARNING",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument(
        "--rest", type=float, default=0, help="seconds between a score and the next run"
    )
    parser.add_argument("--data", type=Path, help="a data folder with the demo season")
    given = parser.parse_args()
    kept = {"MIGRATED": str(given.data / "citeboard.sqlite3")} if given.data else {}
    folder = set_up(**kept)
    if given.data:
        # The database is there already, and open.
        database = shutil.ignore_patterns("citeboard.sqlite3*")
        shutil.copytree(
            given.data, folder / "data", dirs_exist_ok=True, ignore=database
        )
    from django.core.management import call_command

    from citeboard.demo.prepare import create_demo, finish_demo

    call_command("collectstatic", verbosity=0, interactive=False)
    demo = create_demo()
    finish_demo()
    phase, path = next(iter(demo.example_runs.items()))
    with served(folder, only=None, **DEFAULTS) as house:
        wait_until_idle()
        offline = [reference(phase, path) for _ in range(REFERENCES)]
        wait_until_idle()
        sender, runs = Sender(house.port, demo.token, phase.pk), []
        for number in range(given.runs):
            # The same answers, and no file that was sent before.
            content = path.read_bytes() + b"\n" * (1 + number)
            runs.append(sender.send_and_follow(content))
            time.sleep(given.rest)
        wait_until_idle()
        offline += [reference(phase, path) for _ in range(REFERENCES)]
        queued, computed, every = from_the_database([run for run, _, _ in runs])
    print(
        f"{given.runs} runs of {phase}, {phase.task.rules}, {given.rest:g} s between a score and the next:"
    )
    show("scored", [scored for _, _, scored in runs])
    show("  upload answered", [answered for _, answered, _ in runs])
    show("  from stored to claimed", queued)
    show("  from claimed to scored", computed)
    show("scored under every rule set", every)
    show("offline scorer, one process", offline)
    medians = (
        statistics.median(values)
        for values in ([scored for *_, scored in runs], offline)
    )
    print(
        f"upload to score takes {next(medians) / next(medians):.2f} times the offline scorer's process"
    )


def show(what: str, seconds: Sequence[float]) -> None:
    p95 = statistics.quantiles(seconds, n=20, method="inclusive")[-1]
    print(
        f"{what:<28} median {statistics.median(seconds):.3f} s, p95 {p95:.3f}, most {max(seconds):.3f}"
    )


class Sender:
    def __init__(self, port: int, token: str, phase: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._token = {"Authorization": f"Token {token}"}
        self._path = f"/api/v1/phases/{phase}/submissions/"

    def send_and_follow(self, content: bytes) -> tuple[int, float, float]:
        """The run, and the seconds until its upload is answered and until it shows that it is scored."""
        body, kind = form_of({"system": "Bench"}, content)
        began = time.monotonic()
        run = self._asked("POST", self._path, body, {"Content-Type": kind})
        answered = time.monotonic() - began
        while run["status"] != "scored":
            assert run["status"] != "failed", run
            assert time.monotonic() - began < PATIENCE, run
            time.sleep(PACE)
            run = self._asked("GET", f"/api/v1/submissions/{run['id']}/")
        return run["id"], answered, time.monotonic() - began

    def _asked(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        self._connection.request(method, path, body, {**self._token, **(headers or {})})
        answer = self._connection.getresponse()
        told = answer.read()
        assert answer.status in (200, 201, 202), (answer.status, told)
        return json.loads(told)


def wait_until_idle() -> None:
    from tasks.models import Job

    busy = Job.all_kinds.filter(state__in=Job.MOVING, priority__lt=Job.Priority.POST)
    since, end = time.monotonic(), time.monotonic() + PATIENCE
    while time.monotonic() < since + 3:
        if busy.exists():
            since = time.monotonic()
        assert time.monotonic() < end, "the site has not come to rest"
        time.sleep(0.2)


def from_the_database(
    runs: Sequence[int],
) -> tuple[list[float], list[float], list[float]]:
    from tasks.models import Job, Submission

    queued, computed, every = [], [], []
    for run in Submission.objects.filter(pk__in=runs):
        jobs = list(Job.objects.filter(submission=run).order_by("pk"))
        queued.append((jobs[0].started_at - jobs[0].created_at).total_seconds())
        computed.append((jobs[0].finished_at - jobs[0].started_at).total_seconds())
        every.append(
            (max(job.finished_at for job in jobs) - run.submitted_at).total_seconds()
        )
    return queued, computed, every


def reference(phase: Any, run: Path) -> float:
    """Seconds of the offline scorer's process."""
    from scoring.worker.local_copies import get_or_make_local_gold_copy
    from tasks.models import Gold

    task = phase.task
    options = [f"--option={name}={value}" for name, value in task.options.items()]
    rules = [f"--rules={name}" for name in task.rules]
    files = [
        f"--gold={get_or_make_local_gold_copy(Gold.objects.current(phase))}",
        f"--run={run}",
    ]
    command = [
        sys.executable,
        "-m",
        "scoring",
        "score",
        task.type,
        *files,
        *rules,
        *options,
        "--json",
    ]
    own = {**os.environ, "PYTHONPATH": f"{ROOT}/platform:{ROOT}"}
    began = time.monotonic()
    subprocess.run(command, cwd=ROOT, env=own, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


if __name__ == "__main__":
    main()
