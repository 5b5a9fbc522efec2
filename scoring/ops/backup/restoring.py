"""Putting a backup in the place of a site: everything is verified before anything is touched."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import connection
from django.db.models import F

from citeboard.core import storage
from citeboard.core.database import unknown_migrations
from citeboard.teams.models import Team, User
from scoring.exchange.mounted import FOLDER as ARCHIVES
from scoring.models import BoardOrder
from scoring.ops.backup.writing import (
    CHUNK,
    FILES,
    INCLUDED,
    BackupRefused,
    Manifest,
    board_digests,
    differences,
    digest_of,
    digests_in,
    is_given,
    load_database,
    print_of,
    put_secret,
    read_manifest,
)
from scoring.ops.pruning import named_files
from tasks.models import Phase, Season

#: Browsers and caches may hold pages of versions that the site had reached after the backup was made. Those
#: of the restored site are counted from where none of them was.
VERSIONS_APART = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Restored:
    manifest: Manifest
    differing: list[str]
    has_other_key: bool


def restore_backup(folder: Path, *, overwrite: bool = False) -> Restored:
    manifest = verified(folder)
    if not overwrite and (found := what_is_here()):
        raise BackupRefused(f"this system is not empty: it has {found}; nothing was changed")
    for path in sorted(path for path in (folder / FILES).rglob("*") if path.is_file()):
        name = path.relative_to(folder / FILES).as_posix()
        if _stored_digest(name) == digest_of(path)[1]:
            continue
        default_storage.delete(name)
        with path.open("rb") as content:
            stored_name = default_storage.save(name, File(content))
        if stored_name != name or _stored_digest(name) != digest_of(path)[1]:
            raise BackupRefused(f"the storage keeps {name} otherwise than given; the database is as before")
    load_database(folder, dict(manifest.database), list(manifest.migrations))
    # Mounted archives are those of the backup and no others.
    shutil.rmtree(settings.DATA_DIR / ARCHIVES, ignore_errors=True)
    if (folder / ARCHIVES).is_dir():
        shutil.copytree(folder / ARCHIVES, settings.DATA_DIR / ARCHIVES)
    if manifest.secret == INCLUDED and not is_given():
        put_secret(folder)
        has_other_key = False
    else:
        has_other_key = print_of(settings.SECRET_KEY) != manifest.secret_print
    call_command("migrate", interactive=False, verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    for model in (Phase, BoardOrder):
        model._default_manager.update(version=F("version") + VERSIONS_APART)  # noqa: SLF001  (documented)
    return Restored(manifest=manifest, differing=list(_differing(manifest)), has_other_key=has_other_key)


def verified(folder: Path) -> Manifest:
    manifest = read_manifest(folder)
    if wrong := differences(manifest, digests_in(folder)):
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise BackupRefused(f"the backup is damaged: {wrong[0]}{more}; nothing was changed")
    if manifest.database["vendor"] != connection.vendor:
        raise BackupRefused(
            f"the backup is of {manifest.database['vendor']}, and DATABASE_URL names a {connection.vendor} "
            "database; nothing was changed"
        )
    if unknown := unknown_migrations(list(manifest.migrations)):
        raise BackupRefused(
            f"the backup is of a newer release, with migrations that this one does not have ({unknown[0]}); "
            "nothing was changed"
        )
    return manifest


def what_is_here() -> str:
    tables = connection.introspection.table_names()
    for model in (User, Team, Season):
        if model._meta.db_table in tables and model._default_manager.exists():  # noqa: SLF001  (public by name)
            return str(model._meta.verbose_name_plural)  # noqa: SLF001  (the same)
    found = next((entry for folder in storage.FOLDERS for entry in folder.entries("")), None)
    return f"files in its storage, such as {found.name}" if found else ""


def _differing(manifest: Manifest) -> Iterator[str]:
    lost = set(manifest.lost)
    for file in named_files():
        found = _stored_digest(file.name)
        if file.name not in lost and (found is None or not found.startswith(file.sha256)):
            yield f"the file {file.name}"
    boards = board_digests()
    for name in [*manifest.boards, *(name for name in boards if name not in manifest.boards)]:
        if boards.get(name) != manifest.boards.get(name):
            yield f"the board {name}"


def _stored_digest(name: str) -> str | None:
    digest = hashlib.sha256()
    try:
        with default_storage.open(name, "rb") as stored:
            while part := stored.read(CHUNK):
                digest.update(part)
    except FileNotFoundError:
        return None
    return digest.hexdigest()
