"""What a sweep does, step by step; one that fails is told and skips no other."""

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from django.conf import settings
from django.db import connections

from citeboard.core.outages import DATABASE, note_outage, note_recovery, outage_of
from citeboard.teams.invitations import forget_invitations
from scoring.board import comparison_state as board_orders
from scoring.board import monthly_ranks, snapshots
from scoring.receipts import log as receipts
from scoring.runs.confirming import ask_to_confirm
from scoring.worker import background, rescoring
from scoring.worker.local_copies import remove_leftovers
from tasks.gold.content import read_contents
from tasks.jobs.deliveries import send_deliveries
from tasks.jobs.interruptions import DATABASE_ERRORS
from tasks.jobs.mails import send_mails
from tasks.jobs.sweeper import sweep
from tasks.notifications.events import remind_of_deadlines
from tasks.submissions.uploads import remove_abandoned

#: Each with what it says of its result.
STEPS: dict[Callable[[], object], str] = {
    sweep: "{}",
    background.forget_old: "{} old background jobs forgotten",
    read_contents: "{} versions of gold read for what they share with others",
    rescoring.fill_up: "{} scorings queued again",
    board_orders.ask_again: "{} boards to be compared",
    monthly_ranks.keep_due: "{} rankings of the month drawn up",
    snapshots.keep_due: "{} boards kept as they stood",
    rescoring.follow_release: "{} phases of which other scores are told now",
    remove_leftovers: "{} folders of gone workers removed",
    remove_abandoned: "{} files of uploads that broke off removed",
    remind_of_deadlines: "{} people reminded of a deadline",
    receipts.keep_up: "{} receipts entered in the log",
    ask_to_confirm: "{} leads told of results that wait to be confirmed",
    forget_invitations: "{} ended invitations forgotten",
}
#: What waits for machines of others, in a thread of its own, so that a sweep never does.
POSTING: dict[Callable[[], object], str] = {
    send_mails: "{} e-mails sent",
    send_deliveries: "{} events posted",
}

FILES = "storage"

Result = TypeVar("Result")

log = logging.getLogger(__name__)


def post_until(ended: threading.Event) -> None:
    while not ended.is_set():
        for step in POSTING:
            attempt(step)
        ended.wait(settings.SWEEP_SECONDS)


def post_all() -> list[str]:
    results = ((attempt(step), words) for step, words in POSTING.items())
    return [words.format(result) for result, words in results if result is not None]


def sweep_all() -> list[str]:
    results = ((attempt(step), words) for step, words in STEPS.items())
    done = [words.format(result) for result, words in results if result is not None]
    if len(done) == len(STEPS):
        note_recovery(DATABASE)
        note_recovery(FILES)
    return done


def attempt(step: Callable[[], Result]) -> Result | None:
    """None if it failed, whatever the reason, such as a disk that is full: the next sweep tries again."""
    name = getattr(step, "__name__", "a step")
    try:
        return step()
    except DATABASE_ERRORS as reason:
        note_outage(DATABASE, f"sweeping is put off, {name} first; the database is locked or away: {reason}")
    except Exception as reason:
        if outage_of(reason) is None:
            log.exception("Sweeping: %s failed", name)
        else:
            note_outage(FILES, f"sweeping is put off, {name} first: {reason}")
    connections.close_all()
    return None
