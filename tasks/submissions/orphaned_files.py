"""What a killed web process leaves: files that had half arrived, and stored runs that no row names.

Nobody ever sees them; they only take room. A file goes once it has been untouched for longer than any request
or transaction lives, and never while a row points to it. Any number of sweepers may do this at the same time.
"""

from __future__ import annotations

import datetime as dt
import logging
import random
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from citeboard.core import storage
from tasks.models import Submission

#: The time for which a file must have been left alone.
SAFE_AGE = dt.timedelta(hours=1)
#: Stored runs lie in folders by the beginning of their checksum.
FOLDERS = [f"{number:02x}" for number in range(256)]

log = logging.getLogger(__name__)


def remove_abandoned(now: dt.datetime | None = None) -> int:
    """Half uploads of this machine, and unnamed runs of one folder; returns how many.

    The folder is one at random, so that a large storage is never listed at once and each has its turn
    whatever the pace of the sweepers: with a sweep in ten seconds nearly always within four hours.
    """
    return remove_half_uploads(now) + remove_unnamed_runs(random.choice(FOLDERS), now)  # noqa: S311


def remove_half_uploads(now: dt.datetime | None = None) -> int:
    before = ((now or timezone.now()) - SAFE_AGE).timestamp()
    removed = 0
    for path in Path(settings.FILE_UPLOAD_TEMP_DIR).iterdir():
        # It may come to its end, and go, while it is looked at.
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                path.unlink()
                removed += 1
    if removed:
        log.info("Removed %s files that had half arrived", removed)
    return removed


def remove_unnamed_runs(folder: str, now: dt.datetime | None = None) -> int:
    """Those of one folder, such as ``3f``."""
    before = (now or timezone.now()) - SAFE_AGE
    old = [entry.name for entry in storage.runs.entries(folder) if entry.modified < before]
    # Asked after the files were found: a row that is written later belongs to a file that is younger.
    named = set(Submission.objects.filter(file__in=old).values_list("file", flat=True))
    unnamed = [name for name in old if name not in named]
    for name in unnamed:
        storage.runs.delete(name)
    if unnamed:
        log.info("Removed %s stored runs that no submission names", len(unnamed))
    return len(unnamed)
