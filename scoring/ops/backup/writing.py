"""Making a backup while the site goes on: a snapshot of the database first, then the files that it names.

Files of the storage are written once under their names and never changed. So a file that a snapshot names and
that is not there any more was replaced since, as the matrices of a run are that was scored again: then the
database is read once more. What the database of now still names and is not there, the site has lost.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage

from citeboard.core.last_done import note_done
from citeboard.core.release import release
from citeboard.core.schema import schema_state
from scoring.exchange.mounted import FOLDER as ARCHIVES
from scoring.exchange.mounted import mounted_archives
from scoring.ops.backup.boards import board_digests
from scoring.ops.backup.database import TABLES, snapshot, write_database
from scoring.ops.backup.manifest import (
    CHUNK,
    NAME,
    BackupRefused,
    Manifest,
    differences,
    digest_of,
    digests_in,
    read_manifest,
    write_manifest,
)
from scoring.ops.backup.secret import print_of, write_secret
from scoring.ops.named_files import NamedFile, named_files

#: The folder of the storage's files in a backup.
FILES = "files"
#: By which the site remembers its last backup.
BACKUP = "backup"
#: Snapshots after which a site is too busy for a backup: each follows the time that copying files took.
MAX_SNAPSHOTS = 5


def write_backup(target: Path, *, with_secret: bool = True) -> Manifest:
    """A backup at the target, which must not be there yet; or none at all. Raises BackupRefused."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BackupRefused(f"{target} is there already; a backup is written where nothing is")
    state = schema_state()
    if state.missing or state.unknown:
        raise BackupRefused(
            f"the database is not of this release ({len(state.missing)} migrations are missing, "
            f"{len(state.unknown)} unknown); make the backup with the release that it is of"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        manifest = _written(draft, state.applied, with_secret=with_secret)
        os.sync()
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    note_done(BACKUP, dt.datetime.fromisoformat(manifest.made_at))
    return manifest


def remove_older(target: Path, keep: int) -> list[Path]:
    """Of the backups beside this one, itself among them, so many newest stay; returns what was removed."""
    found = []
    for folder in target.parent.iterdir():
        if (folder / NAME).is_file():
            try:
                found.append((read_manifest(folder).made_at, folder))
            except BackupRefused:
                continue
    old = [folder for _, folder in sorted(found, reverse=True)[keep:] if folder != target]
    for folder in old:
        shutil.rmtree(folder)
    return old


def _written(draft: Path, migrations: list[str], *, with_secret: bool) -> Manifest:
    made_at = dt.datetime.now(dt.UTC)
    for _ in range(MAX_SNAPSHOTS):
        made_at = dt.datetime.now(dt.UTC)
        (draft / FILES).mkdir(exist_ok=True)
        with snapshot():
            database = write_database(draft)
            named = set(named_files())
            boards = board_digests()
        absent = {file for file in named if not _copied(file, draft / FILES)}
        lost = absent & set(named_files()) if absent else absent
        if absent == lost:
            break
        shutil.rmtree(draft / TABLES, ignore_errors=True)
    else:
        raise BackupRefused(f"files were replaced during each of {MAX_SNAPSHOTS} snapshots; try again later")
    _keep_only(draft / FILES, named - lost)
    _copy_archives(draft / ARCHIVES)
    said = write_secret(draft, is_wanted=with_secret)
    manifest = Manifest(
        release=release(),
        made_at=made_at.isoformat(timespec="milliseconds"),
        database=database,
        migrations=migrations,
        boards=boards,
        secret=said,
        secret_print=print_of(settings.SECRET_KEY),
        lost=sorted(file.name for file in lost),
        files=digests_in(draft),
    )
    write_manifest(draft, manifest)
    if wrong := differences(read_manifest(draft), digests_in(draft)):
        raise BackupRefused(f"what was written reads back otherwise: {wrong[0]}")
    return manifest


def _copied(file: NamedFile, folder: Path) -> bool:
    """False where the file is not there, or is not what its row says."""
    path = folder / file.name
    if path.exists() and file.sha256 and digest_of(path)[1].startswith(file.sha256):
        return True
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    try:
        with default_storage.open(file.name, "rb") as stored, path.open("wb") as copy:
            while part := stored.read(CHUNK):
                digest.update(part)
                copy.write(part)
    except FileNotFoundError:
        path.unlink(missing_ok=True)
        return False
    return digest.hexdigest().startswith(file.sha256)


def _copy_archives(folder: Path) -> None:
    """Mounted archives stand whole in the data folder or not at all, and nobody changes them."""
    for archive in mounted_archives():
        shutil.copytree(archive.folder, folder / archive.slug)


def _keep_only(folder: Path, files: Iterable[NamedFile]) -> None:
    """What only an earlier snapshot named goes, and copies of files that are damaged."""
    wanted = {folder / file.name for file in files}
    for path in [path for path in folder.rglob("*") if path.is_file() and path not in wanted]:
        path.unlink()
