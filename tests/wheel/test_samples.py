"""The sample of every task type again, by the wheel in the place of the checkout.

Golden numbers are asked of the wheel alone (`tests.scoring.conftest`).
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = "tests/tasks/test_every_type.py"


def run_with_the_wheel(root: Path, unpacked: Path, *files: str) -> str:
    """The last line of a test run in which the offline scorer is the wheel's; it fails where a test does."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "0",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        f"{__package__}.in_place",
    ]
    environment = {**os.environ, "CITEBOARD_TESTED_WHEEL": str(unpacked)}
    environment.pop("CITEBOARD_TEST_ROOT", None)
    done = subprocess.run(
        [*command, *files],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.slow
def test_every_sample_has_its_numbers_by_the_wheel(root, unpacked):
    assert re.match(r"\d\d+ passed", run_with_the_wheel(root, unpacked, SAMPLES))
