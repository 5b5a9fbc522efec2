"""What a file of answers carries: the official zip says it by its folders, JSON lines by their keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tasks.types.clsumm.runs import JSON_SUFFIXES, is_json_run
from tasks.types.files import InputFile
from tasks.types.problems import InputRefused

#: Lines that are looked at for one that is a record.
LOOKED_AT = 100
LONGEST = 1 << 20
#: Bytes that are looked at of all files together, since a sender waits for it.
MAX_BYTES = 64 << 20


def accepts_citances(files: Sequence[InputFile]) -> bool:
    """Annotation lines, CSV rows or JSON lines about citances."""
    look = _Look(files)
    return any(map(look.answers_citances, files))


def accepts_facets(files: Sequence[InputFile]) -> bool:
    """The same, with facets anywhere among what is looked at."""
    look = _Look(files)
    return any(look.answers_citances(file) and look.finds(file, _names_facets) for file in files)


def accepts_summaries(files: Sequence[InputFile]) -> bool:
    """A system's summaries, or JSON lines with them."""
    look = _Look(files)
    for file in files:
        if is_json_run(file, files):
            if "Task1" not in file.parts[:-1] and look.has_key(file, "summary"):
                return True
        elif file.suffix == ".txt" and ("Task2" in file.parts[:-1] or ".system." in file.parts[-1]):
            return True
    return False


@dataclass
class _Look:
    """At the lines of files, for one that is of a kind, until so many bytes are read."""

    files: Sequence[InputFile]
    left: int = field(default_factory=lambda: MAX_BYTES)

    def answers_citances(self, file: InputFile) -> bool:
        if "Task2" in file.parts[:-1] or ".system." in file.parts[-1]:
            return False
        if file.suffix in (*JSON_SUFFIXES, ".json"):
            return is_json_run(file, self.files) and self.has_key(file, "sentences")
        return file.suffix in (".txt", ".csv") and (
            "Task1" in file.parts[:-1] or self.finds(file, _names_citances)
        )

    def has_key(self, file: InputFile, key: str) -> bool:
        return self.finds(file, lambda line: key in _record(line), most=LOOKED_AT)

    def finds(self, file: InputFile, is_one: Callable[[bytes], bool], most: int | None = None) -> bool:
        """Whether a line is of this kind; a file that cannot be read has none, which its own check says."""
        if self.left <= 0:
            return False
        try:
            for number, line in enumerate(file.lines(LONGEST)):
                self.left -= len(line)
                if self.left < 0 or (most is not None and number >= most):
                    return False
                if is_one(line):
                    return True
        except InputRefused:
            return False
        return False


def _record(line: bytes) -> dict[str, object]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _names_facets(line: bytes) -> bool:
    return b"facet" in line.lower()


def _names_citances(line: bytes) -> bool:
    return b"Citing Article" in line
