"""Detect gold answers that no form of task can score, such as records with slots, or
texts combined with the documents that they cite.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tasks.types.declared.fields import (
    ANSWER_FIELD_NAMES_BY_FORM,
    ANSWER_FIELD_PATTERN,
    ID_FIELD_PATTERN,
    METADATA_FIELD_PATTERN,
    RecordRows,
    list_nonempty_values,
    look_like_ids,
)

_CITATION_FIELD_PATTERN = re.compile(
    r"citation|reference|pmid|doi|source", re.IGNORECASE
)
_TEXT_FIELD_PATTERN = re.compile(r"text|sentence|answer|claim|statement", re.IGNORECASE)
_BIOES_TAG_PATTERN = re.compile(r"O|[BIES]-\S+")


def find_gold_misfit(
    form: str,
    rows: RecordRows,
    names: Sequence[str],
    answer: str,
    *,
    is_named: bool,
) -> tuple[str, str] | None:
    """Return an error message if the gold does not fit the form of task, and a
    description of fitting gold. Return None if the gold fits the form of task.

    ``answer`` is the name of the field that could contain the answer. ``is_named`` is
    True if the name of the field ``answer`` is typical of answers.
    """
    if form == "text" and (fault := _find_text_with_citations(rows, names, answer)):
        return fault
    if is_named:
        return None
    for name in names:
        if METADATA_FIELD_PATTERN.search(name) or (
            answer and form in ("evidence", "spans")
        ):
            continue
        if fault := _find_unscorable_field(form, rows, name):
            return fault
    return None


def _find_unscorable_field(
    form: str, rows: RecordRows, name: str
) -> tuple[str, str] | None:
    """Return an error message if a field has records or tags that cannot be scored, and
    a description of values that can be scored. Return None if the values of the field
    can be scored.
    """
    values = [
        own
        for value in list_nonempty_values(rows, name)
        for own in (value if isinstance(value, list) else [value])
    ]
    if form == "labels" and _are_token_tags(list_nonempty_values(rows, name)):
        message = f"“{name}” has a tag for each token (B-…, I-…, O), not labels of an instance"
        return message, "labels of whole instances, or the form tags"
    records = list(_iterate_innermost_objects(values))
    slots = dict.fromkeys(slot for record in records for slot in record)
    if not records or len(records) < len(values) or len(slots) < 2:
        return None
    if any(ID_FIELD_PATTERN.search(slot) for slot in slots):
        return None
    shown = ", ".join([*slots][:6])
    if any(_CITATION_FIELD_PATTERN.search(slot) for slot in slots) and any(
        _TEXT_FIELD_PATTERN.search(slot) for slot in slots
    ):
        message = f"“{name}” has texts with the documents that they cite ({shown})"
        return message, "texts alone, or documents alone; no form scores both together"
    if not isinstance(list_nonempty_values(rows, name)[0], list) and not all(
        len(record) > 1 for record in records
    ):
        return None
    if (
        form == "labels"
        and not ANSWER_FIELD_PATTERN.search(name)
        and not _has_only_lists(rows, name)
    ):
        return None
    message = f"“{name}” has records of {len(slots)} slots ({shown})"
    return message, f"an answer of the form {form}; no form compares records of slots"


def _has_only_lists(rows: RecordRows, name: str) -> bool:
    return all(isinstance(value, list) for value in list_nonempty_values(rows, name))


def _iterate_innermost_objects(values: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield each record that is an object, or the innermost object if objects with a
    single key surround it.
    """
    for value in values:
        inner = value
        while isinstance(inner, dict) and len(inner) == 1:
            (inner,) = inner.values()
        if isinstance(inner, dict) and inner:
            yield inner


def _are_token_tags(values: Sequence[Any]) -> bool:
    tags = [
        tag
        for value in values
        for tag in (value if isinstance(value, list) else str(value).split())
    ]
    return (
        all(isinstance(tag, str) and _BIOES_TAG_PATTERN.fullmatch(tag) for tag in tags)
        and any(tag != "O" for tag in tags)
        and any(
            len(value if isinstance(value, list) else str(value).split()) > 1
            for value in values
        )
    )


def _find_text_with_citations(
    rows: RecordRows, names: Sequence[str], answer: str
) -> tuple[str, str] | None:
    expected = "texts alone; no form scores an answer together with the documents that it cites"
    for name in names:
        own = list_nonempty_values(rows, name)
        if not all(isinstance(value, list) for value in own):
            continue
        flat = [part for value in own for part in value]
        if not flat or not look_like_ids(flat):
            continue
        if name.lower() in ANSWER_FIELD_NAMES_BY_FORM["text"]:
            return f"“{name}” has ids, not texts", expected
        if answer in ("", name):
            continue
        citing = sum(
            any(str(part) in str(row.get(answer)) for part in row.get(name) or ())
            for row in rows
        )
        if citing > len(rows) / 2 or _CITATION_FIELD_PATTERN.search(name):
            return f"the texts of “{answer}” cite the ids of “{name}”", expected
    return None
