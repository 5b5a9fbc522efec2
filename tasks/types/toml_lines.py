"""Find the line number of each key in a TOML file for error messages, and write TOML
files.
"""

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tasks.types.guarded.toml_reader import read_toml

#: `TomlKeyPath` contains names of tables and keys, and indexes in arrays of tables.
TomlKeyPath = tuple[str | int, ...]

_BLANKS_AND_COMMENTS_PATTERN = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY_PART_PATTERN = re.compile(
    r"[ \t]*(\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[A-Za-z0-9_-]+)[ \t]*"
)
_STRING_PATTERN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|'
    r"'''.*?'{3,5}|"
    r'"(?:[^"\\\n]|\\.)*"|'
    r"'[^'\n]*'",
    re.DOTALL,
)
_COMMENT_PATTERN = re.compile(r"#[^\n]*")


class TomlKeyLines:
    """Maps each key of a TOML file to its line number. Callers must first check with
    `read_toml` that the text is valid TOML.
    """

    def __init__(self, text: str) -> None:
        self._lines: dict[TomlKeyPath, int] = dict(_iterate_statement_positions(text))

    def line(self, path: TomlKeyPath) -> int:
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def get_key_at_line(self, line: int) -> TomlKeyPath:
        return max(
            (path for path, own in self._lines.items() if own == line),
            key=len,
            default=(),
        )


def remove_toml_table(text: str, path: TomlKeyPath) -> str:
    """Return a TOML text from which a table and all its subtables are removed.

    Comments on the removed lines, and between them, are removed as well.
    """
    lines = text.splitlines(keepends=True)
    statements = [
        (path_, line) for path_, line in _iterate_statement_positions(text) if path_
    ]
    ends = [line for _path, line in statements[1:]] + [len(lines) + 1]
    dropped: set[int] = set()
    for (own, line), end in zip(statements, ends, strict=True):
        if own[: len(path)] == path:
            dropped |= set(range(line, end))
    return "".join(
        line for number, line in enumerate(lines, start=1) if number not in dropped
    )


def _iterate_statement_positions(text: str) -> Iterator[tuple[TomlKeyPath, int]]:
    counts: dict[TomlKeyPath, int] = {}
    table: TomlKeyPath = ()
    place, before, line = _skip_blanks_and_comments(text, 0), 0, 1
    while place < len(text):
        line += text.count("\n", before, place)
        before = place
        if text[place] == "[":
            brackets = 2 if text.startswith("[[", place) else 1
            parts, place = _parse_dotted_key(text, place + brackets)
            place += brackets
            table = ()
            for at, part in enumerate(parts, start=1):
                table = (*table, part)
                if at == len(parts) and brackets == 2:
                    counts[table] = counts.get(table, 0) + 1
                # In a TOML header, an array's name refers to the array's last table.
                table = (*table, counts[table] - 1) if table in counts else table
            yield table, line
            if brackets == 2 and table[-1] == 0:
                yield table[:-1], line
        else:
            parts, place = _parse_dotted_key(text, place)
            yield (*table, *parts), line
            place = _find_value_end(text, place + 1)
        place = _skip_blanks_and_comments(text, place)


def _skip_blanks_and_comments(text: str, place: int) -> int:
    match = _BLANKS_AND_COMMENTS_PATTERN.match(text, place)
    return match.end() if match else place


def _parse_dotted_key(text: str, place: int) -> tuple[list[str], int]:
    parts: list[str] = []
    while match := _KEY_PART_PATTERN.match(text, place):
        part = match[1]
        # The TOML parser decodes escape sequences in a quoted part of a key.
        parts.append(read_toml(f"v = {part}")["v"] if part[0] in "\"'" else part)
        place = match.end()
        if not text.startswith(".", place):
            break
        place += 1
    return parts, place


def _find_value_end(text: str, place: int) -> int:
    depth = 0
    while place < len(text) and (depth or text[place] != "\n"):
        found = _STRING_PATTERN.match(text, place) or _COMMENT_PATTERN.match(
            text, place
        )
        depth += (text[place] in "[{") - (text[place] in "]}")
        place = found.end() if found else place + 1
    return place


_BARE_KEY_PATTERN = re.compile(r"[A-Za-z0-9_-]+")


def format_toml_table(header: str, values: Mapping[str, Any]) -> str:
    """Return the text of a TOML table, which begins with a header such as `[season]`
    and has one key per line.
    """
    lines = [
        header,
        *(
            f"{format_toml_key(key)} = {format_toml_value(value)}"
            for key, value in values.items()
        ),
    ]
    return "\n".join(lines) + "\n"


def format_toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{format_toml_key(key)} = {format_toml_value(own)}"
            for key, own in value.items()
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(format_toml_value, value))}]"
    return _format_toml_string(str(value))


def format_toml_key(key: str) -> str:
    return key if _BARE_KEY_PATTERN.fullmatch(key) else _format_toml_string(key)


def _format_toml_string(text: str) -> str:
    escaped = (
        json.dumps(line, ensure_ascii=False).replace("\x7f", "\\u007f")
        for line in text.split("\n")
    )
    first, *rest = (line[1:-1] for line in escaped)
    return '"""\n' + "\n".join([first, *rest]) + '"""' if rest else f'"{first}"'
