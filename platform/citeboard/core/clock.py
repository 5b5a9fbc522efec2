"""How far this machine's clock is from the database's, by which machines agree."""

from __future__ import annotations

from django.utils import timezone

from citeboard.core.database_time import database_now

LARGEST_SKEW = 2.0  # seconds; deadlines are judged by the clock of each machine


def skew() -> float:
    """In seconds; 0 where the difference is no more than the time that the database took to answer."""
    before = timezone.now().timestamp()
    theirs = database_now().timestamp()
    # However long the database took to answer, its clock was read between these two moments.
    return max(before - theirs, theirs - timezone.now().timestamp(), 0.0)
