"""Replace the spellings of answers in files by the labels or numbers of the task."""

from collections.abc import Mapping
from typing import Any

#: `Values` maps the spelling of an answer in files to a label or number of the task.
LabelsBySpelling = Mapping[str, Any]


def format_json_scalar(value: Any) -> str | None:
    """Return the text of a JSON value as in a table cell, or None for a list or an
    object.

    >>> written(True), written(1), written("yes"), written([])
    ('true', '1', 'yes', None)
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    return None


def replace_spelling_by_label(value: Any, values: LabelsBySpelling) -> Any:
    """Return the label or number of the task that ``values`` assigns to a value in a
    file. If the value is a list, each item of the list is replaced.

    A value that ``values`` does not contain is returned unchanged, because the value
    may already be a label of the task.
    """
    if isinstance(value, list):
        return [replace_spelling_by_label(one, values) for one in value]
    name = format_json_scalar(value)
    return value if name is None else values.get(name, value)


def replace_spellings_in_keys(value: Any, values: LabelsBySpelling) -> Any:
    """Return a copy of an object in which each key is replaced by the label that
    ``values`` assigns to the key. If two keys would become equal, return the object
    unchanged.
    """
    if not isinstance(value, Mapping):
        return value
    renamed = {values.get(key, key): own for key, own in value.items()}
    return renamed if len(renamed) == len(value) else value


def replace_spellings_under_key(value: Any, values: LabelsBySpelling, key: str) -> Any:
    """Return a copy of nested lists and objects in which each value of ``key`` is
    replaced by a label of the task.
    """
    if isinstance(value, list):
        return [replace_spellings_under_key(one, values, key) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {
        name: replace_spelling_by_label(own, values)
        if name == key
        else replace_spellings_under_key(own, values, key)
        for name, own in value.items()
    }


def replace_value_at_path(
    record: Mapping[str, Any], path: str, value: Any
) -> dict[str, Any]:
    """Return a copy of nested objects with a new value at a dotted path such as `a.b`,
    which must exist.
    """
    head, _, rest = path.partition(".")
    if path in record or not rest:
        return {**record, path: value}
    return {**record, head: replace_value_at_path(record[head], rest, value)}
