"""What a backup says of itself: the last file that is written, so that without it there is no backup."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

NAME = "manifest.json"
#: The form of backups that this release writes and reads.
FORM = 1
CHUNK = 1 << 20


class BackupRefused(Exception):
    """There is no backup, it is damaged, or it does not belong here; the message says what was found."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """``files`` has size and SHA-256 of every other file by its path in the backup.

    ``database`` is the vendor with what its own form needs; ``boards`` a digest of each board's numbers;
    ``secret`` says whether the key is in the backup or why not, ``secret_print`` tells one key from another;
    ``lost`` are files that rows named and that the site itself had no more, or damaged.
    """

    release: str
    made_at: str
    database: Mapping[str, Any]
    migrations: Sequence[str]
    boards: Mapping[str, str]
    secret: str
    secret_print: str
    lost: Sequence[str]
    files: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    form: int = FORM

    @property
    def size(self) -> int:
        return sum(size for size, _ in self.files.values())


def write_manifest(folder: Path, manifest: Manifest) -> None:
    text = json.dumps(asdict(manifest), ensure_ascii=False, indent=1)
    (folder / NAME).write_text(f"{text}\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    path = folder / NAME
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        if said["form"] != FORM:
            raise BackupRefused(f"{path}: a backup of form {said['form']}; this release reads form {FORM}")
        said["files"] = {name: (int(size), str(digest)) for name, (size, digest) in said["files"].items()}
        return Manifest(**said)
    except FileNotFoundError:
        raise BackupRefused(f"{folder} is no backup: it has no {NAME}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as reason:
        raise BackupRefused(f"{path} cannot be read as a manifest: {reason}") from reason


def digests_in(folder: Path) -> dict[str, tuple[int, str]]:
    """Size and SHA-256 of everything in the folder but the manifest, as it is read back."""
    return {name: digest_of(path) for name, path in _files(folder) if name != NAME}


def digest_of(path: Path) -> tuple[int, str]:
    with path.open("rb") as file:
        return path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest()


def differences(manifest: Manifest, found: Mapping[str, tuple[int, str]]) -> list[str]:
    """What is missing, was changed, or has come to the files that the manifest lists."""
    lines = [f"{name} is missing" for name in manifest.files if name not in found]
    for name, (size, digest) in found.items():
        if name not in manifest.files:
            lines.append(f"{name} is not listed")
        elif (size, digest) != manifest.files[name]:
            expected, wanted = manifest.files[name]
            lines.append(f"{name}: {size} bytes, SHA-256 {digest[:12]}…; expected {expected}, {wanted[:12]}…")
    return lines


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() or path.is_symlink():
            yield path.relative_to(folder).as_posix(), path
