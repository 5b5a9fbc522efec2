"""Records as the field keeps them: a JSON list, the same under `data`, or one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tasks.types.files import InputFile
from tasks.types.problems import Problem, quoted
from tasks.types.text import NotFinite, decoded, decoded_json, json_kind, json_lines

SUFFIXES = (".json", ".jsonl", ".ndjson")
LINES = (".jsonl", ".ndjson")
#: Where the data sets keep the name of an instance.
_IDS = ("id", "sample_id", "question_id")


_FORMS = "a list of objects, an object with such a list under “data”, or one object a line"


@dataclass(frozen=True)
class Record:
    """One object and where it stands: by line, or as the n-th item of a list."""

    file: str
    line: int | None
    item: int
    value: Mapping[str, Any]
    raw: str = ""

    @property
    def id(self) -> str | None:
        """The instance's name, if the record gives one; numbers are read as they are written."""
        return record_id(self.value)

    def problem(self, message: str, expected: str = "", *, fatal: bool = True) -> Problem:
        place = "" if self.line is not None else f"item {self.item}: "
        return Problem(
            file=self.file,
            line=self.line,
            message=f"{place}{message}",
            expected=expected,
            quote=quoted(self.raw),
            fatal=fatal,
        )


def record_id(value: Mapping[str, Any]) -> str | None:
    found = next((value[key] for key in _IDS if value.get(key) is not None), None)
    return None if found is None or isinstance(found, bool | float | list | dict) else str(found)


def well_formed(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON can spell and no file can hold."""
    return text.encode("utf-8", "replace").decode()


def read_records(file: InputFile, problems: list[Problem]) -> Iterator[Record]:
    """The records of a file, one after the other; what is no record becomes a problem."""
    yield from Records(file, problems)


class Records:
    """The records of a file: made as they are asked for, since there may be millions.

    A file of lines is read while one goes through it, a list at once.
    """

    def __init__(self, file: InputFile, problems: list[Problem]) -> None:
        self._file, self._problems = file, problems
        self._items = None if file.suffix in LINES else self._list()

    @property
    def are_by_place(self) -> bool:
        """Whether this is a list of which no record names its instance."""
        items = self._items
        return bool(items) and not any(record_id(item) for item in items or () if isinstance(item, dict))

    def __len__(self) -> int:
        """Of a list."""
        return sum(isinstance(item, dict) for item in self._items or ())

    def __iter__(self) -> Iterator[Record]:
        if self._items is None:
            yield from line_records(self._file, self._problems)
            return
        for place, item in enumerate(self._items, start=1):
            if isinstance(item, dict):
                yield Record(self._file.shown, None, place, item)
            else:
                self._refuse(f"item {place} is {json_kind(item)}", "an object")

    def _list(self) -> list[Any] | None:
        """None where the file has lines, whatever its name says."""
        try:
            items = decoded_json(decoded(self._file.read()))
        except json.JSONDecodeError as fault:
            if fault.msg == "Extra data" and fault.lineno > 1:
                return None
            self._refuse(f"not JSON: {fault.msg} at column {fault.colno}", line=fault.lineno)
        except NotFinite as fault:
            self._refuse(str(fault), "finite numbers")
        except (ValueError, RecursionError) as fault:
            message = "nested too deeply" if isinstance(fault, RecursionError) else str(fault)
            self._refuse(f"not JSON: {message}")
        else:
            if isinstance(items, dict):
                items = items["data"] if isinstance(items.get("data"), list) else [items]
            if isinstance(items, list):
                return items
            self._refuse(f"found {json_kind(items)}")
        return []

    def _refuse(self, message: str, expected: str = _FORMS, line: int | None = None) -> None:
        self._problems.append(Problem(file=self._file.shown, line=line, message=message, expected=expected))


def line_records(file: InputFile, problems: list[Problem]) -> Iterator[Record]:
    """The records of a file of lines, whatever its name says."""
    for place, (line, value, raw) in enumerate(json_lines(file, problems), start=1):
        yield Record(file.shown, line, place, value, raw)
