"""The queue's processes, as django-q starts them, but ended by one signal as well as by many."""

import os
import signal
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand
from django_q.cluster import Cluster

FAREWELL_SECONDS = (
    10  # for the others of the group, where whoever would end them is gone
)


class EndingCluster(Cluster):
    """django-q's parent of all, which may be told to end again while it ends. The kernel tells of the
    parent's death once for each of its threads, and django-q's own handler, interrupted by itself while it
    sets an event, waits for ever for a lock that it holds.
    """

    def __init__(self) -> None:
        self._parent = os.getppid()
        self._is_ending = False
        super().__init__()

    def sig_handler(self, signum: int, frame: FrameType | None) -> None:
        if os.getppid() != self._parent and os.getpgrp() == os.getpid():
            signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
            signal.alarm(FAREWELL_SECONDS)
        if not self._is_ending:
            self._is_ending = True
            super().sig_handler(signum, frame)


class Command(BaseCommand):
    help = "Take jobs from the queue and do them, until told to end. `manage.py serve` keeps it running."
    requires_system_checks = ["environment", "models"]

    def handle(self, *args: Any, **options: Any) -> None:
        EndingCluster().start()
