"""Prepare the folder, the command and the limits of a scorer."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings

from citeboard.core.confined.limits import ResourceLimits
from scoring.results.board.gold_keys import build_gold_key_options
from scoring.tools.baselines import baseline
from scoring.worker import child, local_copies
from scoring.worker.gathering import CollectedJudgementsOfRun
from scoring.worker.release import find_part_scored_now
from tasks.models import Job, Submission, Task
from tasks.models.declarations import can_run_measures
from tasks.seasons.own_measures import explain_unapproved_program
from tasks.types.base import remove_judge_from_rule_set

#: Seconds between two looks at the state of a scorer.
SCORER_POLL_SECONDS = 0.25
#: Name of the file to which a baseline writes its run.
BASELINE_RUN_FILE_NAME = "written.jsonl"

PROGRAM_NOT_RUN_ON_PARTS_MESSAGE = (
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


def create_scorer_process() -> child.ScorerProcess:
    with local_copies.convert_storage_errors():
        return child.ScorerProcess(local_copies.get_or_create_work_folder())


def build_scoring_limits(task: Task, rule_sets: int = 1) -> ResourceLimits:
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


def build_statistics_file_name(job: Job) -> str:
    return f"statistics-{job.pk}.npz"


def build_pending_pairs_file_name(job: Job) -> str:
    return f"pending-{job.pk}.jsonl"


def build_scorer_command(
    jobs: Sequence[Job], folder: Path, gathered: CollectedJudgementsOfRun | None = None
) -> child.ScorerCommand:
    """Return the command of the scorer for jobs that belong to the same run and have
    the same kind.

    ``gathered`` has judgements from the ledger, if the run needs such judgements.
    Raises ScoringOfRunFailed or ScorerWaitsForDependency if files of the run or the gold are missing.
    """
    job = jobs[0]
    if job.kind == Job.Kind.WRITE:
        return _build_baseline_command(job, folder)
    if job.submission.kind == Submission.Kind.HUMAN:
        return _build_human_performance_command(jobs, folder)
    if job.kind == Job.Kind.CHECK:
        return _build_check_command(job, folder)
    return _build_score_command(jobs, folder, gathered)


def build_option_arguments(options: Mapping[str, str]) -> list[str]:
    return [f"--option={name}={value}" for name, value in options.items()]


def _build_baseline_command(job: Job, folder: Path) -> child.ScorerCommand:
    submission = job.submission
    task_type = submission.phase.task.task_type
    chosen = baseline(submission.built_in, task_type)
    declared = task_type.declared
    named = [json.dumps(declared.files), chosen.name] if declared else [chosen.name]
    source = (
        local_copies.get_or_make_local_gold_copy(job.gold)
        if chosen.learns_from_gold
        else local_copies.get_or_make_copy_of_stored_gold(job.gold.public)
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
            f"--out={folder / BASELINE_RUN_FILE_NAME}",
            *build_option_arguments(options),
        ],
        doing="Computing the baseline",
        fault="The baseline failed by a fault of its own; the log says what happened.",
        refused=partial(
            _build_failure_from_first_problem,
            "The baseline could not be computed",
            "it cannot read the files of this phase",
        ),
        unavailable=_build_missing_requirement_failure,
    )


def _build_missing_requirement_failure(missing: str) -> child.ScoringOfRunFailed:
    """Return the failure of a baseline for which a package or model is missing.
    Organisers can start the baseline again later.
    """
    return child.ScoringOfRunFailed(
        f"The baseline cannot be computed: {missing}. Those who run the site have to supply it."
    )


def _build_human_performance_command(
    jobs: Sequence[Job], folder: Path
) -> child.ScorerCommand:
    job = jobs[0]
    return child.ScorerCommand(
        [
            "papers",
            "human-line",
            job.submission.phase.task.task_type.reference,
            f"--gold={local_copies.get_or_make_local_gold_copy(job.gold)}",
            *build_gold_key_options(job.gold),
            *_build_rule_set_arguments(jobs, folder),
            *build_option_arguments(job.options),
        ],
        doing="Scoring",
        fault="The human line could not be scored by a fault of the scorer; the log says what happened.",
        refused=partial(
            _build_failure_from_first_problem,
            "The human line cannot be scored",
            "the gold does not allow it",
        ),
    )


def _build_check_command(job: Job, folder: Path) -> child.ScorerCommand:
    return child.ScorerCommand(
        [
            "check",
            *_build_file_arguments(job, folder),
            *build_option_arguments(job.options),
        ],
        doing="Checking",
        fault=CHECK_FAULT_MESSAGE,
        refused=partial(
            child.build_failure_from_problems, run_name=job.submission.filename
        ),
    )


def _build_score_command(
    jobs: Sequence[Job], folder: Path, gathered: CollectedJudgementsOfRun | None
) -> child.ScorerCommand:
    job = jobs[0]
    files = _build_file_arguments(job, folder)
    own_measures = job.submission.phase.task.task_type.own_measures_source
    if own_measures and not can_run_measures(own_measures):
        raise child.ScorerWaitsForDependency(
            "Measures of this task's own wait until those who run the site approve them."
        )
    arguments = ["score", *files, *_build_rule_set_arguments(jobs, folder)]
    arguments += build_option_arguments(
        gathered.options(folder) if gathered else job.options
    )
    is_judged = job.submission.phase.task.task_type.is_judged
    if is_judged or gathered:
        arguments += [
            f"--pending={folder / build_pending_pairs_file_name(job)}" for job in jobs
        ]
    return child.ScorerCommand(
        arguments,
        doing="Scoring",
        fault=SCORING_FAULT_MESSAGE,
        refused=partial(
            child.build_failure_from_problems, run_name=job.submission.filename
        ),
        runs_measures=bool(own_measures),
        program=_find_official_program(jobs),
    )


def _find_official_program(jobs: Sequence[Job]) -> str:
    """Return the source code of the task's official program, or an empty text if no
    rule set of the jobs uses a program. Raises ScorerWaitsForDependency.
    """
    task_type = jobs[0].submission.phase.task.task_type
    if not any(task_type.has_official_program_metrics(job.rules) for job in jobs):
        return ""
    assert task_type.declared is not None
    if find_part_scored_now(jobs[0].submission.phase):
        # A score on the whole split would reveal the score on the part that is hidden.
        raise child.ScorerWaitsForDependency(PROGRAM_NOT_RUN_ON_PARTS_MESSAGE)
    if reason := explain_unapproved_program(task_type.declared.program):
        raise child.ScorerWaitsForDependency(f"{reason[:1].upper()}{reason[1:]}.")
    return task_type.declared.program


def _build_file_arguments(job: Job, folder: Path) -> list[str]:
    submission = job.submission
    return [
        submission.phase.task.task_type.reference,
        f"--gold={local_copies.get_or_make_local_gold_copy(job.gold)}",
        *build_gold_key_options(job.gold),
        f"--run={local_copies.copy_run_file_to_folder(submission, folder)}",
        f"--run-name={submission.filename}",
    ]


def _build_rule_set_arguments(jobs: Sequence[Job], folder: Path) -> list[str]:
    arguments = [f"--rules={remove_judge_from_rule_set(job.rules)}" for job in jobs]
    arguments += [
        f"--statistics={folder / build_statistics_file_name(job)}" for job in jobs
    ]
    drawn = find_part_scored_now(jobs[0].submission.phase)
    return [*arguments, f"--part={drawn}"] if drawn else arguments


def _build_failure_from_first_problem(
    failure: str, otherwise: str, problems: Sequence[Mapping[str, Any]], more: int
) -> child.ScoringOfRunFailed:
    """Return a failure with the message of the first problem, or with the text
    `otherwise` if there are no problems.
    """
    reason = problems[0]["message"] if problems else otherwise
    return child.ScoringOfRunFailed(f"{failure}: {reason}.")
