"""Read from `task.toml` how gold and runs name fields and spell answers."""

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tasks.types.declared.keys import (
    TomlTable,
    describe_kind_of_toml_value,
    format_similar_name_hint,
)
from tasks.types.forms.instances import InstanceTask
from tasks.types.forms.labels import CONFIDENCE_FIELD, PROBABILITIES_FIELD
from tasks.types.forms.mapping import LabelsBySpelling
from tasks.types.forms.numbers import NumberTask
from tasks.types.tables import DOCUMENT_COLUMN, RANK_COLUMN, SCORE_COLUMN

VALUES_TABLE_KEY, FIELDS_TABLE_KEY = "values", "fields"
#: `FORMS_WITH_VALUES` lists the forms of task whose answers contain labels or numbers.
#: For the forms in `FORMS_WITH_VALUES`, `task.toml` can map spellings to answers.
FORMS_WITH_VALUES = ("labels", "numbers", "spans", "evidence")
#: For each task form, `RENAMABLE_RUN_FIELDS_BY_FORM` lists the fields of a run besides id and answer.
#: In `task.toml`, a task can give other names to the fields in `RENAMABLE_RUN_FIELDS_BY_FORM`.
RENAMABLE_RUN_FIELDS_BY_FORM: Mapping[str, tuple[str, ...]] = {
    "labels": (PROBABILITIES_FIELD, CONFIDENCE_FIELD),
    "ranking": (DOCUMENT_COLUMN, RANK_COLUMN, SCORE_COLUMN),
    "evidence": ("label",),
}


def read_mapping(form: str, gold: TomlTable, answer: TomlTable) -> dict[str, Any]:
    """Return the settings of a task that the keys `id`, `values` and `fields` of
    `task.toml` define.

    The mapping `values` of the gold also applies to runs unless [task.answer] has a
    mapping `values` for runs.
    """
    values, of_runs = _read_value_mapping(form, gold), _read_value_mapping(form, answer)
    return {
        "answer_id": answer.text("id", ""),
        "values": values,
        "answer_values": of_runs if VALUES_TABLE_KEY in answer else values,
        "answer_names": _read_field_mapping(form, answer),
    }


def _read_value_mapping(form: str, keys: TomlTable) -> LabelsBySpelling:
    if form in FORMS_WITH_VALUES:
        return dict(keys.table(VALUES_TABLE_KEY, {}).values)
    if VALUES_TABLE_KEY in keys:
        expected = f"a task of the form {', '.join(FORMS_WITH_VALUES)}"
        keys.table(VALUES_TABLE_KEY)
        keys.add_problem_at_key(
            VALUES_TABLE_KEY,
            f"“{VALUES_TABLE_KEY}” says nothing of the form {form}",
            expected,
        )
    return {}


def list_renamable_run_fields(form: str, shape: object) -> tuple[str, ...]:
    """Return the names of those run fields, besides id and answer, that `task.toml` can
    rename. If answers are sets of evidence, no field can be renamed, because the label
    is part of the answer and not a field.
    """
    return () if shape == "sets" else RENAMABLE_RUN_FIELDS_BY_FORM.get(form, ())


def _read_field_mapping(form: str, answer: TomlTable) -> dict[str, str]:
    names = list_renamable_run_fields(form, answer.values.get("shape"))
    if not names:
        if FIELDS_TABLE_KEY in answer:
            answer.table(FIELDS_TABLE_KEY)
            message = f"“{FIELDS_TABLE_KEY}” says nothing of the form {form}"
            answer.add_problem_at_key(FIELDS_TABLE_KEY, message, "`id` and `field`")
        return {}
    table = answer.table(FIELDS_TABLE_KEY, {})
    named = {name: table.text(name, "") for name in names}
    table.close()
    return {name: other for name, other in named.items() if other}


def refuse_unknown_values(
    task: InstanceTask, gold: TomlTable, answer: TomlTable
) -> None:
    """Record a problem for each spelling in `values` that maps to an unknown answer or
    is itself the name of another answer.
    """
    abstain = getattr(task, "abstain", "")
    for keys, values in ((gold, task.values), (answer, task.answer_values)):
        if VALUES_TABLE_KEY not in keys:
            continue
        own = keys.table(VALUES_TABLE_KEY)
        labels = [*getattr(task, "labels", ()), *([abstain] if abstain else [])]
        for name, value in values.items():
            fault = (
                _find_number_mapping_fault(name, value)
                if isinstance(task, NumberTask)
                else _find_label_mapping_fault(name, value, labels)
            )
            if fault is not None:
                own.add_problem_at_key(name, *fault)


def _find_label_mapping_fault(
    name: str, value: Any, labels: list[str]
) -> tuple[str, str] | None:
    expected = f"one of {', '.join(labels)}"
    if not isinstance(value, str):
        return f"“{name}” means {describe_kind_of_toml_value(value)}", expected
    if value not in labels:
        message = f"“{name}” means “{value}”, which is no label{format_similar_name_hint(value, labels)}"
        return message, expected
    if name in labels and name != value:
        return f"“{name}” is a label itself, and means “{value}”", "another name"
    return None


def _find_number_mapping_fault(name: str, value: Any) -> tuple[str, str] | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"“{name}” means {describe_kind_of_toml_value(value)}", "a number"
    with suppress(ValueError):
        if math.isfinite(float(name)):
            return f"“{name}” is a number itself", "a word"
    return None
