"""Prepare the folder, the command and the limits of a scorer."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings

from citeboard.core.confined.limits import ResourceLimits
from scoring.results.board.gold_keys import gold_key_options
from scoring.tools.baselines import baseline
from scoring.worker import child, local_copies
from scoring.worker.gathering import GatheredJudgements
from scoring.worker.release import part_scored_now
from tasks.models import Job, Submission, Task
from tasks.models.declarations import may_run_measures
from tasks.seasons.own_measures import reason_program_waits
from tasks.types.base import base_rules

#: Seconds between two looks at the state of a scorer.
POLL_SECONDS = 0.25
#: Name of the file to which a baseline writes its run.
WRITTEN_RUN_FILE_NAME = "written.jsonl"

PROGRAM_NEEDS_WHOLE_SPLIT = (
    "The official program is not run in a phase with a public and a private part: "
    "its numbers are of the whole split."
)
SCORING_FAULT_MESSAGE = (
    "The scorer failed on this run by a fault of its own. Your file need not be at fault: "
    "the organisers can see what happened and score the run again."
)
CHECK_FAULT_MESSAGE = (
    "The check of this run failed by a fault of its own. Your file need not be at fault: "
    "the organisers can see what happened and have the run checked again."
)


def make_scorer() -> child.Scorer:
    with local_copies.storage_in_use():
        return child.Scorer(local_copies.work_folder())


def scoring_limits_for(task: Task, rule_sets: int = 1) -> ResourceLimits:
    seconds = min(
        task.max_seconds or settings.SCORING_TIMEOUT, settings.SCORING_TIMEOUT
    )
    memory_mb = min(
        task.max_memory_mb or settings.SCORING_MEMORY_MB, settings.SCORING_MEMORY_MB
    )
    return ResourceLimits(
        cpu_seconds=seconds,
        # On a busy machine, a run takes more wall time than CPU time.
        wall_seconds=2 * seconds,
        memory_mb=memory_mb,
        file_mb=1024,
        steps=rule_sets,
    )


def statistics_file_name(job: Job) -> str:
    return f"statistics-{job.pk}.npz"


def pending_file_name(job: Job) -> str:
    return f"pending-{job.pk}.jsonl"


def scorer_command(
    jobs: Sequence[Job], folder: Path, gathered: GatheredJudgements | None = None
) -> child.ScorerCommand:
    """Return the command of the scorer for jobs that belong to the same run and have
    the same kind.

    ``gathered`` has judgements from the ledger, if the run needs such judgements.
    Raises RunFailed or ScorerWaits if files of the run or the gold are missing.
    """
    job = jobs[0]
    if job.kind == Job.Kind.WRITE:
        return _baseline_command(job, folder)
    if job.submission.kind == Submission.Kind.HUMAN:
        return _human_line_command(jobs, folder)
    if job.kind == Job.Kind.CHECK:
        return _check_command(job, folder)
    return _score_command(jobs, folder, gathered)


def option_arguments(options: Mapping[str, str]) -> list[str]:
    return [f"--option={name}={value}" for name, value in options.items()]


def _baseline_command(job: Job, folder: Path) -> child.ScorerCommand:
    submission = job.submission
    task_type = submission.phase.task.task_type
    chosen = baseline(submission.built_in, task_type)
    declared = task_type.declared
    named = [json.dumps(declared.files), chosen.name] if declared else [chosen.name]
    source = (
        local_copies.gold_copy(job.gold)
        if chosen.learns_from_gold
        else local_copies.local_copy_of_stored_gold(job.gold.public)
    )
    options = {
        option.name: job.options[option.name]
        for option in chosen.options
        if option.name in job.options
        and (chosen.learns_from_gold or not option.is_of_gold)
    }
    return child.ScorerCommand(
        [
            "baseline",
            *named,
            f"--gold={source}",
            f"--reading={job.gold.reading_version}",
            f"--out={folder / WRITTEN_RUN_FILE_NAME}",
            *option_arguments(options),
        ],
        doing="Computing the baseline",
        fault="The baseline failed by a fault of its own; the log says what happened.",
        refused=partial(
            _first_problem_failure,
            "The baseline could not be computed",
            "it cannot read the files of this phase",
        ),
        unavailable=_baseline_unavailable_failure,
    )


def _baseline_unavailable_failure(missing: str) -> child.RunFailed:
    """Return the failure of a baseline for which a package or model is missing.
    Organisers can start the baseline again later.
    """
    return child.RunFailed(
        f"The baseline cannot be computed: {missing}. Those who run the site have to supply it."
    )


def _human_line_command(jobs: Sequence[Job], folder: Path) -> child.ScorerCommand:
    job = jobs[0]
    return child.ScorerCommand(
        [
            "papers",
            "human-line",
            job.submission.phase.task.task_type.reference,
            f"--gold={local_copies.gold_copy(job.gold)}",
            *gold_key_options(job.gold),
            *_rule_set_arguments(jobs, folder),
            *option_arguments(job.options),
        ],
        doing="Scoring",
        fault="The human line could not be scored by a fault of the scorer; the log says what happened.",
        refused=partial(
            _first_problem_failure,
            "The human line cannot be scored",
            "the gold does not allow it",
        ),
    )


def _check_command(job: Job, folder: Path) -> child.ScorerCommand:
    return child.ScorerCommand(
        ["check", *_file_arguments(job, folder), *option_arguments(job.options)],
        doing="Checking",
        fault=CHECK_FAULT_MESSAGE,
        refused=partial(child.failure_of_problems, run_name=job.submission.filename),
    )


def _score_command(
    jobs: Sequence[Job], folder: Path, gathered: GatheredJudgements | None
) -> child.ScorerCommand:
    job = jobs[0]
    files = _file_arguments(job, folder)
    own_measures = job.submission.phase.task.task_type.own_measures
    if own_measures and not may_run_measures(own_measures):
        raise child.ScorerWaits(
            "Measures of this task's own wait until those who run the site approve them."
        )
    arguments = ["score", *files, *_rule_set_arguments(jobs, folder)]
    arguments += option_arguments(gathered.options(folder) if gathered else job.options)
    is_judged = job.submission.phase.task.task_type.is_judged
    if is_judged or gathered:
        arguments += [f"--pending={folder / pending_file_name(job)}" for job in jobs]
    return child.ScorerCommand(
        arguments,
        doing="Scoring",
        fault=SCORING_FAULT_MESSAGE,
        refused=partial(child.failure_of_problems, run_name=job.submission.filename),
        runs_measures=bool(own_measures),
        program=_official_program_of(jobs),
    )


def _official_program_of(jobs: Sequence[Job]) -> str:
    """Return the source code of the task's official program, or an empty text if no
    rule set of the jobs uses a program. Raises ScorerWaits.
    """
    task_type = jobs[0].submission.phase.task.task_type
    if not any(task_type.runs_program(job.rules) for job in jobs):
        return ""
    assert task_type.declared is not None
    if part_scored_now(jobs[0].submission.phase):
        # A score on the whole split would reveal the score on the part that is hidden.
        raise child.ScorerWaits(PROGRAM_NEEDS_WHOLE_SPLIT)
    if reason := reason_program_waits(task_type.declared.program):
        raise child.ScorerWaits(f"{reason[:1].upper()}{reason[1:]}.")
    return task_type.declared.program


def _file_arguments(job: Job, folder: Path) -> list[str]:
    submission = job.submission
    return [
        submission.phase.task.task_type.reference,
        f"--gold={local_copies.gold_copy(job.gold)}",
        *gold_key_options(job.gold),
        f"--run={local_copies.run_copy(submission, folder)}",
        f"--run-name={submission.filename}",
    ]


def _rule_set_arguments(jobs: Sequence[Job], folder: Path) -> list[str]:
    arguments = [f"--rules={base_rules(job.rules)}" for job in jobs]
    arguments += [f"--statistics={folder / statistics_file_name(job)}" for job in jobs]
    drawn = part_scored_now(jobs[0].submission.phase)
    return [*arguments, f"--part={drawn}"] if drawn else arguments


def _first_problem_failure(
    failure: str, otherwise: str, problems: Sequence[Mapping[str, Any]], more: int
) -> child.RunFailed:
    """Return a failure with the message of the first problem, or with the text
    `otherwise` if there are no problems.
    """
    reason = problems[0]["message"] if problems else otherwise
    return child.RunFailed(f"{failure}: {reason}.")
