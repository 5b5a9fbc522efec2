"""Files in a folder of this machine, or on a disk that several machines share."""

from __future__ import annotations

import datetime as dt
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage

from citeboard.core.storage import Entry


class Disk(FileSystemStorage):
    """A file is there as a whole or not at all, whatever ends its writing."""

    def _save(self, name: str, content: File[Any]) -> str:
        # A draft that a killed process leaves goes as runs do that no row names.
        draft = f"{name}.{secrets.token_hex(4)}.draft"
        try:
            super()._save(draft, content)  # type: ignore[misc]
            Path(self.path(draft)).rename(self.path(name))
        except BaseException:
            with suppress(OSError):
                self.delete(draft)
            raise
        return name

    def entries(self, folder: str) -> Iterator[Entry]:
        """All files below the folder, which need not be there; in no order."""
        root = Path(self.location)
        for place, _, names in os.walk(root / folder):
            for path in (Path(place) / name for name in names):
                # It may go while others are looked at.
                with suppress(FileNotFoundError):
                    found = path.stat()
                    modified = dt.datetime.fromtimestamp(found.st_mtime, dt.UTC)
                    yield Entry(path.relative_to(root).as_posix(), found.st_size, modified)
