"""No room is left where results are written: the run waits and says why, and goes on when there is room."""

import errno
import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.storage import FileSystemStorage

from scoring.models import Evaluation
from scoring.worker.score import score
from tasks.models import Submission
from tests.factories import make_submission
from tests.faults.promises import assert_scored_exactly_once, wait_until_settled
from tests.faults.serving import until


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)


@pytest.mark.both_databases
class TestAStorageThatIsFull:
    """In this process: the storage says ENOSPC, as a full disk does."""

    @pytest.fixture
    def full(self, monkeypatch):
        written = FileSystemStorage._save

        def refuse(storage, name, content):
            if name.startswith("statistics/"):
                raise OSError(errno.ENOSPC, "No space left on device")
            return written(storage, name, content)

        monkeypatch.setattr(FileSystemStorage, "_save", refuse)
        return monkeypatch

    def test_a_run_waits_without_losing_an_attempt(self, transactional_db, full):
        run = make_submission()
        job = run.jobs.get()
        score(job.pk)
        run.refresh_from_db()
        job.refresh_from_db()
        assert (run.status, job.state, job.attempt) == ("waiting", "waiting", 0)
        assert (
            run.reason
            == "The disk of the site is full; scoring goes on by itself when it does."
        )
        assert not Evaluation.objects.exists()
        full.undo()
        job.state = "queued"
        job.save()
        score(job.pk)
        assert_scored_exactly_once(run)


@pytest.mark.worker
@pytest.mark.slow
class TestADiskThatIsFull:
    """A small disk of its own under the statistics, which root alone may put there."""

    @pytest.fixture
    def small_disk(self, transactional_db):
        folder = settings.DATA_DIR / "files" / "statistics"
        folder.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
        if (
            os.geteuid() != 0
            or subprocess.run(command, check=False, capture_output=True).returncode
        ):
            pytest.skip(
                "no disk can be mounted here; a storage that says it is full stands in for it"
            )
        yield folder
        subprocess.run(["umount", "--lazy", str(folder)], check=True)

    def test_runs_wait_and_are_scored_once_there_is_room(self, serve, send, small_disk):
        filler = small_disk / "filler"
        fill(filler)
        # Runs are tried again after a lease, which a busy machine is not to let run out.
        serve(CITEBOARD_LEASE_SECONDS="20")
        runs = [send(), send()]
        until(
            lambda: {each.status for each in Submission.objects.all()} == {"waiting"},
            "both runs are waiting",
        )
        assert "The disk of the site is full" in Submission.objects.first().reason
        filler.unlink()
        wait_until_settled(*runs)
        assert_scored_exactly_once(*runs)
        assert {run.jobs.get().attempt for run in runs} == {1}
