"""Publish estimated scores of the demo's judged phase, and draw a sheet of the pairs on
which its judges disagree.

The estimated scores correct the judge's labels by people's labels of a sample.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from django.db import transaction

from citeboard.demo.prepare import (
    EXAMPLES,
    NEWEST_TASK,
    ORGANISER,
    POLL_SECONDS,
    PRACTICE,
    SEASON,
    account,
    patiently,
)
from citeboard.demo.systems import SAMPLE_SEED, SAMPLED_UNITS, SYSTEMS
from scoring.human import disagreements, estimates
from scoring.models import EstimateSheet
from scoring.worker.estimating import Sampling, estimates_of
from tasks.models import Gold, Phase, Submission

#: The file PEOPLE contains people's labels in the format that organisers upload.
PEOPLE: Path = EXAMPLES / "demo-season" / "claims-people.jsonl"
#: The sheet of disagreements between judges has DISAGREEMENTS pairs.
DISAGREEMENTS = 20


def publish_estimates(*, patience: float = 0) -> bool:
    """Publish the estimated scores once workers have scored the runs of the demo's
    judged phase.

    Wait up to ``patience`` seconds for a worker to score the runs. Return False if a
    run of the phase is not scored yet. Demo seasons from earlier releases lack judged
    runs and stay unchanged.
    """
    phases = Phase.objects.select_related("task__season").filter(
        task__season__slug=SEASON, task__slug=NEWEST_TASK, slug=PRACTICE
    )
    phase = phases.first()
    deadline = time.monotonic() + patience
    if phase is None or phase.estimate_sheets.exists():
        return True
    while runs := _runs_of(phase):
        if all(run.status == Submission.Status.SCORED for run in runs):
            _publish_estimate_sheet(phase, runs)
            _draw_disagreements(phase)
            break
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _runs_of(phase: Phase) -> list[Submission]:
    names = [system.name for system in SYSTEMS[NEWEST_TASK]]
    runs = phase.submissions.select_related("phase__task__season")
    by_system = {
        run.system: run for run in runs.filter(system__in=names).order_by("-pk")
    }
    is_complete = len(by_system) == len(names)
    return [by_system[name] for name in names] if is_complete else []


def _draw_disagreements(phase: Phase) -> None:
    """Draw the sheet of pairs on which two judges of the phase disagree.

    Demo seasons from earlier releases have only one judge and get no sheet.
    """
    organiser = account(ORGANISER)
    for judge in disagreements.views_to_compare(phase):
        asked = disagreements.Asked(
            phase=phase, judge=judge, pairs=DISAGREEMENTS, seed=SAMPLE_SEED
        )
        found = patiently(disagreements.drawn, asked, organiser)
        lines = estimates.stored(disagreements.lines_of(asked, found))
        disagreements.keep(asked, found, lines, by=organiser)


def _publish_estimate_sheet(phase: Phase, runs: Sequence[Submission]) -> None:
    gold = Gold.objects.current(phase)
    assert gold is not None
    sampling = Sampling(
        phase=phase,
        gold=gold,
        rules=phase.task.rules[0],
        of=EstimateSheet.Of.CLAIMS,
        labels=SAMPLED_UNITS,
        seed=SAMPLE_SEED,
        runs=runs,
    )
    drawn = estimates.stored(patiently(estimates.draw, sampling))
    found = patiently(estimates_of, sampling, PEOPLE)
    people = estimates.stored(found.rows)
    organiser = account(ORGANISER)
    with transaction.atomic():
        sheet = estimates.keep_sheet(sampling, drawn, by=organiser)
        estimates.keep_labels(sheet, found.result, people, by=organiser)
        estimates.publish(sheet=sheet, by=organiser)
