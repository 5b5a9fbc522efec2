"""Typed access to the keys of a `task.toml`. If a key is faulty, the access method
records a problem with the line number and continues.
"""

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tasks.types.guarded.limits import TextUnreadable
from tasks.types.guarded.toml_reader import read_toml
from tasks.types.problems import Problem
from tasks.types.toml_lines import TomlKeyLines, TomlKeyPath

REQUIRED_KEY: Final = object()
_KIND_DESCRIPTIONS = {
    bool: "true or false",
    str: "a text",
    list: "a list",
    dict: "a table",
}
_KIND_DESCRIPTIONS |= dict.fromkeys((int, float), "a number")


class TomlProblems(list[Problem]):
    """The problems in a `task.toml`, in the order in which they were found."""

    def __init__(self, file: str, lines: TomlKeyLines | None = None) -> None:
        super().__init__()
        self.file, self._lines = file, lines

    def add(self, path: TomlKeyPath, message: str, expected: str = "") -> None:
        line = self._lines.line(path) if self._lines else None
        self.append(
            Problem(file=self.file, line=line, message=message, expected=expected)
        )


class TomlTable:
    """A table of a `task.toml` with typed access to its keys. Methods such as `text`
    return the value of a key, or the default if the key is faulty. The method `close`
    records a problem for each key that no method has read.
    """

    def __init__(
        self, values: Mapping[str, Any], path: TomlKeyPath, faults: TomlProblems
    ) -> None:
        self.values, self.path, self.faults = values, path, faults
        self._taken: dict[str, None] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def value(self, name: str, default: Any = REQUIRED_KEY) -> Any:
        self._taken[name] = None
        if name not in self.values and default is REQUIRED_KEY:
            self.faults.add(self.path, f"“{name}” is missing")
        return self.values.get(name, default)

    def add_problem_at_key(self, name: str, message: str, expected: str = "") -> None:
        self.faults.add((*self.path, name), message, expected)

    def text(self, name: str, default: Any = REQUIRED_KEY) -> str:
        value = self.value(name, default)
        if isinstance(value, str) and (value or default == ""):
            return value
        if value is not REQUIRED_KEY:
            fault = "empty" if value == "" else describe_kind_of_toml_value(value)
            self.add_problem_at_key(name, f"“{name}” is {fault}", "a text in quotes")
        return "" if default is REQUIRED_KEY else str(default)

    def choice(
        self, name: str, choices: Iterable[str], default: Any = REQUIRED_KEY
    ) -> str:
        value = self.text(name, default)
        if value and value not in (known := list(choices)):
            message = (
                f"“{value}” is not known here{format_similar_name_hint(value, known)}"
            )
            self.add_problem_at_key(name, message, f"one of {', '.join(known)}")
            return "" if default is REQUIRED_KEY else str(default)
        return value

    def read_flag(self, name: str) -> bool:
        value = self.value(name, False)
        if not isinstance(value, bool):
            self.add_problem_at_key(
                name,
                f"“{name}” is {describe_kind_of_toml_value(value)}",
                "true or false",
            )
        return value is True

    def number(
        self, name: str, default: float | None = None, *, least: float = -math.inf
    ) -> float | None:
        value = self.value(name, default)
        if value is None:
            return None
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            self.add_problem_at_key(
                name,
                f"“{name}” is {describe_kind_of_toml_value(value)}",
                "a finite number",
            )
            return default
        if value < least:
            self.add_problem_at_key(
                name, f"“{name}” is {value:g}", f"a number from {least:g} up"
            )
            return default
        return value

    def texts(self, name: str, default: Any = REQUIRED_KEY) -> tuple[str, ...]:
        value = self.value(name, default)
        if value is REQUIRED_KEY:
            return ()
        if not isinstance(value, list | tuple) or not all(
            isinstance(text, str) and text for text in value
        ):
            self.add_problem_at_key(
                name, f"“{name}” is no list of texts", 'a list such as ["one", "two"]'
            )
            return ()
        if not value and default is REQUIRED_KEY:
            self.add_problem_at_key(name, f"“{name}” is empty")
        for text in dict.fromkeys(value):
            if value.count(text) > 1:
                self.add_problem_at_key(name, f"“{name}” names “{text}” twice")
        return tuple(dict.fromkeys(value))

    def table(self, name: str, default: Any = REQUIRED_KEY) -> "TomlTable":
        value = self.value(name, default)
        if isinstance(value, dict):
            return TomlTable(value, (*self.path, name), self.faults)
        if value is not REQUIRED_KEY:
            self.add_problem_at_key(
                name,
                f"“{name}” is {describe_kind_of_toml_value(value)}",
                f"a table under [{self._format_key_path(name)}]",
            )
        # The missing table is a problem, so its missing keys are not reported.
        return TomlTable({}, (*self.path, name), TomlProblems(self.faults.file))

    def tables(self, name: str, default: Any = REQUIRED_KEY) -> "list[TomlTable]":
        value = self.value(name, default)
        if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
            if not value and default is REQUIRED_KEY:
                self.add_problem_at_key(name, f"“{name}” is empty")
            return [
                TomlTable(entry, (*self.path, name, at), self.faults)
                for at, entry in enumerate(value)
            ]
        if value is not REQUIRED_KEY:
            self.add_problem_at_key(
                name,
                f"“{name}” is {describe_kind_of_toml_value(value)}",
                f"tables under [[{self._format_key_path(name)}]]",
            )
        return []

    def entry(self, name: str, value: object) -> "TomlTable | None":
        """Return an item of a TOML list as a table, or None if the item is neither a
        text nor a table. A text in the list is an abbreviation for a table with the
        text as `name`.
        """
        table = {"name": value} if isinstance(value, str) else value
        return (
            TomlTable(table, (*self.path, name), self.faults)
            if isinstance(table, dict)
            else None
        )

    def close(self) -> None:
        known = list(self._taken)
        for name in self.values:
            if name not in self._taken:
                message = f"there is no key “{name}” here{format_similar_name_hint(name, known)}"
                self.add_problem_at_key(name, message, f"one of {', '.join(known)}")

    def _format_key_path(self, name: str) -> str:
        return ".".join([*(part for part in self.path if isinstance(part, str)), name])


def describe_kind_of_toml_value(value: object) -> str:
    return _KIND_DESCRIPTIONS.get(type(value), "a date or a time")


def format_similar_name_hint(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known)
    return f" (did you mean “{close[0]}”?)" if close else ""


def parse_toml_table(text: str, file: str) -> tuple[TomlTable, TomlProblems]:
    """Return the top-level table of a TOML file, and a list for the problems of the
    file. If the file is not valid TOML, the list contains one problem with a line
    number.
    """
    try:
        values = read_toml(text)
    except TextUnreadable as fault:
        faults = TomlProblems(file)
        line = fault.line or text.count("\n") + 1
        message = f"not TOML: {fault.message}"
        faults.append(Problem(file=file, line=line, message=message))
        return TomlTable({}, (), TomlProblems(file)), faults
    faults = TomlProblems(file, TomlKeyLines(text))
    return TomlTable(values, (), faults), faults
