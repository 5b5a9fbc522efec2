"""Read the files of a season's archive."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tasks.types import InputRefused, Problem
from tasks.types.guarded import json_reader

SEASON_FILE_NAME, CHECKSUMS_FILE_NAME, LOG_FILE_NAME = (
    "season.json",
    "SHA256SUMS",
    "log.json",
)
ARCHIVE_FORMAT, ARCHIVE_FORMAT_VERSION = "citeboard-season-archive", 1


class ArchivedFileMissing(Exception):
    """An error about a file that an archive names but does not contain."""


class PathOutsideArchive(InputRefused):
    """An error about a path in an archive that leads to a file outside of the archive's
    folder.
    """


def format_tests_path(board: str) -> str:
    """Return the path in the archive of the paired tests of a board."""
    return board.replace("boards/", "tests/", 1)


def read_season(archive: Path) -> dict[str, Any]:
    """Read the description of a season from an archive. Raises InputRefused if the
    folder is not a season's archive in a supported format.
    """
    try:
        season = read_json(archive, SEASON_FILE_NAME)
    except ArchivedFileMissing as missing:
        raise build_refusal(
            archive, f"{missing}; expected the folder of an archive"
        ) from missing
    if not isinstance(season, dict) or season.get("format") != ARCHIVE_FORMAT:
        raise build_refusal(
            archive / SEASON_FILE_NAME,
            f"not an archive of a season; expected the format {ARCHIVE_FORMAT}",
        )
    if season.get("format_version") != ARCHIVE_FORMAT_VERSION:
        version = season.get("format_version")
        raise build_refusal(
            archive / SEASON_FILE_NAME,
            f"format version {version}; expected {ARCHIVE_FORMAT_VERSION}",
        )
    return season


def read_json(archive: Path, name: str) -> Any:
    """Read a JSON file of a season's archive. Raises ArchivedFileMissing if the file does not
    exist, or InputRefused if the file is outside of the archive or is not JSON.
    """
    path = find_archived_file(archive, name)
    try:
        return json_reader.read_json(path.read_bytes())
    except ValueError as fault:
        raise build_refusal(path, f"cannot be read as JSON: {fault}") from fault


def find_archived_file(archive: Path, name: str) -> Path:
    """Return the path of an existing file in an archive. Raise ArchivedFileMissing or
    PathOutsideArchive.
    """
    path = archive / name
    if "\0" in name or not path.resolve().is_relative_to(archive.resolve()):
        raise PathOutsideArchive(
            [Problem(file=str(archive), message=f"{name!r} leads out of the archive")]
        )
    if not path.is_file():
        raise ArchivedFileMissing(f"{name}: there is no such file")
    return path


def iterate_changed_files(archive: Path) -> Iterator[str]:
    """Yield a message for each file of the archive that is missing or has a wrong
    checksum.
    """
    try:
        # A file whose name is not UTF-8 counts as missing.
        lines = (
            find_archived_file(archive, CHECKSUMS_FILE_NAME)
            .read_text(encoding="utf-8", errors="replace")
            .splitlines()
        )
    except ArchivedFileMissing as missing:
        yield str(missing)
        return
    for line in lines:
        digest, _, name = line.partition("  ")
        try:
            with find_archived_file(archive, name).open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        except ArchivedFileMissing as missing:
            yield str(missing)
            continue
        if actual != digest:
            yield f"{name}: not the file whose checksum {CHECKSUMS_FILE_NAME} has"


def build_refusal(path: Path, message: str) -> InputRefused:
    return InputRefused([Problem(file=str(path), message=message)])
