"""Several worker containers on one data folder, as `compose up --scale worker=2` makes them: each in process
ids, a host name and mounts of its own, where ids of the others mean nothing or somebody else.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from citeboard.core.processes import extract_host_name
from tasks.models import Job
from tests.faults.namespaces import in_namespaces
from tests.faults.promises import assert_scored_exactly_once, wait_until_settled
from tests.faults.serving import PATIENCE, ROOT, is_ready_scorer, is_running, until

pytestmark = [pytest.mark.worker, pytest.mark.slow]

# A lease that a busy machine does not let run out, and sweeps that come soon.
PACE = {
    "CITEBOARD_LEASE_SECONDS": "30",
    "CITEBOARD_SWEEP_SECONDS": "1",
    "CITEBOARD_FAST_LANE": "no",
}


class Container:
    """`serve --only worker` as the first process of its own."""

    def __init__(
        self, host: str, environment: dict[str, str], log: Path, *, own_folder: bool
    ) -> None:
        self.host = host
        work = environment["CITEBOARD_WORK_DIR"]
        command = in_namespaces(
            [sys.executable, "manage.py", "serve", "--only", "worker"],
            host=host,
            own_folder=work if own_folder else "",
        )
        self.log = log
        with log.open("wb") as said:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=said, stderr=said
            )

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_until_ready(self) -> None:
        ready = lambda: (  # noqa: E731
            ("worker is ready" in self.said() and self.scorers)
            or self.process.poll() is not None
        )
        until(ready, f"{self.host} is ready")
        assert self.process.poll() is None, self.said()

    @property
    def scorers(self) -> list[psutil.Process]:
        found = []
        for child in psutil.Process(self.process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess, OSError):
                if is_ready_scorer(child):
                    found.append(child)
        return found

    def stop(self) -> None:
        [first] = psutil.Process(self.process.pid).children()
        first.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)

    def destroy(self) -> None:
        if self.process.poll() is None:
            # The kernel ends all that is in the namespace with its first process.
            self.process.kill()
            self.process.wait()


@pytest.fixture(params=[True, False], ids=["own work folders", "one work folder"])
def container(request, child_environment, tmp_path):
    """Starts one and waits until it takes jobs; the work folder is its own, or by mistake everybody's."""
    started = []
    (tmp_path / "work").mkdir(mode=0o700)
    environment = {
        **child_environment,
        **PACE,
        "CITEBOARD_WORK_DIR": str(tmp_path / "work"),
    }

    def start(host: str) -> Container:
        log = tmp_path / f"{len(started)}-{host}.log"
        started.append(Container(host, environment, log, own_folder=request.param))
        started[-1].wait_until_ready()
        return started[-1]

    yield start
    for made in started:
        made.destroy()
        print(made.said())  # noqa: T201  (shown where the test fails)


def test_what_one_scores_outlives_every_restart_of_the_others(container, send):
    """Nothing waits for a storage that is there, nothing is begun twice, no attempt is spent."""
    containers = [container(f"worker-{number}") for number in (1, 2)]
    scorers = [scorer for made in containers for scorer in made.scorers]
    for scorer in scorers:
        scorer.suspend()
    submission = send()
    until(
        lambda: submission.jobs.filter(state="running").exists(), "the job is claimed"
    )
    [job] = submission.jobs.all()
    [busy] = [
        made for made in containers if made.host == extract_host_name(job.lease_owner)
    ]
    [other] = [made for made in containers if made is not busy]
    for end in (Container.destroy, Container.stop):
        end(other)
        other = container(other.host)
    assert Job.objects.filter(
        state="running", lease_owner=job.lease_owner, attempt=1
    ).exists()
    for scorer in scorers:
        if is_running(scorer.pid):
            os.kill(scorer.pid, signal.SIGCONT)
    wait_until_settled(submission)
    more = [send() for _ in range(6)]
    wait_until_settled(*more)
    assert {job.attempt for job in Job.objects.all()} == {1}
    assert " waits: " not in busy.said()
    assert_scored_exactly_once(submission, *more)
