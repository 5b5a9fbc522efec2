"""The database may be locked or away for a while; whoever holds a result waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, connection

from citeboard.core.outage_log import DATABASE, note_outage, note_recovery

LONGEST = 90.0  # seconds; then the lease has ended and the job is begun again
PAUSE = 0.5

DATABASE_ERRORS = (OperationalError, InterfaceError)

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def retry_on_database_error(
    action: Callable[Given, Answer], *given: Given.args, **named: Given.kwargs
) -> Answer:
    """Do it as often as it takes. The action must be one transaction that does nothing the second time."""
    until = time.monotonic() + LONGEST
    while True:
        try:
            answer = action(*given, **named)
        except DATABASE_ERRORS as reason:
            if time.monotonic() > until:
                raise
            note_outage(DATABASE, f"the database is locked or away, and is tried again: {reason}")
            connection.close()
            time.sleep(PAUSE)
        else:
            note_recovery(DATABASE)
            return answer


def default_on_database_error(action: Callable[[], Answer], otherwise: Answer) -> Answer:
    """What the database answers, or ``otherwise`` while it does not."""
    try:
        answer = action()
    except DATABASE_ERRORS as reason:
        note_outage(DATABASE, f"the database is locked or away; going on without it: {reason}")
        connection.close()
        return otherwise
    note_recovery(DATABASE)
    return answer
