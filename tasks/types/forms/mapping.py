"""Map the values in files to the answers that a task declares."""

from collections.abc import Mapping
from typing import Any

#: `Values` maps a value in files to a declared label or number.
Values = Mapping[str, Any]


def written(value: Any) -> str | None:
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


def meant(value: Any, values: Values) -> Any:
    """Return the answer that a task declares for a value in a file. A list of values
    becomes a list of answers.

    Values of the file that are not in the mapping do not change, since they may be
    declared labels.
    """
    if isinstance(value, list):
        return [meant(one, values) for one in value]
    name = written(value)
    return value if name is None else values.get(name, value)


def with_meant_keys(value: Any, values: Values) -> Any:
    """Map the keys of an object to the answers that a task declares. If two keys of the
    object map to the same answer, return the object unchanged.
    """
    if not isinstance(value, Mapping):
        return value
    renamed = {values.get(key, key): own for key, own in value.items()}
    return renamed if len(renamed) == len(value) else value


def with_meant_labels(value: Any, values: Values, key: str) -> Any:
    """Return a copy of nested lists and objects, in which the values under ``key`` are
    mapped to declared labels.
    """
    if isinstance(value, list):
        return [with_meant_labels(one, values, key) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {
        name: meant(own, values) if name == key else with_meant_labels(own, values, key)
        for name, own in value.items()
    }


def with_path(record: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy of a record with a new value at a dotted path, which must exist."""
    head, _, rest = path.partition(".")
    if path in record or not rest:
        return {**record, path: value}
    return {**record, head: with_path(record[head], rest, value)}
