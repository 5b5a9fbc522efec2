"""Every file of the storage that some row names, and what its content must be as far as a row says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from citeboard.core import storage
from citeboard.core.storage import FolderStorage
from scoring.models import BackgroundJob, Evaluation, JudgedRun, PendingLabels
from tasks.models import Gold, Submission

#: The columns that name files, each with its folder of the storage.
COLUMNS = (
    (Submission, "file", storage.runs),
    (Gold, "file", storage.gold),
    (Gold, "index", storage.gold),
    (Gold, "public", storage.gold),
    (Evaluation, "statistics", storage.statistics),
    (JudgedRun, "file", storage.statistics),
    (PendingLabels, "file", storage.statistics),
    (BackgroundJob, "file", storage.statistics),
)
#: Names of gold end with the beginning of their checksum; a storage may have added to a name that was taken.
_CHECKSUM_IN_NAME = re.compile(r"-([0-9a-f]{16})(?:_\w+)?\.\w+$")


class NamedFile(NamedTuple):
    """``name`` in the one storage, and how the SHA-256 of its content begins, as far as its row says."""

    name: str
    sha256: str


def named_files() -> Iterator[NamedFile]:
    """Each once for every column that names it."""
    for model, column, folder in COLUMNS:
        has_digest = hasattr(model, "sha256")
        wanted = (column, "sha256") if has_digest else (column,)
        rows = model._default_manager.exclude(**{column: ""}).order_by()  # noqa: SLF001  (public by name)
        for name, *digest in rows.values_list(*wanted).iterator():
            yield NamedFile(full_name(folder, name), digest[0] if digest else _checksum_in(folder, name))


def full_name(folder: FolderStorage, name: str) -> str:
    """As the one storage behind all folders calls it."""
    return f"{folder.folder}/{name}"


def _checksum_in(folder: FolderStorage, name: str) -> str:
    found = _CHECKSUM_IN_NAME.search(name) if folder is storage.gold else None
    return found[1] if found else ""
