"""Publish estimated scores of the demo's judged phase, and draw a sheet of the pairs on
which its judges disagree.

The estimated scores correct the judge's labels by people's labels of a sample.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from django.db import transaction

from citeboard.demo.prepare import (
    DEMO_SEASON_SLUG,
    EXAMPLES_FOLDER,
    NEWEST_DEMO_TASK_SLUG,
    ORGANISER_ROLE,
    POLL_SECONDS,
    PRACTICE_PHASE_SLUG,
    call_when_sandbox_process_free,
    get_or_create_account,
)
from citeboard.demo.systems import (
    ESTIMATE_SAMPLE_SEED,
    SAMPLED_UNITS_PER_RUN,
    SYSTEMS_BY_TASK,
)
from scoring.human import disagreements, estimates
from scoring.models import EstimateSheet
from scoring.worker.estimating import SampleParameters, compute_estimates
from tasks.models import Gold, Phase, Submission

#: The file PEOPLE_LABELS_FILE contains people's labels in the format that organisers upload.
PEOPLE_LABELS_FILE: Path = EXAMPLES_FOLDER / "demo-season" / "claims-people.jsonl"
#: The sheet of disagreements between judges has DISAGREEMENT_PAIR_COUNT pairs.
DISAGREEMENT_PAIR_COUNT = 20


def publish_estimates(*, patience: float = 0) -> bool:
    """Publish the estimated scores once workers have scored the runs of the demo's
    judged phase.

    Wait up to ``patience`` seconds for a worker to score the runs. Return False if a
    run of the phase is not scored yet. Demo seasons from earlier releases lack judged
    runs and stay unchanged.
    """
    phases = Phase.objects.select_related("task__season").filter(
        task__season__slug=DEMO_SEASON_SLUG,
        task__slug=NEWEST_DEMO_TASK_SLUG,
        slug=PRACTICE_PHASE_SLUG,
    )
    phase = phases.first()
    deadline = time.monotonic() + patience
    if phase is None or phase.estimate_sheets.exists():
        return True
    while runs := _find_newest_demo_runs(phase):
        if all(run.status == Submission.Status.SCORED for run in runs):
            _publish_estimate_sheet(phase, runs)
            _draw_disagreements(phase)
            break
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _find_newest_demo_runs(phase: Phase) -> list[Submission]:
    names = [system.name for system in SYSTEMS_BY_TASK[NEWEST_DEMO_TASK_SLUG]]
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
    organiser = get_or_create_account(ORGANISER_ROLE)
    for judge in disagreements.list_judges_to_compare(phase):
        asked = disagreements.DisagreementRequest(
            phase=phase,
            judge=judge,
            pairs=DISAGREEMENT_PAIR_COUNT,
            seed=ESTIMATE_SAMPLE_SEED,
        )
        found = call_when_sandbox_process_free(
            disagreements.sample_disagreements, asked, organiser
        )
        lines = estimates.store_sheet_file(
            disagreements.build_lines_for_people_to_label(asked, found)
        )
        disagreements.save_disagreement_sheet(asked, found, lines, by=organiser)


def _publish_estimate_sheet(phase: Phase, runs: Sequence[Submission]) -> None:
    gold = Gold.objects.current(phase)
    assert gold is not None
    sampling = SampleParameters(
        phase=phase,
        gold=gold,
        rules=phase.task.rules[0],
        of=EstimateSheet.UnitKind.CLAIMS,
        labels=SAMPLED_UNITS_PER_RUN,
        seed=ESTIMATE_SAMPLE_SEED,
        runs=runs,
    )
    drawn = estimates.store_sheet_file(
        call_when_sandbox_process_free(estimates.sample_units_as_sheet_lines, sampling)
    )
    found = call_when_sandbox_process_free(
        compute_estimates, sampling, PEOPLE_LABELS_FILE
    )
    people = estimates.store_sheet_file(found.rows)
    organiser = get_or_create_account(ORGANISER_ROLE)
    with transaction.atomic():
        sheet = estimates.save_estimate_sheet(sampling, drawn, by=organiser)
        estimates.save_people_labels(sheet, found.result, people, by=organiser)
        estimates.publish(sheet=sheet, by=organiser)
