"""Form fields of a declared task for an official run, and for the names and values in
data files.
"""

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.acts.declared import TextLinesField
from scoring.offline.official_run import SAMPLE_RUN_KEY, compare_by_rules
from tasks.types.declared.mapping import (
    FIELDS_TABLE_KEY,
    FORMS_WITH_VALUES,
    VALUES_TABLE_KEY,
    list_renamable_run_fields,
)
from tasks.types.problems import convert_dicts_to_problems, select_problems_to_list
from tasks.types.toml_lines import TomlKeyPath

JsonObject = dict[str, Any]
(
    RUN_ID_FORM_FIELD,
    RUN_FIELD_FORM_FIELD,
    GOLD_VALUES_FORM_FIELD,
    RUN_VALUES_FORM_FIELD,
) = (
    "run_id",
    "run_field",
    "values",
    "run_values",
)
OFFICIAL_SCORE_FORM_FIELD, OFFICIAL_MEASURE_FORM_FIELD, SAVE_ANYWAY_FORM_FIELD = (
    "official",
    "official_measure",
    "anyway",
)
_FIELDS_BY_KEY_PATH: Mapping[TomlKeyPath, str] = {
    ("answer", "id"): RUN_ID_FORM_FIELD,
    ("answer", "field"): RUN_FIELD_FORM_FIELD,
    ("gold", VALUES_TABLE_KEY): GOLD_VALUES_FORM_FIELD,
    ("answer", VALUES_TABLE_KEY): RUN_VALUES_FORM_FIELD,
}
_OPTIONAL_FIELD_LABELS = {
    "probabilities": gettext_lazy("Field of a run with the probabilities"),
    "confidence": gettext_lazy("Field of a run with the confidence"),
    "document": gettext_lazy("Column of a run's table with the document"),
    "rank": gettext_lazy("Column of a run's table with the rank"),
    "score": gettext_lazy("Column of a run's table with the score"),
    "label": gettext_lazy("Field of a run with the label of the claim"),
}


class ValueMappingField(TextLinesField):
    """A form field with lines such as `1 = yes`.

    Each line of the text maps a value in the data file to an answer of the task.
    """

    def __init__(self, *, are_numbers: bool, **options: Any) -> None:
        super().__init__(required=False, **options)
        self.are_numbers = are_numbers

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return "\n".join(f"{name} = {meant}" for name, meant in value.items())
        return value

    def clean(self, value: Any) -> Any:
        values: JsonObject = {}
        for line in super().clean(value) or ():
            name, sign, meant = (part.strip() for part in line.rpartition("="))
            if not (sign and name and meant):
                message = _("“%(line)s” is no line such as 1 = yes.")
                raise ValidationError(message % {"line": line[:100]})
            values[name] = self._parse_mapped_value(meant)
        return values

    def _parse_mapped_value(self, meant: str) -> str | float:
        if not self.are_numbers:
            return meant
        try:
            number = float(meant)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ValidationError(_("“%(text)s” is no number.") % {"text": meant[:100]})
        return int(number) if number.is_integer() else number


def add_file_name_fields(form: forms.Form, task: JsonObject) -> None:
    """Add form fields for names and values in data files that differ from the task's
    names and values.
    """
    said = task.get("answer", {})
    kind = task["form"]
    form.initial.update(
        {
            RUN_ID_FORM_FIELD: said.get("id", ""),
            RUN_FIELD_FORM_FIELD: said.get("field", ""),
        }
    )
    form.fields[RUN_ID_FORM_FIELD] = forms.CharField(
        label=_("Field of a run with the id, if not as in the gold"), required=False
    )
    form.fields[RUN_FIELD_FORM_FIELD] = forms.CharField(
        label=_("Field of a run with the answer, if it has another name"),
        required=False,
    )
    for name in list_renamable_run_fields(kind, said.get("shape")):
        form.initial[f"run_{name}"] = said.get(FIELDS_TABLE_KEY, {}).get(name, "")
        form.fields[f"run_{name}"] = forms.CharField(
            label=_OPTIONAL_FIELD_LABELS[name], required=False
        )
    if kind not in FORMS_WITH_VALUES:
        return
    form.initial.update(
        {
            GOLD_VALUES_FORM_FIELD: task["gold"].get(VALUES_TABLE_KEY, {}),
            RUN_VALUES_FORM_FIELD: said.get(VALUES_TABLE_KEY, {}),
        }
    )
    labels = {
        GOLD_VALUES_FORM_FIELD: _("Answers as the gold writes them"),
        RUN_VALUES_FORM_FIELD: _("Answers as runs write them, if not as in the gold"),
    }
    for name, label in labels.items():
        form.fields[name] = ValueMappingField(
            label=label,
            are_numbers=kind == "numbers",
            help_text=_("What a file says and what it means, one a line: 1 = yes."),
        )


def apply_file_name_fields(
    form: forms.Form, gold: JsonObject, said: JsonObject
) -> tuple[JsonObject, JsonObject]:
    """Return the tables [task.gold] and [task.answer] of the declaration, with the
    names from the form.
    """
    given = form.cleaned_data
    others = {
        name: given[f"run_{name}"]
        for name in _OPTIONAL_FIELD_LABELS
        if given.get(f"run_{name}")
    }
    gold = {**gold, VALUES_TABLE_KEY: given.get(GOLD_VALUES_FORM_FIELD, {})}
    names = {"id": given[RUN_ID_FORM_FIELD], "field": given[RUN_FIELD_FORM_FIELD]}
    said = {
        **said,
        **names,
        VALUES_TABLE_KEY: given.get(RUN_VALUES_FORM_FIELD, {}),
        FIELDS_TABLE_KEY: others,
    }
    return gold, _replace_labels_by_meaning(said, gold[VALUES_TABLE_KEY])


def _replace_labels_by_meaning(said: JsonObject, values: JsonObject) -> JsonObject:
    """In the declaration's table [task.answer], replace values from the gold by the
    task's labels.

    A proposed declaration contains values from the gold as labels.
    """
    if values and isinstance(labels := said.get("labels"), list):
        said["labels"] = [*dict.fromkeys(values.get(label, label) for label in labels)]
        if (positive := said.get("positive")) in values:
            said["positive"] = values[positive]
    return said


def replace_metric_label(measure: Any, values: JsonObject) -> Any:
    """Return the metric with its gold value replaced by the task's label for this
    value.
    """
    if not isinstance(measure, dict) or measure.get("label") not in values:
        return measure
    label = values[measure["label"]]
    name = re.sub(r"\W+", "_", f"{measure['measure']}_{label}".lower()).strip("_")
    return {**measure, "label": label, "name": name}


def find_file_name_field(path: TomlKeyPath) -> str:
    if path[1:3] == ("answer", FIELDS_TABLE_KEY) and len(path) > 3:
        return f"run_{path[3]}"
    return _FIELDS_BY_KEY_PATH.get(path[1:3], "")


def add_official_run_fields(
    form: forms.Form, measures: list[str], draft: JsonObject
) -> None:
    """Add form fields for a sample run and the official score of this run."""
    kept = draft.get(SAMPLE_RUN_KEY)
    message = _("A run on this gold whose number is known. The preview reads it.")
    if kept:
        message = _("%(file)s is read; another file replaces it.") % {
            "file": kept["filename"]
        }
    form.fields[SAMPLE_RUN_KEY] = forms.FileField(
        label=_("Official sample run"), required=False, help_text=message
    )
    form.fields[OFFICIAL_SCORE_FORM_FIELD] = forms.DecimalField(
        label=_("Its official number"),
        required=False,
        max_digits=20,
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
        help_text=_("As a share or in per cent, with all known decimals."),
    )
    form.fields[OFFICIAL_MEASURE_FORM_FIELD] = forms.ChoiceField(
        label=_("Measure of the official number"),
        required=False,
        choices=[
            ("", _("the measure that ranks")),
            *((measure, measure) for measure in measures),
        ],
    )
    if kept:
        form.fields[SAVE_ANYWAY_FORM_FIELD] = forms.BooleanField(
            label=_("Save although the sample run is refused or has another number"),
            required=False,
        )


def check_official_run(
    form: forms.Form, told: JsonObject, ranking: str
) -> JsonObject | None:
    """Return the result of scoring the sample run, for display.

    The function returns None if there is no sample run, or if the site has not read the
    sample run.
    """
    given: JsonObject = getattr(form, "cleaned_data", {})
    read = told.get(SAMPLE_RUN_KEY)
    if read is None:
        if (
            given.get(OFFICIAL_SCORE_FORM_FIELD) is not None
            and SAVE_ANYWAY_FORM_FIELD not in form.fields
        ):
            form.add_error(SAMPLE_RUN_KEY, _("Give the run that has this number."))
        return None
    problems, more = select_problems_to_list(
        convert_dicts_to_problems(read["problems"])
    )
    measure = given.get(OFFICIAL_MEASURE_FORM_FIELD) or ranking
    by_rules = read["scores"].items()
    values = {rules: own[measure]["value"] for rules, own in by_rules if measure in own}
    official: Decimal | None = given.get(OFFICIAL_SCORE_FORM_FIELD)
    by_official = (
        {} if official is None else compare_by_rules(read["scores"], measure, official)
    )
    has_number = any(one.is_equal for one in by_official.values())
    return {
        "measure": measure,
        "values": values,
        "comparisons": by_official,
        "problems": problems,
        "more": more,
        "is_read": bool(read["scores"]),
        "is_sound": bool(values) and (official is None or has_number),
    }
