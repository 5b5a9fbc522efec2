"""Find the gold fields that could contain or reveal an answer. A proposed `task.toml`
does not make a gold field public if the field could reveal an answer.
"""

import re
from typing import Any

from tasks.types.declared.fields import (
    ANSWER_FIELD_PATTERN,
    EMPTY_VALUES,
    MAX_LABELS_OF_FIELD,
    MAX_MEAN_WORDS_OF_LABEL,
    MIN_DISTINCT_SHARE_OF_IDS,
    MIN_MEAN_WORDS_OF_TEXT,
    RecordRows,
    compute_mean_word_count,
    list_nonempty_values,
    parse_float_or_none,
    parse_list_value,
)

#: `_INPUT_FIELD_PATTERN` matches typical names of fields with input texts, such as `question`.
#: In text generation, only fields with a name of an input text are surely no answer.
_INPUT_FIELD_PATTERN = re.compile(
    r"(^|_)(text|source|input|document|doc|article|question|query|sentence|context|claim"
    r"|abstract|title|passage|body|premise|tweet|before|after|first|second)s?(_|\d|$)",
    re.IGNORECASE,
)


def is_named_like_answer(name: str) -> bool:
    return ANSWER_FIELD_PATTERN.search(name) is not None


def can_field_contain_answer(form: str, rows: RecordRows, name: str) -> bool:
    """Return True if the field could contain the answer of this task or of a task in
    another form.

    A field could contain the answer if its values are not texts of several words, if
    its name is typical of answers or explanations, or if it has few distinct values. In
    text generation tasks, every text could be the answer unless the field name is
    typical of inputs.
    """
    own = list_nonempty_values(rows, name)
    if ANSWER_FIELD_PATTERN.search(name) or (
        form == "text" and not _INPUT_FIELD_PATTERN.search(name)
    ):
        return True
    # A text field may have a few other values, such as a sentence that is a number.
    if sum(map(_contains_texts, own)) < MIN_DISTINCT_SHARE_OF_IDS * max(1, len(own)):
        return True
    if compute_mean_word_count(rows, name) < MIN_MEAN_WORDS_OF_TEXT:
        return True
    parts = _list_inner_field_names(rows, name)
    if parts and len(list_secret_inner_fields(rows, name)) == len(parts):
        return True
    different = len({str(value) for value in own})
    is_class = different <= MAX_LABELS_OF_FIELD and different <= len(own) / 2
    return is_class and compute_mean_word_count(rows, name) < MAX_MEAN_WORDS_OF_LABEL


def _contains_texts(value: Any) -> bool:
    """Return True if the value is a text, a list of texts, or an object that contains a
    text, such as a bibliographic entry.
    """
    if isinstance(value, str):
        return parse_list_value(value) is None and parse_float_or_none(value) is None
    if isinstance(value, list):
        return all(isinstance(own, str) for own in value) and (
            sum(len(own.split()) for own in value)
            >= MIN_MEAN_WORDS_OF_TEXT * len(value)
        )
    if isinstance(value, dict):
        return any(isinstance(own, str) for own in value.values())
    return False


def _list_inner_field_names(rows: RecordRows, name: str) -> list[str]:
    objects = (row.get(name) for row in rows)
    return [
        *dict.fromkeys(key for own in objects if isinstance(own, dict) for key in own)
    ]


def list_secret_inner_fields(rows: RecordRows, name: str) -> list[str]:
    """Return the paths of inner fields that could contain the answer, in a field whose
    values are objects.
    """
    found = []
    for part in _list_inner_field_names(rows, name):
        own = [
            value
            for row in rows
            if isinstance(row.get(name), dict)
            and (value := row[name].get(part)) not in EMPTY_VALUES
        ]
        are_texts = all(isinstance(value, str) for value in own)
        different = len(set(own)) if are_texts else 0
        is_class = (
            1 < different <= min(MAX_LABELS_OF_FIELD, len(own) / 2)
            and any(parse_float_or_none(value) is None for value in own)
            and sum(len(value.split()) for value in own)
            < MAX_MEAN_WORDS_OF_LABEL * len(own)
        )
        if ANSWER_FIELD_PATTERN.search(part) or not are_texts or is_class:
            found.append(f"{name}.{part}")
    return found
