"""Typed readers of a TOML table that note all that is wrong, by line, instead of stopping at the first."""

from __future__ import annotations

import datetime as dt
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _

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
            self.refuse(name, _is(name, value), _("a text in quotes"))
            return ""
        text = value.strip()
        if "\0" in text:
            self.refuse(name, _holds_nul(name), _("a text without NUL"))
            return ""
        if not text and default is _REQUIRED:
            self.refuse(name, _is_empty(name))
        if longest is not None and len(text) > longest:
            words = _("“%(name)s” has %(found)s characters")
            self.refuse(name, words % {"name": name, "found": len(text)}, _at_most(longest))
        return text

    def slug(self, name: str, default: object = _REQUIRED) -> str:
        value = self.text(name, default, longest=60)
        if value and not _SLUG.fullmatch(value):
            self.refuse(
                name,
                _("“%(value)s” cannot stand in an address") % {"value": value},
                _("small letters, digits and single hyphens"),
            )
        return value

    def choice(self, name: str, choices: Sequence[str], default: object = _REQUIRED) -> str:
        value = self.text(name, default)
        if value and value not in choices:
            words = _("“%(value)s” is not known here%(near)s")
            self.refuse(name, words % {"value": value, "near": near(value, choices)}, one_of(choices))
        return value

    def boolean(self, name: str, *, default: bool) -> bool:
        value = self._value(name, default)
        if isinstance(value, bool):
            return value
        self.refuse(name, _is(name, value), _("true or false"))
        return default

    def limit(self, name: str, *, least: int = 1, most: int = _LARGEST) -> int | None:
        """A whole number within bounds; None where the key is left out, which sets no limit."""
        value = self._value(name, None)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        if most == _LARGEST:
            expected = _("a whole number from %(least)s; leave it out for no limit") % {"least": least}
        else:
            words = _("a whole number from %(least)s to %(most)s; leave it out for no limit")
            expected = words % {"least": least, "most": f"{most:,}"}
        self.refuse(name, _is(name, value, value if isinstance(value, int) else None), expected)
        return None

    def texts(self, name: str, default: object = _REQUIRED) -> tuple[str, ...]:
        value = self._value(name, default)
        if value is _MISSING:
            return ()
        if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
            words = _("“%(name)s” is not a list of texts") % {"name": name}
            self.refuse(name, words, _('a list such as ["one", "two"]'))
            return ()
        if not value and default is _REQUIRED:
            self.refuse(name, _is_empty(name))
        for text in dict.fromkeys(value):
            if value.count(text) > 1:
                self.refuse(name, names_twice(name, text))
        return tuple(dict.fromkeys(value))

    def words(self, name: str) -> dict[str, str]:
        """A table of texts; none where the key is left out."""
        value = self._value(name, {})
        if not isinstance(value, dict):
            self.refuse(name, _is(name, value), _('a table such as { key = "value" }'))
            return {}
        for key, text in value.items():
            if not isinstance(text, str):
                self.findings.add((*self.path, name, key), _is(key, text), _("a text in quotes"))
            elif "\0" in key + text:
                self.findings.add((*self.path, name), _holds_nul(name))
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
        self.refuse(name, _is(name, value), _("a date and time, such as 2026-05-01T23:59:59Z"))
        return None

    def tables(self, name: str) -> list[Table]:
        """The tables of an array, none where the key is left out."""
        value = self._value(name, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            below = _("tables under [[%(path)s]]") % {"path": _dotted(self.path, name)}
            self.refuse(name, _is(name, value), below)
            return []
        return [Table(entry, (*self.path, name, at), self.findings) for at, entry in enumerate(value)]

    def table(self, name: str) -> Table:
        value = self._value(name)
        if isinstance(value, dict):
            return Table(value, (*self.path, name), self.findings)
        if value is not _MISSING:
            self.refuse(name, _is(name, value), _("a table under [%(name)s]") % {"name": name})
        # What stands in a table that is missing is not missed once more.
        return Table({}, (*self.path, name), Findings(self.findings.file, self.findings.lines))

    def refuse(self, name: str, message: str, expected: str = "") -> None:
        """Note something wrong with a key, on its line."""
        self.findings.add((*self.path, name), message, expected)

    def close(self) -> None:
        for name in self.values:
            if name not in self._known:
                words = _("there is no key “%(name)s” here%(near)s")
                near_by = near(name, self._known)
                self.refuse(name, words % {"name": name, "near": near_by}, one_of(self._known))

    def _value(self, name: str, default: object = _REQUIRED) -> Any:
        self._known.append(name)
        if name in self.values:
            return self.values[name]
        if default is not _REQUIRED:
            return default
        self.findings.add(self.path, _("“%(name)s” is missing") % {"name": name})
        return _MISSING


def kind(value: object) -> str:
    """What a TOML value is called in a message."""
    names: dict[type, str] = {
        bool: _("true or false"),
        int: _("a number"),
        float: _("a number"),
        str: _("a text"),
        list: _("a list"),
        dict: _("a table"),
        dt.datetime: _("a date and time"),
        dt.date: _("a date without a time"),
        dt.time: _("a time without a date"),
    }
    return names[type(value)]


def near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return " " + _("(did you mean “%(name)s”?)") % {"name": close[0]} if close else ""


def one_of(choices: Iterable[str]) -> str:
    return _("one of %(names)s") % {"names": ", ".join(choices)}


def names_twice(name: str, text: str) -> str:
    return _("“%(name)s” names “%(text)s” twice") % {"name": name, "text": text}


def _is(name: str, value: object, number: int | None = None) -> str:
    words = _("“%(name)s” is %(kind)s")
    return words % {"name": name, "kind": kind(value) if number is None else number}


def _is_empty(name: str) -> str:
    return _("“%(name)s” is empty") % {"name": name}


def _holds_nul(name: str) -> str:
    return _("“%(name)s” holds a character that no text has") % {"name": name}


def _at_most(number: int) -> str:
    return _("at most %(number)s") % {"number": number}


def _dotted(path: KeyPath, name: str) -> str:
    return ".".join([*(part for part in path if isinstance(part, str)), name])
