"""Recognise which fields of a gold file contain ids, and which fields contain answers
of a given form such as labels or rankings.

The reasons for a guess mention field names and counts, but no values from the gold
file.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from tasks.types.declared.fields import (
    ANSWER_FIELD_NAMES_BY_FORM,
    ANSWER_FIELD_PATTERN,
    EMPTY_VALUES,
    ID_FIELD_PATTERN,
    MAX_LABELS_OF_FIELD,
    MAX_MEAN_WORDS_OF_LABEL,
    METADATA_FIELD_PATTERN,
    MIN_DISTINCT_SHARE_OF_IDS,
    RecordRows,
    compute_mean_word_count,
    has_unique_values,
    is_possible_id,
    list_nonempty_fields,
    list_nonempty_values,
    list_scalar_values_as_texts,
    look_like_ids,
    parse_float_or_none,
    parse_list_value,
)
from tasks.types.declared.secrecy import can_field_contain_answer
from tasks.types.declared.unscored import find_gold_misfit
from tasks.types.forms.shapes import (
    WHITE_SPACE_SEPARATOR,
    convert_label_to_text,
    parse_binary_cell,
    split_at_separator,
)
from tasks.types.problems import InputRefused, Problem

SURE_CONFIDENCE, LIKELY_CONFIDENCE, UNSURE_CONFIDENCE = "sure", "likely", "unsure"
#: `MAX_COMPARED_NAME_CHARACTERS` is the number of characters that are compared in field names.
MAX_COMPARED_NAME_CHARACTERS = 100
#: `MAX_FIELDS_TRIED_IN_ID` is the maximum number of fields that are tried as parts of a composed id.
MAX_FIELDS_TRIED_IN_ID = 8
#: `LABEL_SEPARATORS` lists the separators of labels in the order in which they are tried.
#: White space is the last separator, because many labels contain white space.
LABEL_SEPARATORS = {
    ";": "semicolons",
    "|": "bars",
    ",": "commas",
    WHITE_SPACE_SEPARATOR: "white space",
}
_UNUSUAL_ANSWER_NAMES = {
    "labels": r"^y$|verdict|stance|annotation|function",
    "ranking": r"finding|trace|corpus_?ids|positive|source_doc|cited_id|documents?_ids",
}
_ID_PART_FIELD_PATTERN = re.compile(
    r"(^|[_\W])(id|key|paper|document|doc|number|no|nr|index|idx|line|position"
    r"|sentence|turn|claim|tweet|query)s?$|[a-z](Id|ID|Key|No)$|[a-z]id$",
    re.IGNORECASE,
)
#: `_DOCUMENT_FIELD_PATTERN` matches field names of document ids, which are answers in some tasks.
_DOCUMENT_FIELD_PATTERN = re.compile(
    r"doc|corpus|passage|candidate|abstract|^pid$", re.IGNORECASE
)
CANDIDATES_FIELD_PATTERN = re.compile(
    r"candidate|option|choice|(^|_)pool", re.IGNORECASE
)
_IOB_TAG_PATTERN = re.compile(r"O|[BI](-.*)?")
_NAME_STEM_PATTERN = re.compile(r"^(.*?)[_\W]?(\d+|[A-Za-z]+)$")


@dataclass(frozen=True)
class SettingGuess:
    """A guess about the setting ``part`` of a proposed `task.toml`. A guess consists of
    a value, a confidence and a reason.
    """

    part: str
    value: str
    confidence: str
    reason: str


@dataclass(frozen=True)
class AnswerFieldReading:
    """A gold field that may contain the answer, and the [task.gold] settings for
    reading the field.

    ``values`` are the answers, converted to the format that the form of task requires.
    ``labels`` lists the label of each vector position if answers are vectors of 0 and
    1.
    """

    field: str
    values: Sequence[Any]
    reason: str
    keys: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    labels: Sequence[str] = ()


# The following functions recognise the id fields of a gold file.


def guess_id_settings(
    form: str, rows: RecordRows, answer: str
) -> tuple[dict[str, Any], SettingGuess]:
    """Return the [task.gold] settings that define the ids of instances, and a guess
    that explains the settings.
    """
    names = [name for name in list_nonempty_fields(rows) if name != answer]
    unique = [name for name in names if has_unique_values(rows, name)]
    by_name = [
        name
        for name in unique
        if ID_FIELD_PATTERN.search(name) and not ANSWER_FIELD_PATTERN.search(name)
    ]
    by_name.sort(
        key=lambda name: (
            name.lower() != "id",
            bool(_DOCUMENT_FIELD_PATTERN.search(name)),
        )
    )
    if by_name:
        several = f"; so does {_join_quoted_names(by_name[1:])}" if by_name[1:] else ""
        reason = f"“{by_name[0]}” differs in all rows{several}"
        confidence = (
            LIKELY_CONFIDENCE
            if several and by_name[0].lower() != "id"
            else SURE_CONFIDENCE
        )
        return {"id": by_name[0]}, SettingGuess("id", by_name[0], confidence, reason)
    if form not in ("ranking", "text"):
        plain = [name for name in unique if _may_be_ids(rows, name)]
        if plain:
            reason = f"“{plain[0]}” differs in all rows; its name does not say that it is an id"
            return {"id": plain[0]}, SettingGuess(
                "id", plain[0], LIKELY_CONFIDENCE, reason
            )
    for name in names:
        own = list_scalar_values_as_texts(rows, name) or []
        if (
            ID_FIELD_PATTERN.search(name)
            and len(set(own)) >= MIN_DISTINCT_SHARE_OF_IDS * len(rows) > 1
        ):
            again = len(own) - len(set(own))
            reason = f"“{name}” is named like an id; {again} of its values stand in several rows"
            return {"id": name}, SettingGuess("id", name, UNSURE_CONFIDENCE, reason)
    key = next(
        own
        for own in ("id", "row", "instance_id")
        if own not in list_nonempty_fields(rows)
    )
    # In ranking and evidence tasks, document ids are answers and not parts of ids.
    has_pairs = form not in ("ranking", "evidence")
    if has_pairs and (pair := _find_composed_id_fields(rows, names)):
        reason = f"no field differs in all rows; {_join_quoted_names(pair)} do together"
        ids = {"id": key, "ids": list(pair)}
        return ids, SettingGuess("id", " + ".join(pair), LIKELY_CONFIDENCE, reason)
    reason = (
        "no field names the rows, so the number of a row is its id: the order of the rows is part of the gold"
        ", and the same rows in another order are other gold"
    )
    return {"id": key, "numbered": True}, SettingGuess(
        "id", "row number", LIKELY_CONFIDENCE, reason
    )


def _may_be_ids(rows: RecordRows, name: str) -> bool:
    """Return True if the values of a field are single words and not all numbers, and
    the name of the field is not typical of answers.
    """
    own = list_scalar_values_as_texts(rows, name) or []
    return (
        compute_mean_word_count(rows, name) == 1
        and not ANSWER_FIELD_PATTERN.search(name)
        and not all(parse_float_or_none(value) is not None for value in own)
    )


def _find_composed_id_fields(
    rows: RecordRows, names: Sequence[str]
) -> tuple[str, str] | None:
    parts = [
        name
        for name in names
        if _ID_PART_FIELD_PATTERN.search(name)
        and not ANSWER_FIELD_PATTERN.search(name)
        and len(list_scalar_values_as_texts(rows, name) or ()) == len(rows)
        and compute_mean_word_count(rows, name) <= 2
    ][:MAX_FIELDS_TRIED_IN_ID]
    parts.sort(key=lambda name: not ID_FIELD_PATTERN.search(name))
    for pair in combinations(parts, 2):
        if len({tuple(str(row[name]) for name in pair) for row in rows}) == len(rows):
            return pair
    return None


# The following functions recognise the answer fields of a gold file.


def guess_answer_field(
    form: str,
    rows: RecordRows,
    *,
    also: Callable[[AnswerFieldReading], bool] | None = None,
) -> tuple[AnswerFieldReading, SettingGuess]:
    """Return the gold field with the answer, and a guess with confidence and reason.
    Raises InputRefused with the reason if no field can contain the answer.

    In ranking tasks, ``also`` returns True if all answers of a field are ids of known
    candidates.
    """
    names = list_nonempty_fields(rows)
    readings = [*_iterate_column_group_readings(form, rows, names)]
    readings += [
        reading for name in names for reading in _iterate_readings(form, rows, name)
    ]
    if also and any(map(also, readings)):
        readings = [reading for reading in readings if also(reading)]
    found = min(
        readings, key=lambda own: _make_answer_sort_key(form, own), default=None
    )
    rank = _rank_field_name(form, found.field) if found else METADATA_NAME_RANK
    is_named = rank < UNTYPICAL_NAME_RANK
    if reason := find_gold_misfit(
        form, rows, names, found.field if found else "", is_named=is_named
    ):
        raise InputRefused([Problem(message=reason[0], expected=reason[1])])
    if found is None:
        message = f"no field of the instances looks like an answer of the form {form}"
        expected = f"a field such as “{ANSWER_FIELD_NAMES_BY_FORM[form][0]}”"
        raise InputRefused([Problem(message=message, expected=expected)])
    return found, _guess_answer_field(form, rows, found, readings)


def _guess_answer_field(
    form: str,
    rows: RecordRows,
    found: AnswerFieldReading,
    readings: Sequence[AnswerFieldReading],
) -> SettingGuess:
    rank, exact = (
        _rank_field_name(form, found.field),
        len(ANSWER_FIELD_NAMES_BY_FORM[form]),
    )
    own_fields = (found.field, *found.keys.get("columns", ()))
    others = dict.fromkeys(
        reading.field
        for reading in readings
        if reading.field not in own_fields
        and (
            reading.keys.get("columns")
            or can_field_contain_answer(form, rows, reading.field)
        )
    )
    rivals = [name for name in others if _rank_field_name(form, name) <= rank]
    could = f"; {_join_quoted_names([*others][:3])} could be too" if others else ""
    if rank < exact and not rivals:
        reason = f"{found.reason}; its name says that it is the answer"
        return SettingGuess("answer", found.field, SURE_CONFIDENCE, reason)
    if rank < UNTYPICAL_NAME_RANK or (found.keys.get("columns") and not others):
        return SettingGuess(
            "answer", found.field, LIKELY_CONFIDENCE, f"{found.reason}{could}"
        )
    reason = f"{found.reason}; its name does not say that it is the answer{could}"
    return SettingGuess("answer", found.field, UNSURE_CONFIDENCE, reason)


#: The rank of a field name is low if the field probably contains the answer.
#: The lowest ranks belong to names that are equal or similar to a name in `ANSWER_FIELD_NAMES_BY_FORM`.
#: Untypical field names have the rank UNTYPICAL_NAME_RANK, and names of metadata the rank METADATA_NAME_RANK.
UNTYPICAL_NAME_RANK, METADATA_NAME_RANK = 200, 300


def _rank_field_name(form: str, name: str) -> int:
    usual, low = ANSWER_FIELD_NAMES_BY_FORM[form], name.lower()
    if low in usual:
        return usual.index(low)
    if form == "labels" and low == "labels":
        return 0
    for index, own in enumerate(usual):
        if own in low:
            return 100 + index
    if (pattern := _UNUSUAL_ANSWER_NAMES.get(form)) and re.search(pattern, low):
        return 150
    return (
        METADATA_NAME_RANK
        if METADATA_FIELD_PATTERN.search(name)
        else UNTYPICAL_NAME_RANK
    )


def _make_answer_sort_key(form: str, reading: AnswerFieldReading) -> tuple[Any, ...]:
    is_single = not (reading.keys or any(isinstance(v, list) for v in reading.values))
    different = len({str(value) for value in reading.values})
    rank = _rank_field_name(form, reading.field)
    if reading.keys.get("columns"):
        rank = min(rank, UNTYPICAL_NAME_RANK - 1)
    return (rank, is_single and form in ("labels", "ranking"), different)


def _iterate_readings(
    form: str, rows: RecordRows, name: str
) -> Iterator[AnswerFieldReading]:
    values = [row.get(name) for row in rows]
    if not list_nonempty_values(rows, name):
        return
    if form == "labels":
        yield from _iterate_label_readings(name, values)
    elif form == "ranking":
        yield from _iterate_ranking_readings(name, values)
    elif _VALUE_TEST_OF_FORM[form](values):
        yield AnswerFieldReading(name, values, _REASON_OF_FORM[form].format(name=name))


_REASON_OF_FORM = {
    "numbers": "“{name}” holds numbers alone",
    "text": "“{name}” holds texts",
    "spans": "“{name}” holds lists of places",
    "tags": "“{name}” holds a tag for each token",
    "evidence": "“{name}” holds lists of evidence",
}


def _iterate_label_readings(
    name: str, values: Sequence[Any]
) -> Iterator[AnswerFieldReading]:
    lists = [own for value in values if (own := parse_list_value(value)) is not None]
    if len(lists) == len(values) and any(lists):
        yield from _iterate_list_readings(name, lists)
        return
    if any(isinstance(value, dict | list) for value in values):
        return
    there = [value for value in values if value not in EMPTY_VALUES]
    texts = [convert_label_to_text(value) for value in there]
    distinct = set(texts)
    if all(isinstance(value, str) for value in there) and (
        parted := _read_separated_labels(name, values)
    ):
        yield parted
    elif len(there) == len(values) and 1 < len(distinct) <= MAX_LABELS_OF_FIELD:
        is_number = any(isinstance(value, int | float) for value in there)
        kind = "numbers or true and false" if is_number else "words"
        is_long = sum(
            len(text.split()) for text in texts
        ) >= MAX_MEAN_WORDS_OF_LABEL * len(texts)
        is_repeated = len(distinct) <= max(2, len(texts) // 2)
        if is_repeated or not (is_number or is_long):
            reason = f"“{name}” has {len(distinct)} different {kind}"
            yield AnswerFieldReading(name, texts, reason)


def _iterate_list_readings(
    name: str, lists: Sequence[Any]
) -> Iterator[AnswerFieldReading]:
    lengths = {len(own) for own in lists}
    flat = [part for own in lists for part in own]
    if len(lengths) == 1 and min(lengths) > 1 and _are_zeros_and_ones(flat):
        (length,) = lengths
        labels = [str(place) for place in range(1, length + 1)]
        reason = f"“{name}” holds {length} values of 0 and 1 in each row; the file does not name these labels"
        values = [
            [
                label
                for label, on in zip(labels, own, strict=True)
                if parse_binary_cell(on)
            ]
            for own in lists
        ]
        yield AnswerFieldReading(name, values, reason, {"vector": True}, labels)
        return
    if not all(isinstance(part, str | int | float) for part in flat):
        return
    texts = [[*map(convert_label_to_text, own)] for own in lists]
    distinct = {part for text in texts for part in text}
    if any(len(set(text)) < len(text) for text in texts):
        return
    if 1 < len(distinct) <= MAX_LABELS_OF_FIELD:
        empty = sum(not text for text in texts)
        none = f", {empty} of them empty" if empty else ""
        reason = f"“{name}” holds lists of {len(distinct)} different words{none}"
        yield AnswerFieldReading(name, texts, reason)


def _are_zeros_and_ones(values: Iterable[Any]) -> bool:
    return all(parse_binary_cell(value) is not None for value in values)


def _read_separated_labels(
    name: str, values: Sequence[Any]
) -> AnswerFieldReading | None:
    """Return the answers of a text field that joins several labels with a separator, or
    None if the field is not of this kind. The separator is accepted only if each label
    also occurs alone, or in at least three different combinations.
    """
    for separator, shown in LABEL_SEPARATORS.items():
        parts = [split_at_separator(value or "", separator) for value in values]
        several = [part for part in parts if len(part) > 1]
        distinct = {label for part in parts for label in part}
        if not several or not 1 < len(distinct) <= MAX_LABELS_OF_FIELD:
            continue
        if any(len(set(own)) < len(own) for own in several):
            continue
        wholes = {tuple(part) for part in parts}
        alone = {own[0] for own in wholes if len(own) == 1}
        combined = {label for own in several for label in own}
        again = Counter(label for own in wholes for label in set(own))
        seen = {label for label in combined if label in alone or again[label] > 2}
        if len(seen) < len(combined) or (
            separator == WHITE_SPACE_SEPARATOR and not combined <= alone
        ):
            continue
        empty = sum(not part for part in parts)
        none = f", {empty} rows none" if empty else ""
        count = f"in {len(several)} rows several parted by {shown}"
        reason = f"“{name}” holds {len(distinct)} labels, {count}{none}"
        return AnswerFieldReading(name, parts, reason, {"separator": separator})
    return None


def _iterate_column_group_readings(
    form: str, rows: RecordRows, names: Sequence[str]
) -> Iterator[AnswerFieldReading]:
    """Yield groups of gold fields that together contain the answer. Each group consists
    of columns of 0 and 1, or of fields whose names differ only at the end.
    """
    if form not in ("labels", "numbers", "text"):
        return
    stems: dict[str, list[str]] = {}
    for name in names:
        if (
            match := _NAME_STEM_PATTERN.match(name[:MAX_COMPARED_NAME_CHARACTERS])
        ) and match[1]:
            stems.setdefault(match[1].lower(), []).append(name)
    for stem, group in stems.items():
        if len(group) < 2 or "id" in group:
            continue
        cells = [[row.get(name) for name in group] for row in rows]
        if form == "labels":
            if not all(_are_zeros_and_ones(cell) for cell in cells):
                continue
            values: list[list[Any]] = [
                [
                    name
                    for name, on in zip(group, cell, strict=True)
                    if parse_binary_cell(on)
                ]
                for cell in cells
            ]
            labels: Sequence[str] = group
        elif not any(own in stem for own in ANSWER_FIELD_NAMES_BY_FORM[form]):
            continue
        else:
            values = [
                [cell for cell in own if cell not in EMPTY_VALUES] for own in cells
            ]
            labels = ()
            if not _VALUE_TEST_OF_FORM[form](values) or not all(values):
                continue
        field = next(
            own for own in (stem, f"{stem}_columns", f"{stem}_all") if own not in names
        )
        says = "hold 0 and 1 alone" if labels else "have one name with numbers"
        reason = f"{_join_quoted_names(group)} {says}, and are the answer together"
        yield AnswerFieldReading(field, values, reason, {"columns": group}, labels)


def _iterate_ranking_readings(
    name: str, values: Sequence[Any]
) -> Iterator[AnswerFieldReading]:
    there = [value for value in values if value not in EMPTY_VALUES]
    lists = [parse_list_value(value) for value in there]
    if all(own is not None for own in lists):
        yield from _iterate_id_list_readings(name, values, lists)
        return
    if all(isinstance(value, dict) for value in there):
        grades = [grade for value in there for grade in value.values()]
        if all(type(grade) is int for grade in grades):
            yield AnswerFieldReading(
                name, values, f"“{name}” holds grades of documents"
            )
        return
    if not all(isinstance(value, str | int) for value in there):
        return
    if all(isinstance(value, str) for value in there):
        for separator in (";", "|", ","):
            parts = [split_at_separator(value or "", separator) for value in values]
            if any(len(part) > 1 for part in parts):
                reason = f"“{name}” holds ids parted by {LABEL_SEPARATORS[separator]}"
                yield AnswerFieldReading(name, parts, reason, {"separator": separator})
                break
    yield AnswerFieldReading(name, values, f"“{name}” holds an id in each row")


def _iterate_id_list_readings(
    name: str, values: Sequence[Any], lists: Sequence[Any]
) -> Iterator[AnswerFieldReading]:
    flat = [part for own in lists for part in own]
    if flat and all(isinstance(part, dict) for part in flat):
        keys = [
            key
            for key in flat[0]
            if ID_FIELD_PATTERN.search(key)
            and all(is_possible_id(part.get(key)) for part in flat)
        ]
        if keys:
            reason = (
                f"“{name}” holds lists of records, each with an id under “{keys[0]}”"
            )
            ids = [
                [own[keys[0]] for own in parse_list_value(value) or ()]
                for value in values
            ]
            yield AnswerFieldReading(name, ids, reason, {"item": keys[0]})
    elif flat and all(map(is_possible_id, flat)):
        empty = sum(value in EMPTY_VALUES for value in values)
        none = f", {empty} of them empty" if empty else ""
        ids = [parse_list_value(value) or [] for value in values]
        yield AnswerFieldReading(name, ids, f"“{name}” holds lists of ids{none}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _flatten_values(values: Sequence[Any]) -> list[Any]:
    there = [value for value in values if value not in (None, "", [])]
    return [
        own
        for value in there
        for own in (value if isinstance(value, list) else [value])
    ]


def _are_numbers(values: Sequence[Any]) -> bool:
    flat = _flatten_values(values)
    return (
        bool(flat)
        and not any(value in (None, "", []) for value in values)
        and all(map(_is_number, flat))
    )


def _are_span_lists(values: Sequence[Any]) -> bool:
    flat = _flatten_values(values)
    return bool(flat) and all(
        isinstance(own, list) and len(own) in (2, 3) for own in flat
    )


def _are_tag_lists(values: Sequence[Any]) -> bool:
    there = [value for value in values if value not in (None, "", [])]
    return all(isinstance(value, list) for value in there) and all(
        isinstance(tag, str) and _IOB_TAG_PATTERN.fullmatch(tag)
        for tag in _flatten_values(there)
    )


def _are_evidence_objects(values: Sequence[Any]) -> bool:
    there = [value for value in values if value not in (None, "", [])]
    return any(
        _are_sentences(value) or bool(list_labels_of_evidence(value)) for value in there
    )


def _are_sentences(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(own, str | list) for own in value)


def _are_texts(values: Sequence[Any]) -> bool:
    flat = _flatten_values(values)
    return (
        bool(flat)
        and all(isinstance(own, str) for own in flat)
        and not look_like_ids(flat)
    )


def list_labels_of_evidence(value: Any) -> set[str]:
    """Return the labels in a gold answer that maps each document to sets of evidence
    sentences.
    """
    lists = value.values() if isinstance(value, dict) else ()
    sets = [
        own
        for sets in lists
        if isinstance(sets, list)
        for own in sets
        if isinstance(own, dict)
    ]
    return {str(own["label"]) for own in sets if "label" in own}


_VALUE_TEST_OF_FORM: Mapping[str, Callable[[Sequence[Any]], bool]] = {
    "numbers": _are_numbers,
    "spans": _are_span_lists,
    "tags": _are_tag_lists,
    "evidence": _are_evidence_objects,
    "text": _are_texts,
}


def _join_quoted_names(names: Sequence[str]) -> str:
    shown = [f"“{name}”" for name in names[:6]]
    more = [f"{len(names) - 6} more"] if len(names) > 6 else []
    *first, last = [*shown, *more]
    return f"{', '.join(first)} and {last}" if first else last
