"""Values as TOML, which the standard library reads and does not write."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

#: The arrays of tables that stand below a task, in the order in which they are written.
PARTS = ("published", "gold", "phases", "baselines")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def table(header: str, values: Mapping[str, Any]) -> str:
    """A table under its header, such as `[season]`, a key a line."""
    lines = [header, *(f"{_key(key)} = {value_text(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def document(values: Mapping[str, Any]) -> str:
    """A season file: the table `season`, and the arrays of tables `tasks` with theirs."""
    parts = [table("[season]", values["season"])]
    for task in values.get("tasks", ()):
        own = {name: task[name] for name in PARTS if name in task}
        parts.append(table("[[tasks]]", {name: value for name, value in task.items() if name not in PARTS}))
        parts += [table(f"[[tasks.{name}]]", row) for name, rows in own.items() for row in rows]
    return "\n".join(parts)


def value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {value_text(own)}" for key, own in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(value_text, value))}]"
    return _text(str(value))


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    """A text of several lines stands in lines of its own."""
    if "\n" not in text:
        return _escaped(text)
    lines = [_escaped(line)[1:-1] for line in text.split("\n")]
    return '"""\n' + "\n".join(lines) + '"""'


def _escaped(text: str) -> str:
    """JSON's escapes are TOML's, but for one character that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
