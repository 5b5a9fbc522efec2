"""Reading the fields of JSON objects: each judged by itself, what is wrong told with its place."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tasks.types import Problem

#: In a name or label; no table prints longer ones.
LONGEST = 400
_REQUIRED = object()


class Findings:
    """What is wrong with a file, in the order of reading."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []

    def add(self, place: str, message: str, expected: str = "", *, fatal: bool = True) -> None:
        text = f"{place}: {message}" if place else message
        self.problems.append(Problem(file=self.file, message=text, expected=expected, fatal=fatal))


class Fields:
    """One object. Each reader takes a field's value; `close` then refuses the fields that nobody took.

    What is refused reads as something empty, and reading goes on.
    """

    def __init__(self, value: object, place: str, findings: Findings) -> None:
        self.place, self.findings = place, findings
        self.values: Mapping[str, Any] = value if isinstance(value, dict) else {}
        self._known: list[str] = []
        if not isinstance(value, dict):
            self.refuse("not an object", "an object such as {…}")

    def refuse(self, message: str, expected: str = "") -> None:
        self.findings.add(self.place, message, expected)

    def text(self, name: str, default: object = _REQUIRED) -> str:
        value = self.raw(name, default)
        if value is default and default is not _REQUIRED:
            return str(default)
        if not isinstance(value, str) or (default is _REQUIRED and not value.strip()):
            if value is not _REQUIRED:
                self.refuse(f"“{name}” is {shown(value)}", "a text")
            return ""
        if len(value) > LONGEST:
            self.refuse(f"“{name}” has {len(value)} characters", f"at most {LONGEST}")
        return value.strip()

    def texts(self, name: str, default: object = _REQUIRED) -> tuple[str, ...]:
        value = self.raw(name, default)
        is_list = isinstance(value, (list, tuple)) and all(isinstance(text, str) and text for text in value)
        if is_list and (value or default is not _REQUIRED):
            return tuple(value)
        if value is not _REQUIRED:
            self.refuse(f"“{name}” is {shown(value)}", "a list of texts")
        return ()

    def choice(self, name: str, choices: Iterable[str]) -> str:
        value, known = self.text(name), list(choices)
        if value and value not in known:
            self.refuse(f"“{name}” is “{value}”{near(value, known)}", f"one of {', '.join(known)}")
        return value

    def whole(self, name: str, low: int, high: int) -> int:
        value = self.raw(name)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        if value is not _REQUIRED:
            self.refuse(f"“{name}” is {shown(value)}", f"a whole number from {low} to {high}")
        return low

    def flag(self, name: str, *choices: bool | None, default: object = _REQUIRED) -> bool | None:
        value = self.raw(name, default)
        if (value is None or isinstance(value, bool)) and value in choices:
            return value
        if value is not _REQUIRED:
            words = {True: "true", False: "false", None: "null"}
            self.refuse(f"“{name}” is {shown(value)}", " or ".join(words[choice] for choice in choices))
        return None

    def objects(self, name: str, places: str) -> list[Fields]:
        """The objects of a list, at least one; ``places`` is how problems call one, with its number."""
        value = self.raw(name)
        if not isinstance(value, list) or not value:
            if value is not _REQUIRED:
                self.refuse(f"“{name}” is {shown(value)}", "a list of objects")
            return []
        before = f"{self.place}, " if self.place else ""
        return [
            Fields(entry, f"{before}{places.format(at)}", self.findings)
            for at, entry in enumerate(value, start=1)
        ]

    def mapping(self, name: str, kinds: type | tuple[type, ...], wanted: str) -> dict[str, Any]:
        """Values of one kind by name; none where the field is left out. Null is let through."""
        value = self.raw(name, {})
        if not isinstance(value, dict):
            self.refuse(f"“{name}” is {shown(value)}", f"an object with {wanted}")
            return {}
        sound = {}
        for key, entry in value.items():
            if entry is None or (
                isinstance(entry, kinds) and not isinstance(entry, bool) and _is_finite(entry)
            ):
                sound[key] = entry
            else:
                self.refuse(f"“{name}” of {key} is {shown(entry)}", wanted)
        return sound

    def raw(self, name: str, default: object = _REQUIRED) -> Any:
        """The value as it stands; a field that is wanted and missing is refused, and reads as a marker."""
        self._known.append(name)
        if name in self.values:
            return self.values[name]
        if default is _REQUIRED:
            self.refuse(f"“{name}” is missing")
        return default

    def close(self, further: Sequence[str] = ()) -> None:
        for name in self.values:
            if name not in self._known and name not in further:
                known = [*self._known, *further]
                self.refuse(f"there is no field “{name}” here{near(name, known)}")


def shown(value: object) -> str:
    """A value in a message."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"“{value[:40]}”" if value else "empty"
    if isinstance(value, (list, dict)):
        return "empty" if not value else "a list" if isinstance(value, list) else "an object"
    return str(value).lower() if isinstance(value, bool) else str(value)


def near(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean “{close[0]}”?)" if close else ""


def _is_finite(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)
