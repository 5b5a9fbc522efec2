"""Remove working folders of untrusted processes, which may contain unreadable or very
deep folders.
"""

import itertools
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

_OWNER_ONLY_MODE = 0o700


def remove_folder(folder: Path) -> None:
    """Remove a folder tree of any depth and with any permissions, and ignore errors.

    `shutil.rmtree` fails at folders without permissions and at Python's recursion
    limit.
    """
    with suppress(OSError):
        folder.chmod(_OWNER_ONLY_MODE)
        _remove_subfolders(folder)
    with suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)


def _remove_subfolders(folder: Path) -> None:
    token, numbers = secrets.token_hex(8), itertools.count()
    while inner := _list_subfolders(folder):
        for path in inner:
            path.chmod(_OWNER_ONLY_MODE)
            for deeper in _list_subfolders(path):
                # Moving a folder changes its `..` entry, which needs write permission.
                deeper.chmod(_OWNER_ONLY_MODE)
                deeper.rename(folder / f"{token}-{next(numbers)}")
            for file in path.iterdir():
                file.unlink()
            path.rmdir()


def _list_subfolders(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return [
            Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)
        ]
