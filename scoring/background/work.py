"""What the queue wakes for a background job: do it, and tell in its row what became of it."""

import logging
from functools import partial

from django.utils.translation import gettext_noop

from citeboard.core import storage
from citeboard.core.confined.pool import PoolFull
from citeboard.core.processes import process_name
from citeboard.core.words import one_line, sentence
from scoring.background.kinds import (
    JobLost,
    Outcome,
    heartbeat,
    prepared_judgements,
    prepared_labels,
    prepared_paper,
    prepared_sheet,
)
from scoring.human.claim_review import JudgementsRefused
from scoring.human.sheets import SheetRefused
from scoring.models import BackgroundJob
from scoring.worker import background, interruptions
from scoring.worker.child import ScorerWaits
from scoring.worker.entailment_labels import LabelsRefused
from scoring.worker.interruptions import DATABASE_ERRORS, retry_on_database_error
from tasks.seasons.access import may_organise

Kind = BackgroundJob.Kind

PREPARED = {Kind.SHEET: prepared_sheet, Kind.LABELS: prepared_labels, Kind.JUDGEMENTS: prepared_judgements}

#: Stored in English; the page of the job translates them.
FILE_REFUSED = gettext_noop("This file cannot be taken. Nothing was stored.")
LEFT = gettext_noop("Whoever asked for it has no account any more; nothing was stored.")
DEMOTED = gettext_noop("Whoever asked for it does not organise the season any more; nothing was stored.")
FAULT = gettext_noop("The site failed by a fault of its own, which its log has.")

LOST = "Background job %s is not ours any more"

log = logging.getLogger(__name__)


def do_job(number: int) -> None:
    """What happens is told in the job and never raised to the queue."""
    with interruptions.held_back():
        try:
            claim = partial(background.claim, number, process_name())
            job = None if interruptions.is_asked() else retry_on_database_error(claim)
            if job is not None:
                _work(job)
        except DATABASE_ERRORS as reason:
            # The job stays ours in name until its lease ends, and then a sweep queues it again.
            words = "The database failed while background job %s was done: %s"
            log.error(words, number, one_line(reason))  # noqa: TRY400  (an outage is not worth a traceback)


def _work(job: BackgroundJob) -> None:
    try:
        with heartbeat(job):
            outcome = _prepared(job)
            is_done = False
            try:
                is_done = background.complete(job, outcome.record, file=outcome.file)
            finally:
                if outcome.file and not is_done:
                    storage.statistics.delete(outcome.file)
        if is_done:
            outcome.after()
        else:
            log.warning(LOST, job.pk)
    except SheetRefused as refused:
        retry_on_database_error(background.fail, job, sentence(refused))
    except (LabelsRefused, JudgementsRefused) as refused:
        retry_on_database_error(background.fail, job, FILE_REFUSED, refused.problems)
    except (ScorerWaits, PoolFull) as reason:
        retry_on_database_error(background.defer, job, sentence(reason))
    except interruptions.Stopping:
        retry_on_database_error(background.release, job)
    except JobLost:
        log.warning(LOST, job.pk)
    except DATABASE_ERRORS:
        raise
    except Exception:
        log.exception("Background job %s failed", job.pk)
        retry_on_database_error(background.crashed, job, FAULT)


def _prepared(job: BackgroundJob) -> Outcome:
    kind = Kind(job.kind)
    if kind == Kind.PAPER:
        return prepared_paper(job)
    if job.asked_by is None:
        raise SheetRefused(LEFT)
    if not may_organise(job.asked_by, job.season):
        raise SheetRefused(DEMOTED)
    return PREPARED[kind](job, job.asked_by)
