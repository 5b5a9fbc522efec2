"""Folders of scorers: one goes with its process, and nobody takes it from a living one."""

import os
import subprocess
import sys

import pytest

from scoring.worker.child import (
    LEFTOVER_AGE_SECONDS,
    LockedScorerFolder,
    remove_leftover_scorer_folders,
)

HOLD = (
    "import sys; from pathlib import Path; import django; django.setup();"
    "from scoring.worker.child import LockedScorerFolder;"
    "folder = LockedScorerFolder(Path(sys.argv[1])); print(folder.path, flush=True); sys.stdin.read()"
)


@pytest.fixture
def worker(tmp_path, root):
    """A process that has a folder until it is told to end."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "platform")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def test_the_folder_of_a_process_stays_as_long_as_it_lives_and_goes_when_it_was_killed(
    worker, tmp_path
):
    assert remove_leftover_scorer_folders(tmp_path) == 0
    [folder] = tmp_path.iterdir()
    worker.kill()
    worker.wait()
    assert remove_leftover_scorer_folders(tmp_path) == 1
    assert not folder.exists()


def test_a_folder_that_is_closed_is_gone(tmp_path):
    folder = LockedScorerFolder(tmp_path)
    (folder.path / "run.jsonl").touch()
    folder.close()
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_scorers_folder_stays(tmp_path):
    for name in ("gold", "entailment_labels", "17-abc"):
        (tmp_path / name).mkdir()
    assert remove_leftover_scorer_folders(tmp_path) == 0


def test_a_folder_that_is_being_made_goes_only_when_its_maker_must_be_gone(tmp_path):
    (tmp_path / "new-a").mkdir()
    assert remove_leftover_scorer_folders(tmp_path) == 0
    then = (tmp_path / "new-a").stat().st_mtime - LEFTOVER_AGE_SECONDS - 1
    os.utime(tmp_path / "new-a", (then, then))
    assert remove_leftover_scorer_folders(tmp_path) == 1
