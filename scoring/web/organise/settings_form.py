"""The form of a season's, a task's or a phase's settings, made from the models that keep them."""

from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.db import models
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from citeboard.core.words import sentence
from scoring.acts.declared import LinesField, MomentField
from tasks.models import Task
from tasks.models.run_cards import REQUIRABLE
from tasks.models.seasons import Configured
from tasks.seasons.file.load import Fault
from tasks.types import Option, task_types
from tasks.types.base import printed_options

OPTION = "option-"


def setting_field(model: type[Configured], name: str, zone: ZoneInfo) -> forms.Field | None:
    known = model.field(name)
    shared: dict[str, Any] = {
        "label": str(model.SETTINGS[name].label) or capfirst(str(known.verbose_name)),
        "help_text": str(known.help_text),
        "required": model.is_required(name),
        "show_hidden_initial": True,
    }
    if name == "card_required":
        chosen = list(REQUIRABLE.items())
        return forms.MultipleChoiceField(choices=chosen, widget=forms.CheckboxSelectMultiple, **shared)
    if name == "type":
        types = [(slug, f"{task_type.title} ({slug})") for slug, task_type in task_types().items()]
        return forms.ChoiceField(choices=types, **shared)
    if known.choices:
        choices = [(str(value), capfirst(str(words))) for value, words in known.flatchoices]
        blank = [("", capfirst(_("as it follows from the rest")))] if known.blank else []
        return forms.ChoiceField(choices=[*blank, *choices], **shared)
    if isinstance(known, models.BooleanField):
        return forms.BooleanField(**shared)
    if isinstance(known, models.DateTimeField):
        return MomentField(zone=zone, **shared)
    if isinstance(known, models.PositiveIntegerField):
        return forms.IntegerField(min_value=1, max_value=model.SETTINGS[name].most, **shared)
    if isinstance(known, models.JSONField):
        return LinesField(**shared) if known.get_default() == [] else None
    if isinstance(known, models.TextField):
        return forms.CharField(max_length=50_000, widget=forms.Textarea(attrs={"rows": 6}), **shared)
    return forms.CharField(max_length=known.max_length, **shared)


def option_field(option: Option) -> forms.Field:
    shared: dict[str, Any] = {
        "label": _("Option %(name)s") % {"name": option.name},
        "help_text": option.summary,
        "required": False,
        "show_hidden_initial": True,
    }
    if option.choices:
        return forms.ChoiceField(choices=[(choice, choice) for choice in option.choices], **shared)
    return forms.CharField(max_length=500, **shared)


class SettingsForm(forms.Form):
    """Only what was changed since the form was shown is sent on: two people do not undo each other."""

    def __init__(self, data: Any, *, model: type[Configured], row: Configured | None, zone: ZoneInfo) -> None:
        super().__init__(data, label_suffix="")
        self.is_new, self.keys = row is None, dict[str, str]()
        if row is None:
            self.fields["slug"] = forms.CharField(
                label=_("Name in addresses"),
                max_length=60,
                help_text=_("Small letters, digits, single hyphens."),
            )
        for name, setting in model.SETTINGS.items():
            field = setting_field(model, name, zone)
            # How teams enter is said where organisers decide on them.
            if setting.page == "settings" and field is not None:
                self.fields[name] = field
                self.keys[name] = model.key(name)
                self.initial[name] = getattr(row, name) if row else model.field(name).get_default()
        self.options: dict[str, str] = {}
        if isinstance(row, Task):
            chosen = self.fields.get("type")
            if row.declaration_id and isinstance(chosen, forms.ChoiceField):
                chosen.choices = [(row.type, f"{row.task_type.title} ({row.type})")]
            self.options = dict(row.options)
            shown = printed_options(row.options)
            for option in row.task_type.all_options:
                name = f"{OPTION}{option.name}"
                self.fields[name] = option_field(option)
                self.initial[name] = option.value_of(shown)

    def values(self, prefix: str) -> dict[str, Any]:
        chosen = self.changed_data if not self.is_new else self.cleaned_data
        found = {
            f"{prefix}.{self.keys[name]}": None if self.cleaned_data[name] == "" else self.cleaned_data[name]
            for name in chosen
            if name in self.keys
        }
        if self.is_new:
            return {key: value for key, value in found.items() if value is not None}
        changed = [name.removeprefix(OPTION) for name in chosen if name.startswith(OPTION)]
        if changed:
            given = {name: self.cleaned_data[f"{OPTION}{name}"] for name in changed}
            options = {name: value for name, value in {**self.options, **given}.items() if value}
            found[f"{prefix}.options"] = options or None
        return found

    def add_faults(self, faults: list[Fault], prefix: str) -> None:
        fields = {key: name for name, key in self.keys.items()} | ({"slug": "slug"} if self.is_new else {})
        for fault in faults:
            key = fault.key.removeprefix(f"{prefix}.")
            self.add_error(fields.get(key), said(fault))


def said(fault: Fault) -> str:
    found = sentence(fault.message)
    if not fault.expected:
        return found
    return _("%(found)s Expected: %(expected)s.") % {"found": found, "expected": fault.expected}
