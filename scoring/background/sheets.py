"""Making a sheet for human evaluation in the background."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from citeboard.teams.models import User
from scoring.background.step import Outcome, told
from scoring.human.sheets import Drawn, SheetRefused, check_size, draw_sheet, keep_sheet, runs_on_board
from scoring.models import BackgroundJob
from scoring.worker.background import Kind, ask
from tasks.models import Phase, Submission


def ask_for_sheet(
    *, phase: Phase, runs: Sequence[Submission], instances: int, seed: int, by: User
) -> BackgroundJob:
    """Raises SheetRefused for more runs or instances than a sheet has."""
    check_size(len(runs), instances)
    given = {"runs": [run.pk for run in runs], "instances": instances, "seed": seed}
    return ask(Kind.SHEET, phase.task.season, given, by=by, phase=phase)


def prepared_sheet(job: BackgroundJob, by: User) -> Outcome:
    """Raises SheetRefused."""
    assert job.phase is not None
    on_board = {run.pk: run for run in runs_on_board(job.phase, by)}
    if gone := [number for number in job.given["runs"] if number not in on_board]:
        raise SheetRefused(f"a chosen run does not stand on the board any more: {len(gone)} of them")
    drawn = draw_sheet(
        phase=job.phase,
        runs=[on_board[number] for number in job.given["runs"]],
        instances=job.given["instances"],
        seed=job.given["seed"],
        tell=partial(told, job),
    )
    return Outcome(partial(_keep, drawn, by))


def _keep(drawn: Drawn, by: User) -> Mapping[str, Any]:
    return {"sheet": keep_sheet(drawn, by=by).pk}
