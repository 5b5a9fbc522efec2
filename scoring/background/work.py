"""What the queue wakes for a background job: do it, and tell in its row what became of it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.utils.translation import gettext_noop

from citeboard.core import storage
from citeboard.core.confined.pool import PoolFull
from citeboard.core.processes import process_name
from citeboard.core.words import one_line, sentence
from scoring.background.job_context import JobLost, Outcome, heartbeat
from scoring.background.kinds import prepared_judgements, prepared_labels, prepared_paper, prepared_sheet
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

log = logging.getLogger(__name__)


def do_job(number: int) -> None:
    """What happens is told in the job and never raised to the queue."""
    with interruptions.held_back():
        try:
            if interruptions.is_asked():
                return
            job = retry_on_database_error(background.claim, number, process_name())
            if job is not None:
                _work(job)
        except DATABASE_ERRORS as reason:
            # The job stays ours in name until its lease ends, and then a sweep queues it again.
            words = "The database failed while background job %s was done: %s"
            log.error(words, number, one_line(reason))  # noqa: TRY400  (an outage is not worth a traceback)


def _work(job: BackgroundJob) -> None:
    try:
        with heartbeat(job):
            after = _done(job)
        after()
    except SheetRefused as refused:
        _tell(background.fail, job, sentence(refused))
    except (LabelsRefused, JudgementsRefused) as refused:
        retry_on_database_error(background.fail, job, FILE_REFUSED, refused.problems)
    except (ScorerWaits, PoolFull) as reason:
        _tell(background.defer, job, sentence(reason))
    except interruptions.Stopping:
        retry_on_database_error(background.release, job)
    except JobLost:
        log.warning("Background job %s is not ours any more", job.pk)
    except DATABASE_ERRORS:
        raise
    except Exception:
        log.exception("Background job %s failed", job.pk)
        _tell(background.crashed, job, FAULT)


def _done(job: BackgroundJob) -> Callable[[], object]:
    """What is left to be done once it is committed."""
    outcome = _prepared(job)
    is_done = False
    try:
        is_done = background.complete(job, outcome.record, file=outcome.file)
    finally:
        if outcome.file and not is_done:
            storage.statistics.delete(outcome.file)
    if not is_done:
        raise JobLost
    return outcome.after


def _prepared(job: BackgroundJob) -> Outcome:
    kind = Kind(job.kind)
    if kind == Kind.PAPER:
        return prepared_paper(job)
    if job.asked_by is None:
        raise SheetRefused(LEFT)
    if not may_organise(job.asked_by, job.season):
        raise SheetRefused(DEMOTED)
    return PREPARED[kind](job, job.asked_by)


def _tell(how: Callable[[BackgroundJob, str], bool], job: BackgroundJob, words: str) -> None:
    retry_on_database_error(how, job, words)
