"""Mount archived seasons of other sites, which this site shows as read-only seasons."""

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from scoring.offline.verify import verify
from scoring.offline.verify.files import (
    CHECKSUMS_FILE_NAME,
    SEASON_FILE_NAME,
    find_archived_file,
    read_json,
    read_season,
)
from scoring.results.board.formatting import format_rank

MOUNTED_ARCHIVES_FOLDER_NAME = "archives"
MOUNT_RECORD_FILE_NAME, CONTENT_FOLDER_NAME = "mount.json", "content"
_ARCHIVE_SLUG_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
_BOARD_FILE_PATTERN = re.compile(r"boards/([A-Za-z0-9_-]{1,200})\.json")


class ArchiveMountRefused(Exception):
    pass


@dataclass(frozen=True)
class MountedArchive:
    slug: str
    folder: Path

    @property
    def content(self) -> Path:
        return self.folder / CONTENT_FOLDER_NAME

    @cached_property
    def facts(self) -> dict[str, Any]:
        return read_season(self.content)

    @cached_property
    def mount(self) -> dict[str, Any]:
        return dict(
            json.loads(
                (self.folder / MOUNT_RECORD_FILE_NAME).read_text(encoding="utf-8")
            )
        )

    @property
    def title(self) -> str:
        return str(self.facts["season"]["title"])

    @property
    def licence(self) -> str:
        return str(self.facts["season"]["licence"])

    @property
    def boards(self) -> list[tuple[str, str]]:
        phases = (
            (task["title"], phase)
            for task in self.facts["tasks"]
            for phase in task["phases"]
        )
        return [
            (match[1], f"{title}, {phase['title']}, {match[1].rpartition('-')[2]}")
            for title, phase in phases
            for match in filter(
                None, map(_BOARD_FILE_PATTERN.fullmatch, phase["boards"])
            )
        ]

    def board(self, name: str) -> dict[str, Any] | None:
        if (title := dict(self.boards).get(name)) is None:
            return None
        content = read_json(self.content, f"boards/{name}.json")
        columns = [str(column["name"]) for column in content["columns"]]
        is_compared = content.get("compared", False)
        lines = [
            {
                "rank": format_rank(
                    row["rank"],
                    row["rank_low"],
                    row["rank_high"],
                    is_compared=is_compared,
                ),
                "system": str(row["system"]),
                "team": str(row["team"] or row["kind"]),
                "cells": [
                    _format_score_cell(row["scores"].get(column)) for column in columns
                ],
            }
            for row in content["rows"]
        ]
        rules = str(content["rules"])
        return {
            "name": name,
            "title": title,
            "rules": rules,
            "columns": columns,
            "lines": lines,
        }

    @cached_property
    def files(self) -> list[str]:
        return sorted(_iterate_listed_file_names(self.content))

    def file(self, name: str) -> Path | None:
        return find_archived_file(self.content, name) if name in self.files else None


def list_mounted_archives() -> list[MountedArchive]:
    base = settings.DATA_DIR / MOUNTED_ARCHIVES_FOLDER_NAME
    mounts = (
        (MountedArchive(path.name, path) for path in base.iterdir())
        if base.is_dir()
        else ()
    )
    return sorted(
        (one for one in mounts if (one.folder / MOUNT_RECORD_FILE_NAME).is_file()),
        key=lambda one: one.slug,
    )


def find_mounted_archive(slug: str) -> MountedArchive | None:
    return next(
        (archive for archive in list_mounted_archives() if archive.slug == slug), None
    )


def verify_and_mount_archive(archive: Path, slug: str = "") -> MountedArchive:
    """Verify the archive of a season and store a copy of the files.

    Raises ArchiveMountRefused if the archive is unsuitable, or InputRefused if the folder is
    not an archive of a season.
    """
    facts = read_season(archive)
    called = slug or str(facts["season"]["slug"])
    if not _ARCHIVE_SLUG_PATTERN.fullmatch(called):
        raise ArchiveMountRefused(f"“{called}” is no slug; name another")
    place = settings.DATA_DIR / MOUNTED_ARCHIVES_FOLDER_NAME / called
    if place.exists():
        raise ArchiveMountRefused(
            f"an archive is mounted as “{called}” already; name another slug, or unmount it"
        )
    checked = verify(archive)
    if checked.differing:
        raise ArchiveMountRefused(f"it does not hold: {checked.differing[0]}")
    place.parent.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        whole = Path(scratch) / called
        for name in (*_iterate_listed_file_names(archive), CHECKSUMS_FILE_NAME):
            (whole / CONTENT_FOLDER_NAME / name).parent.mkdir(
                parents=True, exist_ok=True
            )
            shutil.copyfile(
                find_archived_file(archive, name), whole / CONTENT_FOLDER_NAME / name
            )
        # To find errors before the archive becomes visible, read all its files.
        copy = MountedArchive(called, whole)
        try:
            if SEASON_FILE_NAME not in copy.files or not copy.title:
                raise ArchiveMountRefused(
                    f"its checksums do not name {SEASON_FILE_NAME}, or it has no title"
                )
            for name, _ in copy.boards:
                copy.board(name)
        except (AttributeError, KeyError, TypeError, ValueError) as fault:
            raise ArchiveMountRefused(
                f"not as an archive is written: {fault!r}"
            ) from fault
        stated = {
            "mounted": timezone.now().isoformat(),
            "sha256": hashlib.sha256(
                (whole / CONTENT_FOLDER_NAME / CHECKSUMS_FILE_NAME).read_bytes()
            ).hexdigest(),
            "verified": checked.summary()[-1],
            "unchecked": dict(checked.unchecked),
        }
        (whole / MOUNT_RECORD_FILE_NAME).write_text(
            json.dumps(stated), encoding="utf-8"
        )
        whole.rename(place)
    return MountedArchive(called, place)


def unmount_archive(slug: str) -> None:
    if (mount := find_mounted_archive(slug)) is None:
        raise ArchiveMountRefused(f"no archive is mounted as “{slug}”")
    shutil.rmtree(mount.folder)


def _iterate_listed_file_names(folder: Path) -> Iterator[str]:
    for line in (
        find_archived_file(folder, CHECKSUMS_FILE_NAME)
        .read_text(encoding="utf-8")
        .splitlines()
    ):
        yield line.partition("  ")[2]


def _format_score_cell(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return ""
    if cell["value"] is None:
        return (
            "withheld"
            if cell.get("withheld")
            else "infinite"
            if cell.get("infinite")
            else "undefined"
        )
    value = f"{cell['value']:z.4f}"
    return (
        value
        if cell["low"] is None
        else f"{value} [{cell['low']:z.4f}, {cell['high']:z.4f}]"
    )
