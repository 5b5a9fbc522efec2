"""Typed readers of a TOML table that note all that is wrong, by line, instead of stopping at the first."""

from __future__ import annotations

import datetime as dt
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from zoneinfo import ZoneInfo

from citeboard.core.instants import NoInstant, in_utc, on_clocks, read_instant
from tasks.seasons.file.lines import KeyLines, KeyPath
from tasks.types import Problem

_SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_REQUIRED: Final = object()
_MISSING: Final = object()
#: The largest number that both databases keep in such a column.
_LARGEST = 2**31 - 1


class Findings:
    """What is wrong with a season file, in the order in which it was found."""

    def __init__(self, file: str, lines: KeyLines) -> None:
        self.file, self.lines = file, lines
        self.problems: list[Problem] = []

    def add(self, path: KeyPath, message: str, expected: str = "") -> None:
        self.problems.append(
            Problem(file=self.file, line=self.lines.line(path), message=message, expected=expected)
        )


class Table:
    """One table of the file. Each reader takes a key's value; `close` then refuses the keys nobody took.

    A reader without a default wants its key. What is refused reads as something empty, and reading goes on.
    """

    def __init__(self, values: Mapping[str, Any], path: KeyPath, findings: Findings) -> None:
        self.values, self.path, self.findings = values, path, findings
        self._known: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str, default: object = _REQUIRED, *, longest: int | None = None) -> str:
        value = self._value(name, default)
        if value is _MISSING:
            return ""
        if not isinstance(value, str):
            self.refuse(name, f"“{name}” is {kind(value)}", "a text in quotes")
            return ""
        text = value.strip()
        if "\0" in text:
            self.refuse(name, f"“{name}” holds a character that no text has", "a text without NUL")
            return ""
        if not text and default is _REQUIRED:
            self.refuse(name, f"“{name}” is empty")
        if longest is not None and len(text) > longest:
            self.refuse(name, f"“{name}” has {len(text)} characters", f"at most {longest}")
        return text

    def slug(self, name: str, default: object = _REQUIRED) -> str:
        value = self.text(name, default, longest=60)
        if value and not _SLUG.fullmatch(value):
            self.refuse(
                name, f"“{value}” cannot stand in an address", "small letters, digits and single hyphens"
            )
        return value

    def choice(self, name: str, choices: Sequence[str], default: object = _REQUIRED) -> str:
        value = self.text(name, default)
        if value and value not in choices:
            self.refuse(name, f"“{value}” is not known here{near(value, choices)}", one_of(choices))
        return value

    def boolean(self, name: str, *, default: bool) -> bool:
        value = self._value(name, default)
        if isinstance(value, bool):
            return value
        self.refuse(name, f"“{name}” is {kind(value)}", "true or false")
        return default

    def limit(self, name: str, *, least: int = 1, most: int = _LARGEST) -> int | None:
        """A whole number within bounds; None where the key is left out, which sets no limit."""
        value = self._value(name, None)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        bounds = f"from {least}" if most == _LARGEST else f"from {least} to {most:,}"
        expected = f"a whole number {bounds}; leave it out for no limit"
        self.refuse(name, f"“{name}” is {value if isinstance(value, int) else kind(value)}", expected)
        return None

    def texts(self, name: str, default: object = _REQUIRED) -> tuple[str, ...]:
        value = self._value(name, default)
        if value is _MISSING:
            return ()
        if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
            self.refuse(name, f"“{name}” is not a list of texts", 'a list such as ["one", "two"]')
            return ()
        if not value and default is _REQUIRED:
            self.refuse(name, f"“{name}” is empty")
        for text in dict.fromkeys(value):
            if value.count(text) > 1:
                self.refuse(name, f"“{name}” names “{text}” twice")
        return tuple(dict.fromkeys(value))

    def words(self, name: str) -> dict[str, str]:
        """A table of texts; none where the key is left out."""
        value = self._value(name, {})
        if not isinstance(value, dict):
            self.refuse(name, f"“{name}” is {kind(value)}", 'a table such as { key = "value" }')
            return {}
        for key, text in value.items():
            if not isinstance(text, str):
                self.findings.add((*self.path, name, key), f"“{key}” is {kind(text)}", "a text in quotes")
            elif "\0" in key + text:
                self.findings.add((*self.path, name), f"“{name}” holds a character that no text has")
        return {key: text for key, text in value.items() if isinstance(text, str)}

    def moment(self, name: str, zone: ZoneInfo, default: object = _REQUIRED) -> dt.datetime | None:
        """An instant, in UTC; a time without an offset is meant in ``zone``."""
        value = self._value(name, default)
        if value is _MISSING or value is None:
            return None
        try:
            if isinstance(value, str):
                return read_instant(value, zone)
            if isinstance(value, dt.datetime):
                return in_utc(value) if value.tzinfo else on_clocks(value, zone)
        except NoInstant as refused:
            self.refuse(name, str(refused))
            return None
        self.refuse(name, f"“{name}” is {kind(value)}", "a date and time, such as 2026-05-01T23:59:59Z")
        return None

    def tables(self, name: str) -> list[Table]:
        """The tables of an array, none where the key is left out."""
        value = self._value(name, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            self.refuse(name, f"“{name}” is {kind(value)}", f"tables under [[{_dotted(self.path, name)}]]")
            return []
        return [Table(entry, (*self.path, name, at), self.findings) for at, entry in enumerate(value)]

    def table(self, name: str) -> Table:
        value = self._value(name)
        if isinstance(value, dict):
            return Table(value, (*self.path, name), self.findings)
        if value is not _MISSING:
            self.refuse(name, f"“{name}” is {kind(value)}", f"a table under [{name}]")
        # What stands in a table that is missing is not missed once more.
        return Table({}, (*self.path, name), Findings(self.findings.file, self.findings.lines))

    def refuse(self, name: str, message: str, expected: str = "") -> None:
        """Note something wrong with a key, on its line."""
        self.findings.add((*self.path, name), message, expected)

    def close(self) -> None:
        for name in self.values:
            if name not in self._known:
                message = f"there is no key “{name}” here{near(name, self._known)}"
                self.refuse(name, message, one_of(self._known))

    def _value(self, name: str, default: object = _REQUIRED) -> Any:
        self._known.append(name)
        if name in self.values:
            return self.values[name]
        if default is not _REQUIRED:
            return default
        self.findings.add(self.path, f"“{name}” is missing")
        return _MISSING


def kind(value: object) -> str:
    """What a TOML value is called in a message."""
    names: dict[type, str] = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "a table",
        dt.datetime: "a date and time",
        dt.date: "a date without a time",
        dt.time: "a time without a date",
    }
    return names[type(value)]


def near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean “{close[0]}”?)" if close else ""


def one_of(choices: Iterable[str]) -> str:
    return f"one of {', '.join(choices)}"


def _dotted(path: KeyPath, name: str) -> str:
    return ".".join([*(part for part in path if isinstance(part, str)), name])
