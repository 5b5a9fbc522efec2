"""Read from `task.toml` how gold and runs name fields and spell answers."""

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tasks.types.declared.keys import Keys, kind, near
from tasks.types.forms.instances import InstanceTask
from tasks.types.forms.labels import CONFIDENCE, PROBABILITIES
from tasks.types.forms.mapping import Values
from tasks.types.forms.numbers import NumberTask
from tasks.types.tables import DOCUMENT, RANK, SCORE

VALUES, FIELDS = "values", "fields"
#: `FORMS_WITH_VALUES` lists the forms of task whose answers contain labels or numbers.
#: For the forms in `FORMS_WITH_VALUES`, `task.toml` can map spellings to answers.
FORMS_WITH_VALUES = ("labels", "numbers", "spans", "evidence")
#: For each task form, `OTHER_FIELDS` lists the fields of a run besides id and answer.
#: In `task.toml`, a task can give other names to the fields in `OTHER_FIELDS`.
OTHER_FIELDS: Mapping[str, tuple[str, ...]] = {
    "labels": (PROBABILITIES, CONFIDENCE),
    "ranking": (DOCUMENT, RANK, SCORE),
    "evidence": ("label",),
}


def read_mapping(form: str, gold: Keys, answer: Keys) -> dict[str, Any]:
    """Return the settings of a task that the keys `id`, `values` and `fields` of
    `task.toml` define.

    The mapping `values` of the gold also applies to runs unless [task.answer] has a
    mapping `values` for runs.
    """
    values, of_runs = _read_value_mapping(form, gold), _read_value_mapping(form, answer)
    return {
        "answer_id": answer.text("id", ""),
        "values": values,
        "answer_values": of_runs if VALUES in answer else values,
        "answer_names": _read_field_mapping(form, answer),
    }


def _read_value_mapping(form: str, keys: Keys) -> Values:
    if form in FORMS_WITH_VALUES:
        return dict(keys.table(VALUES, {}).values)
    if VALUES in keys:
        expected = f"a task of the form {', '.join(FORMS_WITH_VALUES)}"
        keys.table(VALUES)
        keys.refuse(VALUES, f"“{VALUES}” says nothing of the form {form}", expected)
    return {}


def other_fields(form: str, shape: object) -> tuple[str, ...]:
    """Return the names of those run fields, besides id and answer, that `task.toml` can
    rename. If answers are sets of evidence, no field can be renamed, because the label
    is part of the answer and not a field.
    """
    return () if shape == "sets" else OTHER_FIELDS.get(form, ())


def _read_field_mapping(form: str, answer: Keys) -> dict[str, str]:
    names = other_fields(form, answer.values.get("shape"))
    if not names:
        if FIELDS in answer:
            answer.table(FIELDS)
            message = f"“{FIELDS}” says nothing of the form {form}"
            answer.refuse(FIELDS, message, "`id` and `field`")
        return {}
    table = answer.table(FIELDS, {})
    named = {name: table.text(name, "") for name in names}
    table.close()
    return {name: other for name, other in named.items() if other}


def refuse_unknown_values(task: InstanceTask, gold: Keys, answer: Keys) -> None:
    """Record a problem for each spelling in `values` that maps to an unknown answer or
    is itself the name of another answer.
    """
    abstain = getattr(task, "abstain", "")
    for keys, values in ((gold, task.values), (answer, task.answer_values)):
        if VALUES not in keys:
            continue
        own = keys.table(VALUES)
        labels = [*getattr(task, "labels", ()), *([abstain] if abstain else [])]
        for name, value in values.items():
            fault = (
                _find_number_mapping_fault(name, value)
                if isinstance(task, NumberTask)
                else _find_label_mapping_fault(name, value, labels)
            )
            if fault is not None:
                own.refuse(name, *fault)


def _find_label_mapping_fault(
    name: str, value: Any, labels: list[str]
) -> tuple[str, str] | None:
    expected = f"one of {', '.join(labels)}"
    if not isinstance(value, str):
        return f"“{name}” means {kind(value)}", expected
    if value not in labels:
        message = f"“{name}” means “{value}”, which is no label{near(value, labels)}"
        return message, expected
    if name in labels and name != value:
        return f"“{name}” is a label itself, and means “{value}”", "another name"
    return None


def _find_number_mapping_fault(name: str, value: Any) -> tuple[str, str] | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"“{name}” means {kind(value)}", "a number"
    with suppress(ValueError):
        if math.isfinite(float(name)):
            return f"“{name}” is a number itself", "a word"
    return None
