"""Zip archives that are the same bytes whenever they hold the same files."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

#: The first moment that a zip archive can name.
NO_TIME = (1980, 1, 1, 0, 0, 0)
ORDINARY_FILE = 0o100644 << 16


def write_archive(path: Path, files: Iterable[tuple[str, Callable[[], IO[bytes]]]]) -> None:
    """Write the files in the order of their names, without times and owners."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, open_file in sorted(files, key=lambda file: file[0]):
            member = zipfile.ZipInfo(name, NO_TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 3
            member.external_attr = ORDINARY_FILE
            with open_file() as source, archive.open(member, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target)
