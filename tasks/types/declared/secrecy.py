"""Find the gold fields that could contain or reveal an answer. A proposed `task.toml`
does not make a gold field public if the field could reveal an answer.
"""

import re
from typing import Any

from tasks.types.declared.fields import (
    IS_ANSWER,
    LONG_LABEL,
    MAX_LABELS,
    MOSTLY,
    NOTHING,
    TEXT,
    Rows,
    as_float,
    as_list,
    present,
    words,
)

#: `_INPUT_FIELD_PATTERN` matches typical names of fields with input texts, such as `question`.
#: In text generation, only fields with a name of an input text are surely no answer.
_INPUT_FIELD_PATTERN = re.compile(
    r"(^|_)(text|source|input|document|doc|article|question|query|sentence|context|claim"
    r"|abstract|title|passage|body|premise|tweet|before|after|first|second)s?(_|\d|$)",
    re.IGNORECASE,
)


def is_named_like_answer(name: str) -> bool:
    return IS_ANSWER.search(name) is not None


def could_contain_answer(form: str, rows: Rows, name: str) -> bool:
    """Return True if the field could contain the answer of this task or of a task in
    another form.

    A field could contain the answer if its values are not texts of several words, if
    its name is typical of answers or explanations, or if it has few distinct values. In
    text generation tasks, every text could be the answer unless the field name is
    typical of inputs.
    """
    own = present(rows, name)
    if IS_ANSWER.search(name) or (
        form == "text" and not _INPUT_FIELD_PATTERN.search(name)
    ):
        return True
    # A text field may have a few other values, such as a sentence that is a number.
    if sum(map(_holds_texts, own)) < MOSTLY * max(1, len(own)):
        return True
    if words(rows, name) < TEXT:
        return True
    parts = _field_names_inside(rows, name)
    if parts and len(secret_parts(rows, name)) == len(parts):
        return True
    different = len({str(value) for value in own})
    is_class = different <= MAX_LABELS and different <= len(own) / 2
    return is_class and words(rows, name) < LONG_LABEL


def _holds_texts(value: Any) -> bool:
    """Return True if the value is a text, a list of texts, or an object that contains a
    text, such as a bibliographic entry.
    """
    if isinstance(value, str):
        return as_list(value) is None and as_float(value) is None
    if isinstance(value, list):
        return all(isinstance(own, str) for own in value) and (
            sum(len(own.split()) for own in value) >= TEXT * len(value)
        )
    if isinstance(value, dict):
        return any(isinstance(own, str) for own in value.values())
    return False


def _field_names_inside(rows: Rows, name: str) -> list[str]:
    objects = (row.get(name) for row in rows)
    return [
        *dict.fromkeys(key for own in objects if isinstance(own, dict) for key in own)
    ]


def secret_parts(rows: Rows, name: str) -> list[str]:
    """Return the paths of inner fields that could contain the answer, in a field whose
    values are objects.
    """
    found = []
    for part in _field_names_inside(rows, name):
        own = [
            value
            for row in rows
            if isinstance(row.get(name), dict)
            and (value := row[name].get(part)) not in NOTHING
        ]
        are_texts = all(isinstance(value, str) for value in own)
        different = len(set(own)) if are_texts else 0
        is_class = (
            1 < different <= min(MAX_LABELS, len(own) / 2)
            and any(as_float(value) is None for value in own)
            and sum(len(value.split()) for value in own) < LONG_LABEL * len(own)
        )
        if IS_ANSWER.search(part) or not are_texts or is_class:
            found.append(f"{name}.{part}")
    return found
