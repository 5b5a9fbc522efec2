"""The data of a task that everybody may have: inputs of phases that have released them, and no gold."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import IO

from django.core.cache import caches

from citeboard.core import storage
from tasks.models import Gold, Phase, Task
from tasks.types.files import CHUNK

#: So many lines of a JSON lines file are looked at for its fields.
LINES = 50
_TYPES = {str: "sc:Text", bool: "sc:Boolean", int: "sc:Integer", float: "sc:Float"}


@dataclass(frozen=True)
class ReleasedFile:
    """A file in the archive; of JSON lines also the fields whose values are plain, with the type of each."""

    name: str
    size: int
    sha256: str
    fields: dict[str, str]

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix.lower()


@dataclass(frozen=True)
class Archive:
    size: int
    sha256: str
    files: tuple[ReleasedFile, ...]


@dataclass(frozen=True)
class Release:
    """What a phase has released, under the version of the gold that it goes with."""

    phase: Phase
    gold: Gold
    archive: Archive


def released_phases(task: Task) -> dict[Phase, Gold]:
    """One phase for each split that has released its inputs, whoever asks."""
    found: dict[str, tuple[Phase, Gold]] = {}
    for phase in task.phases.all():
        gold = Gold.objects.current(phase) if phase.has_released_inputs() else None
        if gold is not None:
            found.setdefault(phase.split, (phase, gold))
    return dict(found.values())


def releases_of(task: Task) -> list[Release]:
    """The same with what their archives hold."""
    return [Release(phase, gold, _archive(gold.public)) for phase, gold in released_phases(task).items()]


def _archive(name: str) -> Archive:
    """Looked into once: the name holds the checksum of the content."""
    key = f"released:{hashlib.sha256(name.encode()).hexdigest()}"
    found: Archive | None = caches["results"].get(key)
    if found is None:
        with storage.gold.open(name) as content:
            sha256 = _sha256(content)
            content.seek(0)
            with zipfile.ZipFile(content) as archive:
                files = tuple(_file(archive, member) for member in archive.infolist())
        found = Archive(storage.gold.size(name), sha256, files)
        caches["results"].set(key, found, None)
    return found


def _file(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> ReleasedFile:
    with archive.open(member) as content:
        sha256 = _sha256(content)
    fields = {}
    if member.filename.endswith(".jsonl"):
        with archive.open(member) as content:
            fields = dict(_fields(content))
    return ReleasedFile(member.filename, member.file_size, sha256, fields)


def _fields(lines: IO[bytes]) -> Iterator[tuple[str, str]]:
    """Those whose values are all of one plain type."""
    types: dict[str, set[str]] = {}
    for line in islice(lines, LINES):
        for name, value in json.loads(line).items():
            if value is not None:
                types.setdefault(name, set()).add(_TYPES.get(type(value), ""))
    for name, own in types.items():
        if own == {"sc:Integer", "sc:Float"}:
            yield name, "sc:Float"
        elif len(own) == 1 and "" not in own:
            yield name, next(iter(own))


def _sha256(content: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := content.read(CHUNK):
        digest.update(chunk)
    return digest.hexdigest()
