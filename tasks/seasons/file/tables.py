"""Read typed values from the tables of a season file and record all faults, and write
such tables.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _, gettext_noop

from citeboard.core.instants import InvalidTimeText
from citeboard.core.words import find_most_similar_name
from tasks.types import Problem
from tasks.types.toml_lines import TomlKeyLines, TomlKeyPath, format_toml_table

_SLUG_PATTERN = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
REQUIRED_VALUE: Final = object()
MISSING_VALUE: Final = object()
#: PostgreSQL and SQLite can store integers up to _MAX_DATABASE_INTEGER in the columns.
_MAX_DATABASE_INTEGER = 2**31 - 1


class SeasonFileProblems:
    """The problems of a season file, sorted by their line numbers. Problems without a
    line number are sorted by the path of the key.
    """

    def __init__(self, file: str, lines: TomlKeyLines | None = None) -> None:
        self.file, self.lines = file, lines
        self.problems: list[Problem] = []

    def add(
        self, path: TomlKeyPath, message: str, expected: str = "", *, fatal: bool = True
    ) -> None:
        line = self.lines.line(path) if self.lines else None
        text = (
            message
            if self.lines or not path
            else f"{', '.join(map(str, path))}: {message}"
        )
        self.problems.append(
            Problem(
                file=self.file, line=line, message=text, expected=expected, fatal=fatal
            )
        )


class CheckedTable:
    """A table of a season file, such as the table of a phase. The methods return the
    value of a key, and record faults instead of raising exceptions. The method `close`
    records a fault for each key that was not read.
    """

    unknown_key = gettext_noop("there is no key “%(name)s” here%(near)s")
    unknown_value = gettext_noop("“%(value)s” is not known here%(near)s")

    def __init__(
        self, values: Mapping[str, Any], path: TomlKeyPath, findings: SeasonFileProblems
    ) -> None:
        self.values, self.path, self.findings = values, path, findings
        self._taken: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(
        self, name: str, default: object = REQUIRED_VALUE, *, longest: int | None = None
    ) -> str:
        value = self.value(name, default)
        if value is MISSING_VALUE:
            return ""
        if not isinstance(value, str):
            self.add_problem_at_key(
                name, self.describe_wrong_value(name, value), _("a text in quotes")
            )
            return ""
        text = value.strip()
        if "\0" in text:
            self.add_problem_at_key(
                name, _format_nul_character_message(name), _("a text without NUL")
            )
            return ""
        if not text and default is REQUIRED_VALUE:
            self.add_problem_at_key(name, _format_empty_value_message(name))
        if longest is not None and len(text) > longest:
            message = _("“%(name)s” has %(found)s characters") % {
                "name": name,
                "found": len(text),
            }
            self.add_problem_at_key(
                name, message, _("at most %(number)s") % {"number": longest}
            )
        return text

    def slug(self, name: str, default: object = REQUIRED_VALUE) -> str:
        value = self.text(name, default, longest=60)
        if value and not _SLUG_PATTERN.fullmatch(value):
            message = _("“%(value)s” cannot stand in an address") % {"value": value}
            self.add_problem_at_key(
                name, message, _("lower-case letters, digits and single hyphens")
            )
        return value

    def choice(
        self, name: str, choices: Sequence[str], default: object = REQUIRED_VALUE
    ) -> str:
        value = self.text(name, default)
        if value and value not in choices:
            facts = {
                "name": name,
                "value": value,
                "near": format_similar_name_hint(value, choices),
            }
            self.add_problem_at_key(
                name, _(self.unknown_value) % facts, describe_choices(choices)
            )
        return value

    def read_boolean(self, name: str, *, default: bool) -> bool:
        value = self.value(name, default)
        if isinstance(value, bool):
            return value
        self.add_problem_at_key(
            name, self.describe_wrong_value(name, value), _("true or false")
        )
        return default

    def limit(
        self, name: str, *, least: int = 1, most: int = _MAX_DATABASE_INTEGER
    ) -> int | None:
        """Return the whole number under the key, which must be between ``least`` and
        ``most``. Return None, which means no limit, if the table does not have the key.
        """
        value = self.value(name, None)
        if value is None:
            return None
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and least <= value <= most
        ):
            return value
        expected = _(
            "a whole number from %(least)s to %(most)s; leave it out for no limit"
        )
        if most == _MAX_DATABASE_INTEGER:
            expected = _("a whole number from %(least)s; leave it out for no limit")
        expected %= {"least": least, "most": f"{most:,}"}
        self.add_problem_at_key(
            name,
            self.describe_wrong_value(
                name, value, value if isinstance(value, int) else None
            ),
            expected,
        )
        return None

    def texts(
        self, name: str, default: object = REQUIRED_VALUE, *, may_repeat: bool = False
    ) -> tuple[str, ...]:
        value = self.value(name, default)
        if value is MISSING_VALUE:
            return ()
        if not isinstance(value, (list, tuple)) or not all(
            isinstance(text, str) for text in value
        ):
            message = _("“%(name)s” is not a list of texts") % {"name": name}
            self.add_problem_at_key(name, message, _('a list such as ["one", "two"]'))
            return ()
        if not value and default is REQUIRED_VALUE:
            self.add_problem_at_key(name, _format_empty_value_message(name))
        if may_repeat:
            return tuple(value)
        for text in dict.fromkeys(value):
            if value.count(text) > 1:
                self.add_problem_at_key(name, format_duplicate_name_message(name, text))
        return tuple(dict.fromkeys(value))

    def words(self, name: str) -> dict[str, str]:
        value = self.value(name, {})
        if not isinstance(value, dict):
            self.add_problem_at_key(
                name,
                self.describe_wrong_value(name, value),
                _('a table such as { key = "value" }'),
            )
            return {}
        for key, text in value.items():
            if not isinstance(text, str):
                self.findings.add(
                    (*self.path, name, key),
                    self.describe_wrong_value(key, text),
                    _("a text in quotes"),
                )
            elif "\0" in key + text:
                self.findings.add(
                    (*self.path, name), _format_nul_character_message(name)
                )
        return {key: text for key, text in value.items() if isinstance(text, str)}

    def read_instant(
        self,
        name: str,
        zone: ZoneInfo,
        default: object,
        read: Callable[[Any, ZoneInfo], dt.datetime],
    ) -> dt.datetime | None:
        value = self.value(name, default)
        if value is MISSING_VALUE or value is None:
            return None
        try:
            if isinstance(value, str | dt.datetime):
                return read(value, zone)
        except InvalidTimeText as refused:
            self.add_problem_at_key(name, str(refused))
            return None
        self.add_problem_at_key(
            name,
            self.describe_wrong_value(name, value),
            _("a date and time, such as 2026-05-01T23:59:59Z"),
        )
        return None

    def tables(self, name: str) -> "list[CheckedTable]":
        value = self.value(name, [])
        if not isinstance(value, list) or not all(
            isinstance(entry, dict) for entry in value
        ):
            path = ".".join(
                [*(part for part in self.path if isinstance(part, str)), name]
            )
            self.add_problem_at_key(
                name,
                self.describe_wrong_value(name, value),
                _("tables under [[%(path)s]]") % {"path": path},
            )
            return []
        return [
            CheckedTable(entry, (*self.path, name, at), self.findings)
            for at, entry in enumerate(value)
        ]

    def table(self, name: str) -> "CheckedTable":
        value = self.value(name)
        if isinstance(value, dict):
            return CheckedTable(value, (*self.path, name), self.findings)
        if value is not MISSING_VALUE:
            self.add_problem_at_key(
                name,
                self.describe_wrong_value(name, value),
                _("a table under [%(name)s]") % {"name": name},
            )
        # A missing table is one fault, so faults of the keys in it are not recorded.
        return CheckedTable(
            {},
            (*self.path, name),
            SeasonFileProblems(self.findings.file, self.findings.lines),
        )

    def add_problem_at_key(self, name: str, message: str, expected: str = "") -> None:
        self.findings.add((*self.path, name), message, expected)

    def close(self) -> None:
        for name in self.values:
            if name not in self._taken:
                message = _(self.unknown_key) % {
                    "name": name,
                    "near": format_similar_name_hint(name, self._taken),
                }
                self.add_problem_at_key(name, message, describe_choices(self._taken))

    def value(self, name: str, default: object = REQUIRED_VALUE) -> Any:
        self._taken.append(name)
        if name in self.values:
            return self.values[name]
        if default is not REQUIRED_VALUE:
            return default
        self.findings.add(self.path, _("“%(name)s” is missing") % {"name": name})
        return MISSING_VALUE

    def describe_wrong_value(
        self, name: str, value: object, number: int | None = None
    ) -> str:
        return _("“%(name)s” is %(kind)s") % {
            "name": name,
            "kind": describe_kind_of_value(value) if number is None else number,
        }


def describe_kind_of_value(value: object) -> str:
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


def format_similar_name_hint(name: str, known: Iterable[str]) -> str:
    close = find_most_similar_name(name, known)
    return " " + _("(did you mean “%(name)s”?)") % {"name": close} if close else ""


def describe_choices(choices: Iterable[str]) -> str:
    return _("one of %(names)s") % {"names": ", ".join(choices)}


def format_duplicate_name_message(name: str, text: str) -> str:
    return _("“%(name)s” names “%(text)s” twice") % {"name": name, "text": text}


def _format_empty_value_message(name: str) -> str:
    return _("“%(name)s” is empty") % {"name": name}


def _format_nul_character_message(name: str) -> str:
    return _("“%(name)s” holds a character that no text has") % {"name": name}


TABLE_NAMES_WITHIN_TASK = ("published", "gold", "phases", "baselines")


def format_season_file(values: Mapping[str, Any]) -> str:
    """Return the text of a season file with the table `season` and an array of tables
    `tasks`.
    """
    parts = [format_toml_table("[season]", values["season"])]
    for task in values.get("tasks", ()):
        own = {name: task[name] for name in TABLE_NAMES_WITHIN_TASK if name in task}
        parts.append(
            format_toml_table(
                "[[tasks]]",
                {
                    name: value
                    for name, value in task.items()
                    if name not in TABLE_NAMES_WITHIN_TASK
                },
            )
        )
        parts += [
            format_toml_table(f"[[tasks.{name}]]", row)
            for name, rows in own.items()
            for row in rows
        ]
    return "\n".join(parts)
