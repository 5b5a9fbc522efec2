"""Accept a run whose file was checked, and read the metadata in the file."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from scoring.worker.child import ScorerProcess, ScoringOfRunFailed
from scoring.worker.local_copies import build_run_copy_path
from tasks.jobs import leases
from tasks.jobs.interruptions import retry_on_database_error
from tasks.models import Job, Submission
from tasks.submissions.refusals import RunRejected
from tasks.submissions.run_card import format_warnings_as_dicts
from tasks.submissions.submit import read_late_metadata
from tasks.types.problems import Problem, merge_equal_problems, select_problems_to_list


def accept_checked_run_for_scoring(
    job: Job, scorer: ScorerProcess, result: Mapping[str, Any]
) -> bool:
    """Queue a run for scoring after its check, and store the warnings of the check."""
    problems = [Problem(**warning) for warning in result["warnings"]]
    problems = [
        problem if problem.file else replace(problem, file=job.submission.filename)
        for problem in problems
    ]
    fill_in = _read_metadata_in_run_file(job.submission, scorer.folder)
    warnings = format_warnings_as_dicts(*select_problems_to_list(problems))
    return retry_on_database_error(leases.accept_checked_run, job, warnings, fill_in)


def _read_metadata_in_run_file(
    submission: Submission, folder: Path
) -> Callable[[], None] | None:
    """Read the metadata in the file of a run, unless the metadata were read before.
    Raises ScoringOfRunFailed.
    """
    try:
        return read_late_metadata(
            submission, build_run_copy_path(submission, folder), folder
        )
    except RunRejected as refused:
        raise ScoringOfRunFailed(
            f"The run cannot be taken: {refused.problems[0].message}.",
            [problem.as_dict() for problem in merge_equal_problems(refused.problems)],
        ) from refused
