"""What a listing of a storage tells of a file."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A file by its name in the storage."""

    name: str
    size: int
    modified: dt.datetime
