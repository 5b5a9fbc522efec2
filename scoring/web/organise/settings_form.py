"""The form of a season's, a task's or a phase's settings."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.db.models import Field, Model
from django.utils.translation import gettext as _

from citeboard.core.words import sentence
from scoring.web.organise.setting_fields import option_field, setting_field
from tasks.models import Season, Task
from tasks.seasons.file.entries import key_of, settings_of
from tasks.seasons.file.load import Fault
from tasks.types.printed_options import printed_options

#: How teams enter is said where organisers decide on them.
OF_TEAMS = ("registration", "entry_list", "max_team_size", "members_until")
OPTION = "option-"


class SettingsForm(forms.Form):
    """Only what was changed since the form was shown is sent on: two people do not undo each other."""

    def __init__(self, data: Any, *, model: type[Model], row: Model | None, zone: ZoneInfo) -> None:
        super().__init__(data, label_suffix="")
        self.is_new, self.keys = row is None, dict[str, str]()
        if row is None:
            self.fields["slug"] = forms.CharField(
                label=_("Name in addresses"),
                max_length=60,
                help_text=_("Small letters, digits, single hyphens."),
            )
        for name, default in settings_of(model).items():
            known = model._meta.get_field(name)  # noqa: SLF001  (documented)
            assert isinstance(known, Field)
            field = None if model is Season and name in OF_TEAMS else setting_field(known, zone)
            if field is not None:
                self.fields[name] = field
                self.keys[name] = key_of("", name).removeprefix(".")
                self.initial[name] = getattr(row, name) if row else _first(known, default)
        self.options: dict[str, str] = {}
        if isinstance(row, Task):
            self._add_options(row)

    def _add_options(self, task: Task) -> None:
        self.options = dict(task.options)
        shown = printed_options(task.options)
        for option in task.task_type.options:
            name = f"{OPTION}{option.name}"
            self.fields[name] = option_field(option)
            self.initial[name] = option.value_of(shown)

    def values(self, prefix: str) -> dict[str, Any]:
        """What was changed, by the keys of a season file; of what is new all that is not empty."""
        chosen = self.changed_data if not self.is_new else self.cleaned_data
        found = {f"{prefix}.{self.keys[name]}": self._value(name) for name in chosen if name in self.keys}
        if self.is_new:
            return {key: value for key, value in found.items() if value is not None}
        changed = [name.removeprefix(OPTION) for name in chosen if name.startswith(OPTION)]
        if changed:
            given = {name: self.cleaned_data[f"{OPTION}{name}"] for name in changed}
            options = {name: value for name, value in {**self.options, **given}.items() if value}
            found[f"{prefix}.options"] = options or None
        return found

    def add_faults(self, faults: list[Fault], prefix: str) -> None:
        """Each at its field."""
        fields = {key: name for name, key in self.keys.items()} | ({"slug": "slug"} if self.is_new else {})
        for fault in faults:
            key = fault.key.removeprefix(f"{prefix}.")
            self.add_error(fields.get(key), said(fault))

    def _value(self, name: str) -> Any:
        value = self.cleaned_data[name]
        return None if value == "" else value


def said(fault: Fault) -> str:
    """What was found, and what was expected instead."""
    found = sentence(fault.message)
    if not fault.expected:
        return found
    return _("%(found)s Expected: %(expected)s.") % {"found": found, "expected": fault.expected}


def _first(known: Field[Any, Any], default: Any) -> Any:
    """What stands in the form of a new row: times and titles are the organiser's own."""
    return known.get_default() if known.name in ("title", "rules", "opens", "closes") else default
