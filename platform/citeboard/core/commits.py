"""Callbacks that run after a database transaction is committed.

If a callback fails, the committed data and the response stay unchanged.
"""

import logging
from collections.abc import Callable

from django.db import DatabaseError, transaction

from citeboard.core.outages import find_outage, log_database_error

log = logging.getLogger(__name__)


def call_after_commit(action: Callable[..., object], *given: object) -> None:
    """Call the function after the current transaction is committed, and log a failure.

    The log contains no traceback of a database outage.

    In Django 5.2, `on_commit(robust=True)` raises AttributeError if the callback is a
    `partial` that fails.
    """

    def run_action() -> None:
        try:
            action(*given)
        except Exception as reason:
            name = getattr(action, "__qualname__", "an action")
            if isinstance(reason, DatabaseError) and find_outage(reason) is not None:
                log_database_error(reason, f"{name} is left out after a commit")
            else:
                log.exception("%s failed after a commit", name)

    transaction.on_commit(run_action)
