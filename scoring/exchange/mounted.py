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
    CHECKSUMS,
    SEASON,
    existing,
    read_json,
    read_season,
)
from scoring.results.board.formatting import rank_text

MOUNTS_FOLDER = "archives"
MOUNT, CONTENT = "mount.json", "content"
_SLUG_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")
_BOARD_FILE_PATTERN = re.compile(r"boards/([A-Za-z0-9_-]{1,200})\.json")


class MountRefused(Exception):
    pass


@dataclass(frozen=True)
class MountedArchive:
    slug: str
    folder: Path

    @property
    def content(self) -> Path:
        return self.folder / CONTENT

    @cached_property
    def facts(self) -> dict[str, Any]:
        return read_season(self.content)

    @cached_property
    def mount(self) -> dict[str, Any]:
        return dict(json.loads((self.folder / MOUNT).read_text(encoding="utf-8")))

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
                "rank": rank_text(
                    row["rank"],
                    row["rank_low"],
                    row["rank_high"],
                    is_compared=is_compared,
                ),
                "system": str(row["system"]),
                "team": str(row["team"] or row["kind"]),
                "cells": [
                    _score_cell_text(row["scores"].get(column)) for column in columns
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
        return sorted(_listed_file_names(self.content))

    def file(self, name: str) -> Path | None:
        return existing(self.content, name) if name in self.files else None


def mounted_archives() -> list[MountedArchive]:
    base = settings.DATA_DIR / MOUNTS_FOLDER
    mounts = (
        (MountedArchive(path.name, path) for path in base.iterdir())
        if base.is_dir()
        else ()
    )
    return sorted(
        (one for one in mounts if (one.folder / MOUNT).is_file()),
        key=lambda one: one.slug,
    )


def mounted_archive(slug: str) -> MountedArchive | None:
    return next(
        (archive for archive in mounted_archives() if archive.slug == slug), None
    )


def mount(archive: Path, slug: str = "") -> MountedArchive:
    """Verify the archive of a season and store a copy of the files.

    Raises MountRefused if the archive is unsuitable, or InputRefused if the folder is
    not an archive of a season.
    """
    facts = read_season(archive)
    called = slug or str(facts["season"]["slug"])
    if not _SLUG_PATTERN.fullmatch(called):
        raise MountRefused(f"“{called}” is no slug; name another")
    place = settings.DATA_DIR / MOUNTS_FOLDER / called
    if place.exists():
        raise MountRefused(
            f"an archive is mounted as “{called}” already; name another slug, or unmount it"
        )
    checked = verify(archive)
    if checked.differing:
        raise MountRefused(f"it does not hold: {checked.differing[0]}")
    place.parent.mkdir(mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        whole = Path(scratch) / called
        for name in (*_listed_file_names(archive), CHECKSUMS):
            (whole / CONTENT / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(existing(archive, name), whole / CONTENT / name)
        # To find errors before the archive becomes visible, read all its files.
        copy = MountedArchive(called, whole)
        try:
            if SEASON not in copy.files or not copy.title:
                raise MountRefused(
                    f"its checksums do not name {SEASON}, or it has no title"
                )
            for name, _ in copy.boards:
                copy.board(name)
        except (AttributeError, KeyError, TypeError, ValueError) as fault:
            raise MountRefused(f"not as an archive is written: {fault!r}") from fault
        stated = {
            "mounted": timezone.now().isoformat(),
            "sha256": hashlib.sha256(
                (whole / CONTENT / CHECKSUMS).read_bytes()
            ).hexdigest(),
            "verified": checked.summary()[-1],
            "unchecked": dict(checked.unchecked),
        }
        (whole / MOUNT).write_text(json.dumps(stated), encoding="utf-8")
        whole.rename(place)
    return MountedArchive(called, place)


def unmount_archive(slug: str) -> None:
    if (mount := mounted_archive(slug)) is None:
        raise MountRefused(f"no archive is mounted as “{slug}”")
    shutil.rmtree(mount.folder)


def _listed_file_names(folder: Path) -> Iterator[str]:
    for line in existing(folder, CHECKSUMS).read_text(encoding="utf-8").splitlines():
        yield line.partition("  ")[2]


def _score_cell_text(cell: Mapping[str, Any] | None) -> str:
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
    value = f"{cell['value']:.4f}"
    return (
        value
        if cell["low"] is None
        else f"{value} [{cell['low']:.4f}, {cell['high']:.4f}]"
    )
