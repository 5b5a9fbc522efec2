"""Uploaded files of drafts, stored with the gold until an organiser confirms the draft.
Old files are removed.
"""

import datetime as dt
import logging
import secrets
from pathlib import Path

from django.core.files import File
from django.utils import timezone

from citeboard.core import storage

DRAFT_FOLDER = "drafts"
#: `MAX_DRAFT_SIGNATURE_AGE` is the validity of the signature with which a form signs a draft's name.
MAX_DRAFT_SIGNATURE_AGE = dt.timedelta(days=1)
#: Drafts are stored longer than one signature is valid, since each form signs again.
DRAFT_RETENTION_PERIOD = 2 * MAX_DRAFT_SIGNATURE_AGE

log = logging.getLogger(__name__)


def store_gold_draft(path: Path) -> str:
    with path.open("rb") as content:
        return storage.gold_file_storage.save(
            f"{DRAFT_FOLDER}/{secrets.token_hex(16)}.upload", File(content)
        )


def remove_old_gold_drafts(now: dt.datetime | None = None) -> int:
    """Remove expired drafts of uploaded gold, and return the number of removed drafts."""
    before = (now or timezone.now()) - DRAFT_RETENTION_PERIOD
    old = [
        entry.name
        for entry in storage.gold_file_storage.entries(DRAFT_FOLDER)
        if entry.modified < before
    ]
    for name in old:
        storage.gold_file_storage.delete(name)
    if old:
        log.info("Removed %s drafts that nobody confirmed", len(old))
    return len(old)
