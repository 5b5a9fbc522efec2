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

from citeboard.acts.declared import LinesField
from scoring.offline.official_run import SAMPLE_RUN, comparisons
from tasks.types.declared.mapping import FIELDS, FORMS_WITH_VALUES, VALUES, other_fields
from tasks.types.problems import capped, from_values
from tasks.types.toml_lines import KeyPath

Told = dict[str, Any]
RUN_ID, RUN_FIELD, GOLD_VALUES, RUN_VALUES = (
    "run_id",
    "run_field",
    "values",
    "run_values",
)
OFFICIAL, OFFICIAL_MEASURE, ANYWAY = "official", "official_measure", "anyway"
_FIELDS_BY_KEY_PATH: Mapping[KeyPath, str] = {
    ("answer", "id"): RUN_ID,
    ("answer", "field"): RUN_FIELD,
    ("gold", VALUES): GOLD_VALUES,
    ("answer", VALUES): RUN_VALUES,
}
_OTHER_FIELD_LABELS = {
    "probabilities": gettext_lazy("Field of a run with the probabilities"),
    "confidence": gettext_lazy("Field of a run with the confidence"),
    "document": gettext_lazy("Column of a run's table with the document"),
    "rank": gettext_lazy("Column of a run's table with the rank"),
    "score": gettext_lazy("Column of a run's table with the score"),
    "label": gettext_lazy("Field of a run with the label of the claim"),
}


class ValueMappingField(LinesField):
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
        values: Told = {}
        for line in super().clean(value) or ():
            name, sign, meant = (part.strip() for part in line.rpartition("="))
            if not (sign and name and meant):
                message = _("“%(line)s” is no line such as 1 = yes.")
                raise ValidationError(message % {"line": line[:100]})
            values[name] = self._parse_answer(meant)
        return values

    def _parse_answer(self, meant: str) -> str | float:
        if not self.are_numbers:
            return meant
        try:
            number = float(meant)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise ValidationError(_("“%(text)s” is no number.") % {"text": meant[:100]})
        return int(number) if number.is_integer() else number


def add_file_name_fields(form: forms.Form, task: Told) -> None:
    """Add form fields for names and values in data files that differ from the task's
    names and values.
    """
    said = task.get("answer", {})
    kind = task["form"]
    form.initial.update({RUN_ID: said.get("id", ""), RUN_FIELD: said.get("field", "")})
    form.fields[RUN_ID] = forms.CharField(
        label=_("Field of a run with the id, if not as in the gold"), required=False
    )
    form.fields[RUN_FIELD] = forms.CharField(
        label=_("Field of a run with the answer, if it has another name"),
        required=False,
    )
    for name in other_fields(kind, said.get("shape")):
        form.initial[f"run_{name}"] = said.get(FIELDS, {}).get(name, "")
        form.fields[f"run_{name}"] = forms.CharField(
            label=_OTHER_FIELD_LABELS[name], required=False
        )
    if kind not in FORMS_WITH_VALUES:
        return
    form.initial.update(
        {
            GOLD_VALUES: task["gold"].get(VALUES, {}),
            RUN_VALUES: said.get(VALUES, {}),
        }
    )
    labels = {
        GOLD_VALUES: _("Answers as the gold writes them"),
        RUN_VALUES: _("Answers as runs write them, if not as in the gold"),
    }
    for name, label in labels.items():
        form.fields[name] = ValueMappingField(
            label=label,
            are_numbers=kind == "numbers",
            help_text=_("What a file says and what it means, one a line: 1 = yes."),
        )


def apply_file_names(form: forms.Form, gold: Told, said: Told) -> tuple[Told, Told]:
    """Return the tables [task.gold] and [task.answer] of the declaration, with the
    names from the form.
    """
    given = form.cleaned_data
    others = {
        name: given[f"run_{name}"]
        for name in _OTHER_FIELD_LABELS
        if given.get(f"run_{name}")
    }
    gold = {**gold, VALUES: given.get(GOLD_VALUES, {})}
    names = {"id": given[RUN_ID], "field": given[RUN_FIELD]}
    said = {**said, **names, VALUES: given.get(RUN_VALUES, {}), FIELDS: others}
    return gold, _replace_labels_by_meaning(said, gold[VALUES])


def _replace_labels_by_meaning(said: Told, values: Told) -> Told:
    """In the declaration's table [task.answer], replace values from the gold by the
    task's labels.

    A proposed declaration contains values from the gold as labels.
    """
    if values and isinstance(labels := said.get("labels"), list):
        said["labels"] = [*dict.fromkeys(values.get(label, label) for label in labels)]
        if (positive := said.get("positive")) in values:
            said["positive"] = values[positive]
    return said


def replace_label_by_meaning(measure: Any, values: Told) -> Any:
    """Return the metric with its gold value replaced by the task's label for this
    value.
    """
    if not isinstance(measure, dict) or measure.get("label") not in values:
        return measure
    label = values[measure["label"]]
    name = re.sub(r"\W+", "_", f"{measure['measure']}_{label}".lower()).strip("_")
    return {**measure, "label": label, "name": name}


def file_name_field(path: KeyPath) -> str:
    if path[1:3] == ("answer", FIELDS) and len(path) > 3:
        return f"run_{path[3]}"
    return _FIELDS_BY_KEY_PATH.get(path[1:3], "")


def add_official_run_fields(form: forms.Form, measures: list[str], draft: Told) -> None:
    """Add form fields for a sample run and the official score of this run."""
    kept = draft.get(SAMPLE_RUN)
    message = _("A run on this gold whose number is known. The preview reads it.")
    if kept:
        message = _("%(file)s is read; another file replaces it.") % {
            "file": kept["filename"]
        }
    form.fields[SAMPLE_RUN] = forms.FileField(
        label=_("Official sample run"), required=False, help_text=message
    )
    form.fields[OFFICIAL] = forms.DecimalField(
        label=_("Its official number"),
        required=False,
        max_digits=20,
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
        help_text=_("As a share or in per cent, with all known decimals."),
    )
    form.fields[OFFICIAL_MEASURE] = forms.ChoiceField(
        label=_("Measure of the official number"),
        required=False,
        choices=[
            ("", _("the measure that ranks")),
            *((measure, measure) for measure in measures),
        ],
    )
    if kept:
        form.fields[ANYWAY] = forms.BooleanField(
            label=_("Save although the sample run is refused or has another number"),
            required=False,
        )


def check_official_run(form: forms.Form, told: Told, ranking: str) -> Told | None:
    """Return the result of scoring the sample run, for display.

    The function returns None if there is no sample run, or if the site has not read the
    sample run.
    """
    given: Told = getattr(form, "cleaned_data", {})
    read = told.get(SAMPLE_RUN)
    if read is None:
        if given.get(OFFICIAL) is not None and ANYWAY not in form.fields:
            form.add_error(SAMPLE_RUN, _("Give the run that has this number."))
        return None
    problems, more = capped(from_values(read["problems"]))
    measure = given.get(OFFICIAL_MEASURE) or ranking
    by_rules = read["scores"].items()
    values = {rules: own[measure]["value"] for rules, own in by_rules if measure in own}
    official: Decimal | None = given.get(OFFICIAL)
    by_official = (
        {} if official is None else comparisons(read["scores"], measure, official)
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
