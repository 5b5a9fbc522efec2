"""Read the files of a season's archive."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.types import InputRefused, Problem
from tasks.types.guarded import json_reader

SEASON, CHECKSUMS, LOG = "season.json", "SHA256SUMS", "log.json"
FORMAT, FORMAT_VERSION = "citeboard-season-archive", 1


class FileMissing(Exception):
    """An error about a file that an archive names but does not contain."""


class OutsideArchive(InputRefused):
    """An error about a path in an archive that leads to a file outside of the archive's
    folder.
    """


def tests_of(board: str) -> str:
    """Return the path in the archive of the paired tests of a board."""
    return board.replace("boards/", "tests/", 1)


def read_season(archive: Path) -> dict[str, Any]:
    """Read the description of a season from an archive. Raises InputRefused if the
    folder is not a season's archive in a supported format.
    """
    try:
        season = read_json(archive, SEASON)
    except FileMissing as missing:
        raise refused(
            archive, f"{missing}; expected the folder of an archive"
        ) from missing
    if not isinstance(season, dict) or season.get("format") != FORMAT:
        raise refused(
            archive / SEASON,
            f"not an archive of a season; expected the format {FORMAT}",
        )
    if season.get("format_version") != FORMAT_VERSION:
        version = season.get("format_version")
        raise refused(
            archive / SEASON, f"format version {version}; expected {FORMAT_VERSION}"
        )
    return season


def read_json(archive: Path, name: str) -> Any:
    """Read a JSON file of a season's archive. Raises FileMissing if the file does not
    exist, or InputRefused if the file is outside of the archive or is not JSON.
    """
    path = existing(archive, name)
    try:
        return json_reader.read_json(path.read_bytes())
    except ValueError as fault:
        raise refused(path, f"cannot be read as JSON: {fault}") from fault


def existing(archive: Path, name: str) -> Path:
    """Return the path of an existing file in an archive. Raise FileMissing or
    OutsideArchive.
    """
    path = archive / name
    if "\0" in name or not path.resolve().is_relative_to(archive.resolve()):
        raise OutsideArchive(
            [Problem(file=str(archive), message=f"{name!r} leads out of the archive")]
        )
    if not path.is_file():
        raise FileMissing(f"{name}: there is no such file")
    return path


def changed_files(archive: Path) -> Iterator[str]:
    """Yield a message for each file of the archive that is missing or has a wrong
    checksum.
    """
    try:
        # A file whose name is not UTF-8 counts as missing.
        lines = (
            existing(archive, CHECKSUMS)
            .read_text(encoding="utf-8", errors="replace")
            .splitlines()
        )
    except FileMissing as missing:
        yield str(missing)
        return
    for line in lines:
        digest, _, name = line.partition("  ")
        try:
            with existing(archive, name).open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        except FileMissing as missing:
            yield str(missing)
            continue
        if actual != digest:
            yield f"{name}: not the file whose checksum {CHECKSUMS} has"


def refused(path: Path, message: str) -> InputRefused:
    return InputRefused([Problem(file=str(path), message=message)])
