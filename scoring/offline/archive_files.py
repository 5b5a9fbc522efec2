"""The files of a season's archive; an archive comes from others and names its own files alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.types import InputRefused, Problem

SEASON, CHECKSUMS = "season.json", "SHA256SUMS"
FORMAT, FORMAT_VERSION = "citeboard-season-archive", 1


class FileMissing(Exception):
    """The archive names a file that it does not have."""


class OutsideArchive(InputRefused):
    """The archive names a file that is not its own."""


def read_season(archive: Path) -> dict[str, Any]:
    """Raises InputRefused where the folder is no archive that is understood here."""
    try:
        season = read_json(archive, SEASON)
    except FileMissing as missing:
        raise refused(archive, f"{missing}; expected the folder of an archive") from missing
    if not isinstance(season, dict) or season.get("format") != FORMAT:
        raise refused(archive / SEASON, f"not an archive of a season; expected the format {FORMAT}")
    if season.get("format_version") != FORMAT_VERSION:
        version = season.get("format_version")
        raise refused(archive / SEASON, f"format version {version}; expected {FORMAT_VERSION}")
    return season


def read_json(archive: Path, name: str) -> Any:
    """Raises FileMissing, or InputRefused where it leads elsewhere or is no JSON."""
    path = existing(archive, name)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as fault:
        raise refused(path, f"cannot be read as JSON: {fault}") from fault


def existing(archive: Path, name: str) -> Path:
    """The path of a file. Raises FileMissing or OutsideArchive."""
    path = archive / name
    if "\0" in name or not path.resolve().is_relative_to(archive.resolve()):
        fault = f"{name!r} leads out of the archive"
        raise OutsideArchive([Problem(file=str(archive), message=fault)])
    if not path.is_file():
        raise FileMissing(f"{name}: there is no such file")
    return path


def changed_files(archive: Path) -> Iterator[str]:
    """A line for each file that is missing or is not the one whose checksum the archive has."""
    try:
        lines = existing(archive, CHECKSUMS).read_text(encoding="utf-8").splitlines()
    except FileMissing as missing:
        yield str(missing)
        return
    for line in lines:
        digest, _, name = line.partition("  ")
        try:
            with existing(archive, name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except FileMissing as missing:
            yield str(missing)
            continue
        if found != digest:
            yield f"{name}: not the file whose checksum {CHECKSUMS} has"


def refused(path: Path, message: str) -> InputRefused:
    return InputRefused([Problem(file=str(path), message=message)])
