"""Starts the processes of the queue like django-q, and can handle several signals to
stop.
"""

import os
import signal
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand
from django_q.cluster import Cluster

SECONDS_UNTIL_PROCESS_GROUP_KILL = (
    10  # seconds until the process group is killed after its parent has died
)


class RepeatedSignalSafeCluster(Cluster):
    """The parent process of django-q, which may receive several signals to stop.

    If the process that started django-q dies, the kernel may send several signals. The
    signal handler of django-q can deadlock, because a second signal can interrupt the
    handler while the process holds a lock that the handler needs.
    """

    def __init__(self) -> None:
        self._parent = os.getppid()
        self._is_ending = False
        super().__init__()

    def sig_handler(self, signum: int, frame: FrameType | None) -> None:
        if os.getppid() != self._parent and os.getpgrp() == os.getpid():
            signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
            signal.alarm(SECONDS_UNTIL_PROCESS_GROUP_KILL)
        if not self._is_ending:
            self._is_ending = True
            super().sig_handler(signum, frame)


class Command(BaseCommand):
    help = "Take jobs from the queue and do them, until told to end. `manage.py serve` keeps it running."
    requires_system_checks = ["environment", "models"]

    def handle(self, *args: Any, **options: Any) -> None:
        RepeatedSignalSafeCluster().start()
