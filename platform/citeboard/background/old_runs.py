"""The background job that scores runs of another platform again."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.utils.translation import gettext_noop

from citeboard.background.kinds import JobOutcome, copy_uploaded_file, record_progress
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from scoring.exchange.bundles.scored_again import (
    queue_old_runs,
    require_phase_for_old_runs,
    save_old_scores,
)
from scoring.human.sheets import SheetRefused
from scoring.models import BackgroundJob
from scoring.worker.background import BackgroundJobKind, queue_background_job
from scoring.worker.local_copies import UploadedFileRefused
from tasks.models import Phase
from tasks.submissions.uploads import UploadedRunFile
from tasks.types import InputRefused


def queue_old_run_scoring(
    phase: Phase, upload: UploadedRunFile, by: User
) -> BackgroundJob:
    """Queue the job that scores a phase's runs from another platform.

    Raises OldRunsRefused if the phase cannot have runs of another platform.
    """
    season = require_phase_for_old_runs(phase).task.season
    return queue_background_job(
        BackgroundJobKind.OLD_RUNS, season, {}, by=by, phase=phase, upload=upload
    )


def prepare_old_runs(job: BackgroundJob, by: User) -> JobOutcome:
    """Check and queue the runs of another platform, each in its own transaction.

    If the job starts again, idempotency keys identify the runs that are already queued.
    """
    phase = job.phase
    if phase is None:
        raise Phase.DoesNotExist
    record_progress(job, 0, gettext_noop("reading the file"))
    try:
        with copy_uploaded_file(job) as path:
            done = queue_old_runs(
                phase=phase,
                path=path,
                filename=job.filename,
                by=by,
                order=str(job.pk),
                tell=partial(record_progress, job),
            )
    except InputRefused as refused:
        raise UploadedFileRefused(refused.problems) from refused
    except ActionRefused as refused:
        raise SheetRefused(str(refused)) from refused

    def finish_old_runs() -> Mapping[str, Any]:
        save_old_scores(phase, done, job.filename, by)
        return {
            "runs": [
                {"run": run.pk, "team": str(run.team), "system": run.system}
                for run in done.runs.values()
            ],
            "present": done.present,
            "refused": done.refused,
            "measures": done.measures,
        }

    return JobOutcome(finish_old_runs, problems=done.problems)
