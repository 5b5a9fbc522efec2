from collections.abc import Callable

from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop

from citeboard.background import kinds
from citeboard.core import storage, words
from citeboard.core.confined.turns import PoolFull
from citeboard.teams.models import User
from scoring.human.sheets import SheetRefused
from scoring.models import BackgroundJob
from scoring.worker import background, child, local_copies
from scoring.worker.background import background_job
from tasks.jobs import engine, interruptions
from tasks.jobs.work import JobWaits, take_jobs
from tasks.models import Job
from tasks.seasons.access import may_organise

Kind = BackgroundJob.Kind

PREPARED: dict[Kind, Callable[[BackgroundJob, User], kinds.Outcome]] = {
    Kind.SHEET: kinds.prepared_sheet,
    Kind.LABELS: kinds.prepared_labels,
    Kind.JUDGEMENTS: kinds.prepared_judgements,
    Kind.DRY_RUN: kinds.prepared_dry_run,
    # In a room above, which is called by its name.
    Kind.ARCHIVE: lambda job, by: import_string(
        "citeboard.archive.write.prepared_archive"
    )(job),
}

#: Stored in English; the page of the job translates them.
FILE_REFUSED = gettext_noop("This file cannot be taken. Nothing was stored.")
LEFT = gettext_noop("Whoever asked for it has no account any more; nothing was stored.")
DEMOTED = gettext_noop(
    "Whoever asked for it does not organise the season any more; nothing was stored."
)

#: Wakes of earlier releases name it.
do_job = take_jobs


def do(claimed: Job) -> None:
    job = background_job(claimed)
    try:
        with kinds.heartbeat(job):
            outcome = _prepared(job)
            is_done = False
            try:
                is_done = background.complete(job, outcome.record, file=outcome.file)
            finally:
                if outcome.file and not is_done:
                    storage.statistics.delete(outcome.file)
        if not is_done:
            raise engine.JobLost
        outcome.after()
    except SheetRefused as refused:
        interruptions.retry_on_database_error(
            background.fail, job, words.sentence(refused)
        )
    except local_copies.FileRefused as refused:
        interruptions.retry_on_database_error(
            background.fail, job, FILE_REFUSED, refused.problems
        )
    except (child.ScorerWaits, PoolFull) as reason:
        raise JobWaits(words.sentence(reason)) from reason


def _prepared(job: BackgroundJob) -> kinds.Outcome:
    kind = Kind(job.kind)
    if kind == Kind.PAPER:
        return kinds.prepared_paper(job)
    if job.asked_by is None:
        raise SheetRefused(LEFT)
    if not may_organise(job.asked_by, job.season):
        raise SheetRefused(DEMOTED)
    return PREPARED[kind](job, job.asked_by)
