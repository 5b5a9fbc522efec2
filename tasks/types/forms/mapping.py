"""The names that files use for the answers of a task, and the answers that they mean."""

from collections.abc import Mapping
from typing import Any

#: By the name that files use, a label or a number of the task.
Values = Mapping[str, Any]


def written(value: Any) -> str | None:
    """Return a JSON value as a cell of a table has it; None of a list or an object.

    >>> written(True), written(1), written("yes"), written([])
    ('true', '1', 'yes', None)
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    return None


def meant(value: Any, values: Values) -> Any:
    """Return the answer that a value of a file means; a list becomes a list of answers.

    A value that is no declared name stays as it is: it may be a label of the task itself.
    """
    if isinstance(value, list):
        return [meant(one, values) for one in value]
    name = written(value)
    return value if name is None else values.get(name, value)


def with_meant_keys(value: Any, values: Values) -> Any:
    """Return an object whose keys are answers; of two keys for one answer both stay as they are."""
    if not isinstance(value, Mapping):
        return value
    renamed = {values.get(key, key): own for key, own in value.items()}
    return renamed if len(renamed) == len(value) else value


def with_meant_labels(value: Any, values: Values, key: str) -> Any:
    """Return lists and objects in which each value under the key is the label that it means."""
    if isinstance(value, list):
        return [with_meant_labels(one, values, key) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {
        name: meant(own, values) if name == key else with_meant_labels(own, values, key)
        for name, own in value.items()
    }


def with_path(record: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy of a record with another value at a dotted path that it has."""
    head, _, rest = path.partition(".")
    if path in record or not rest:
        return {**record, path: value}
    return {**record, head: with_path(record[head], rest, value)}
