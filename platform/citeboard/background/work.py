from collections.abc import Callable

from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop

from citeboard.background import judges, kinds, old_runs
from citeboard.core import storage, words
from citeboard.core.confined.turns import SandboxPoolFull
from citeboard.teams.models import User
from scoring.human.sheets import SheetRefused
from scoring.models import BackgroundJob
from scoring.worker import background, child, local_copies
from scoring.worker.background import load_background_job
from scoring.worker.judge_jobs import JudgeCannotBeAsked
from tasks.jobs import engine, interruptions
from tasks.jobs.work import JobWaitsForDependency, take_jobs
from tasks.models import Job
from tasks.seasons.access import can_organise_season

BackgroundJobKind = BackgroundJob.Kind

PREPARE_FUNCTIONS_BY_JOB_KIND: dict[
    BackgroundJobKind, Callable[[BackgroundJob, User], kinds.JobOutcome]
] = {
    BackgroundJobKind.SHEET: kinds.prepare_sheet,
    BackgroundJobKind.LABELS: kinds.prepare_labels,
    BackgroundJobKind.LEDGER: kinds.prepare_labels,
    BackgroundJobKind.JUDGEMENTS: kinds.prepare_judgements,
    BackgroundJobKind.DRY_RUN: kinds.prepare_dry_run,
    BackgroundJobKind.OLD_RUNS: old_runs.prepare_old_runs,
    # The package `archive` imports this package, so a direct import would be circular.
    BackgroundJobKind.ARCHIVE: lambda job, by: import_string(
        "citeboard.archive.write.prepare_archive"
    )(job),
}

#: The database stores messages in English, and the page of a job translates them.
FILE_REFUSED_MESSAGE = gettext_noop("This file cannot be taken. Nothing was stored.")
ACCOUNT_GONE_MESSAGE = gettext_noop(
    "Whoever asked for it has no account any more; nothing was stored."
)
NO_LONGER_ORGANISER_MESSAGE = gettext_noop(
    "Whoever asked for it does not organise the season any more; nothing was stored."
)

#: Queue messages of earlier releases call the function `do_job`.
do_job = take_jobs


def execute_claimed_job(claimed: Job) -> None:
    job = load_background_job(claimed)
    try:
        with kinds.renew_lease_during(job):
            outcome = _prepare_job(job)
            is_done = False
            try:
                is_done = background.complete_background_job(
                    job,
                    outcome.record,
                    file=outcome.file,
                    problems=outcome.problems,
                )
            finally:
                if not is_done:
                    if outcome.file:
                        storage.statistics_file_storage.delete(outcome.file)
                    interruptions.retry_on_database_error(outcome.discard)
        if not is_done:
            raise engine.JobClaimLost
        outcome.after()
    except (SheetRefused, JudgeCannotBeAsked) as refused:
        interruptions.retry_on_database_error(
            background.fail_background_job, job, words.format_as_sentence(refused)
        )
    except local_copies.UploadedFileRefused as refused:
        interruptions.retry_on_database_error(
            background.fail_background_job, job, FILE_REFUSED_MESSAGE, refused.problems
        )
    except (child.ScorerWaitsForDependency, SandboxPoolFull) as reason:
        raise JobWaitsForDependency(words.format_as_sentence(reason)) from reason


def _prepare_job(job: BackgroundJob) -> kinds.JobOutcome:
    kind = BackgroundJobKind(job.kind)
    if kind == BackgroundJobKind.PAPER:
        return kinds.prepare_paper(job)
    if kind == BackgroundJobKind.JUDGE:
        # A judging job covers all waiting runs, whichever user started the job.
        return judges.prepare_judging(job)
    if job.asked_by is None:
        raise SheetRefused(ACCOUNT_GONE_MESSAGE)
    if not can_organise_season(job.asked_by, job.season):
        raise SheetRefused(NO_LONGER_ORGANISER_MESSAGE)
    return PREPARE_FUNCTIONS_BY_JOB_KIND[kind](job, job.asked_by)
