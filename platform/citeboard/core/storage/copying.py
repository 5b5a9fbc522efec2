"""Copy all files of a site to another storage.

Copying verifies checksums, can be resumed after an interruption, and never overwrites a
different file.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.files.storage import Storage

from citeboard.core.storage import FOLDER_STORAGES, StoredFile

#: Copying ends after at most MAX_COPY_PASSES passes.
#: Each later pass copies the files that the site added during the previous pass.
MAX_COPY_PASSES = 5


class FileNotCopied(Exception):
    """The copy of a file differs from the source file, or would replace another file.

    The source file of the failed copy still exists.
    """


@dataclass
class StorageCopyCounts:
    """The numbers of files that copying a storage has processed so far.

    ``unchanged`` is the number of files that the target storage already contained.
    ``known`` is the number of unchanged files that the journal lists and that are not
    compared again.
    """

    copied: int = 0
    unchanged: int = 0
    known: int = 0
    bytes: int = 0
    refused: list[str] = field(default_factory=list)


def copy_storage(
    source: Any,
    target: Any,
    journal: Path,
    tell: Callable[[str], object],
    *,
    is_dry_run: bool = False,
) -> StorageCopyCounts:
    """Copy all files from the storage ``source`` to the storage ``target``.

    ``journal`` lists the files that earlier calls copied and compared.
    """
    done = StorageCopyCounts()
    seen: dict[str, int] = {}
    with _open_journal(journal) as (states, note):
        for _ in range(MAX_COPY_PASSES):
            fresh = [
                entry
                for entry in _list_stored_files(source)
                if seen.get(entry.name) != entry.size
            ]
            if not fresh:
                break
            there = {entry.name: entry.size for entry in _list_stored_files(target)}
            for entry in fresh:
                seen[entry.name] = entry.size
                if there.get(entry.name) == entry.size and states.get(
                    entry.name
                ) == _build_journal_state(entry):
                    done.known += 1
                    done.unchanged += 1
                elif is_dry_run:
                    _count_copied_file(done, entry, is_new=entry.name not in there)
                else:
                    try:
                        is_new = copy_file(source, target, entry.name)
                    except FileNotFoundError:
                        # The site has deleted the file of a refused or replaced run.
                        continue
                    except FileNotCopied as refused:
                        done.refused.append(str(refused))
                        continue
                    note(entry)
                    _count_copied_file(done, entry, is_new=is_new)
                    if is_new:
                        tell(entry.name)
    return done


def _count_copied_file(
    done: StorageCopyCounts, entry: StoredFile, *, is_new: bool
) -> None:
    if is_new:
        done.copied += 1
        done.bytes += entry.size
    else:
        done.unchanged += 1


def copy_file(source: Storage, target: Storage, name: str) -> bool:
    digest = _compute_file_digest(source, name)
    is_new = not target.exists(name)
    if is_new:
        with source.open(name) as content:
            target.save(name, content)
    if _compute_file_digest(target, name) == digest:
        return is_new
    message = (
        "was written and reads otherwise" if is_new else "is there with another content"
    )
    raise FileNotCopied(f"{name} {message}")


def _compute_file_digest(storage: Storage, name: str) -> str:
    with storage.open(name) as stored:
        return hashlib.file_digest(stored, "sha256").hexdigest()


def _list_stored_files(storage: Any) -> Iterator[StoredFile]:
    for folder in FOLDER_STORAGES:
        yield from storage.entries(folder.folder)


def _build_journal_state(entry: StoredFile) -> list[Any]:
    return [entry.size, entry.modified.isoformat()]


@contextmanager
def _open_journal(
    journal: Path,
) -> Iterator[tuple[dict[str, list[Any]], Callable[[StoredFile], None]]]:
    states: dict[str, list[Any]] = {}
    if journal.exists():
        for line in journal.read_text(encoding="utf-8").splitlines():
            if line.endswith("]"):
                name, *state = json.loads(line)
                states[name] = state
    journal.parent.mkdir(mode=0o700, exist_ok=True)
    with journal.open("a", encoding="utf-8") as lines:
        lines.write("\n")

        def write_journal_entry(entry: StoredFile) -> None:
            lines.write(f"{json.dumps([entry.name, *_build_journal_state(entry)])}\n")
            lines.flush()

        yield states, write_journal_entry
