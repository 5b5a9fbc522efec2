"""A background job as its work sees it: how far it is told, and what is to be written at its end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from django.db import connection

from scoring.models import BackgroundJob
from scoring.worker import background, interruptions
from scoring.worker.interruptions import DATABASE_ERRORS

#: The lease is renewed so often within its time.
BEATS = 4


class JobLost(Exception):
    pass


@dataclass(frozen=True)
class Outcome:
    """``record`` writes what came out, in the transaction that ends the job, and returns what its page says.

    ``file`` is kept with the job; ``after`` is done once all of it is committed.
    """

    record: Callable[[], Mapping[str, Any]]
    file: str = ""
    after: Callable[[], object] = lambda: None


def told(job: BackgroundJob, share: float, doing: str) -> None:
    """Raises JobLost, or Stopping where the worker is to end."""
    interruptions.check()
    if not background.tell(job, share, doing):
        raise JobLost


@contextmanager
def heartbeat(job: BackgroundJob) -> Iterator[None]:
    """Renew the lease as long as the block runs: reading a large file takes minutes."""
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(background.LEASE / BEATS):
            # The next one may come through; without any the lease ends, and the job begins again.
            with suppress(*DATABASE_ERRORS):
                background.renew(job)
            connection.close()

    beating = threading.Thread(target=renew, name="heartbeat", daemon=True)
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()
