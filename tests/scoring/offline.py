"""The offline scorer as a user starts it, within the test's own process."""

import json
from pathlib import Path

import pytest

from scoring.__main__ import main


def score(
    capsys: pytest.CaptureFixture,
    task_type: str,
    gold: list[Path],
    run: Path,
    *more: str,
) -> dict:
    """What `score --json` prints; the test fails where the run is refused."""
    return printed(capsys, "score", task_type, gold, [run], *more)


def printed(
    capsys: pytest.CaptureFixture,
    command: str,
    task_type: str,
    gold: list[Path],
    runs: list[Path],
    *more: str,
) -> dict:
    """What a command prints of runs with ``--json``; the test fails where they are refused."""
    given = [argument for run in runs for argument in ("--run", str(run))]
    status = main(
        [command, task_type, "--gold", *map(str, gold), *given, *more, "--json"]
    )
    told = capsys.readouterr()
    assert status == 0, told.err
    return json.loads(told.out)


def refusals(
    capsys: pytest.CaptureFixture,
    task_type: str,
    gold: list[Path],
    run: Path,
    *more: str,
) -> list[str]:
    """The lines in which the scorer says why it refuses; the test fails where it does not."""
    assert (
        main(["score", task_type, "--gold", *map(str, gold), "--run", str(run), *more])
        == 2
    )
    return [
        line
        for line in capsys.readouterr().err.splitlines()
        if not line.startswith("warning: ")
    ]
