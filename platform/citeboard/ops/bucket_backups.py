"""Backups in a bucket. The bucket stores each file content once, under its digest, and
a manifest for each backup.

The manifest is written last and names only existing contents, so that an interrupted
backup has no manifest. Only one program may write backups to a bucket at a time.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from django.core.files import File
from django.core.files.storage import storages

from citeboard.core.env import build_storage_settings, parse_bucket_url
from citeboard.ops.backups import MANIFEST_FILE, BackupNotPossible, read_manifest

CONTENTS_PREFIX, BACKUP_TIMES_PREFIX = "contents", "moments"


def open_bucket(address: str) -> Any:
    try:
        return storages.create_storage(
            build_storage_settings(parse_bucket_url(address), Path())
        )
    except ValueError as reason:
        raise BackupNotPossible(
            f"{address} is no address of a bucket: s3://NAME/PREFIX?endpoint=URL"
        ) from reason


def list_backup_times(bucket: Any) -> list[str]:
    names = (entry.name for entry in bucket.entries(BACKUP_TIMES_PREFIX))
    return sorted(
        (Path(name).stem for name in names if name.endswith(".json")), reverse=True
    )


def upload_backup(folder: Path, bucket: Any) -> tuple[str, int]:
    """Upload a backup to the bucket.

    Returns the time of the backup, and the number of file contents that were new in the
    bucket.
    """
    manifest = read_manifest(folder)
    there = {entry.name: entry.size for entry in bucket.entries(CONTENTS_PREFIX)}
    sent = 0
    for name, (size, digest) in manifest.files.items():
        content = f"{CONTENTS_PREFIX}/{digest}"
        if there.get(content) != size:
            bucket.delete(content)
            _upload_to_bucket(bucket, content, folder / name)
            there[content] = size
            sent += 1
    moment = manifest.made_at.partition("+")[0].replace(":", "-")
    _upload_to_bucket(
        bucket, f"{BACKUP_TIMES_PREFIX}/{moment}.json", folder / MANIFEST_FILE
    )
    return moment, sent


def _upload_to_bucket(bucket: Any, name: str, path: Path) -> None:
    with path.open("rb") as content:
        if bucket.save(name, File(content)) != name:
            raise BackupNotPossible(
                f"{name} is in the bucket already; does another program write to it?"
            )


def download_backup(bucket: Any, moment: str | None, target: Path) -> None:
    """Download a backup from the bucket into a new folder.

    The function downloads the latest backup by default. Raises BackupNotPossible if the
    backup is missing or cannot be used.
    """
    if target.exists():
        raise BackupNotPossible(
            "it is there already; a backup is fetched to where nothing is"
        )
    known = list_backup_times(bucket)
    chosen = moment or next(iter(known), "")
    if chosen not in known:
        message = f"there are {', '.join(known[:5])}" if known else "there is none"
        raise BackupNotPossible(
            f"the bucket has no backup of {moment or 'any moment'}; {message}"
        )
    draft = target.with_name(f".{target.name}-fetched")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    _download_from_bucket(
        bucket, f"{BACKUP_TIMES_PREFIX}/{chosen}.json", draft / MANIFEST_FILE
    )
    for name, (_, digest) in read_manifest(draft).files.items():
        path = draft / name
        if not path.resolve().is_relative_to(draft.resolve()):
            raise BackupNotPossible(
                f"its manifest names {name}, which is outside of a backup"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        _download_from_bucket(bucket, f"{CONTENTS_PREFIX}/{digest}", path)
    draft.rename(target)


def _download_from_bucket(bucket: Any, name: str, path: Path) -> None:
    with bucket.open(name) as stored, path.open("wb") as copy:
        shutil.copyfileobj(stored, copy)


def remove_older_backups(bucket: Any, keep: int) -> list[str]:
    """Delete old backups from the bucket, except the newest ``keep`` backups.

    The function also deletes file contents that no remaining backup names.
    """
    known = list_backup_times(bucket)
    wanted = set()
    for moment in known[:keep]:
        with bucket.open(f"{BACKUP_TIMES_PREFIX}/{moment}.json") as stored:
            wanted |= {
                f"{CONTENTS_PREFIX}/{digest}"
                for _, digest in json.load(stored)["files"].values()
            }
    for moment in known[keep:]:
        bucket.delete(f"{BACKUP_TIMES_PREFIX}/{moment}.json")
    for name in [
        entry.name
        for entry in bucket.entries(CONTENTS_PREFIX)
        if entry.name not in wanted
    ]:
        bucket.delete(name)
    return known[keep:]
