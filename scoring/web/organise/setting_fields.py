"""A form field for every setting that a season file has, made from the model that keeps it."""

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.db import models
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from citeboard.core.instants import NoInstant, read_instant, written_instant, zone_name
from citeboard.core.words import sentence
from tasks.models.run_cards import REQUIRABLE
from tasks.types import Option, task_types

#: What the file says in the name of its key, the form says in words; the models name the other fields.
LABELS = {
    "title": gettext_lazy("Title"),
    "summary": gettext_lazy("Summary"),
    "licence": gettext_lazy("Licence"),
    "queue": gettext_lazy("Queue"),
    "opens": gettext_lazy("Opens"),
    "closes": gettext_lazy("Closes"),
    "time_zone": gettext_lazy("Time zone"),
    "runs_per_day": gettext_lazy("Runs per day"),
    "runs_in_total": gettext_lazy("Runs in total"),
    "is_public": gettext_lazy("Public: everybody sees the season"),
    "is_reported_only": gettext_lazy("Shows published results only, without gold"),
    "allows_several_teams": gettext_lazy("A person may take part with more than one team"),
    "split": gettext_lazy("Split: the gold that its runs are scored with"),
    "rules": gettext_lazy("Rule sets, one a line; the first ranks"),
    "type": gettext_lazy("Task type"),
}
BLANK = gettext_lazy("as it follows from the rest")


class MomentField(forms.CharField):
    """An instant as the clocks of a zone show it; another zone may be named behind it."""

    def __init__(self, *, zone: ZoneInfo, **options: Any) -> None:
        self.zone = zone
        written = _("In %(zone)s, such as 2026-05-01 23:59; write AoE or UTC behind it for those.")
        help_text = f"{options.pop('help_text', '')} {written % {'zone': zone_name(zone.key)}}".strip()
        super().__init__(max_length=80, help_text=help_text, **options)

    def prepare_value(self, value: Any) -> Any:
        return written_instant(value, self.zone) if isinstance(value, dt.datetime) else value

    def clean(self, value: Any) -> dt.datetime | None:
        text = super().clean(value)
        try:
            return read_instant(text, self.zone) if text else None
        except NoInstant as refused:
            raise forms.ValidationError(sentence(refused)) from refused


class LinesField(forms.CharField):
    """A list with an entry a line."""

    widget = forms.Textarea(attrs={"rows": 3})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[str] | None:
        lines = [line.strip() for line in super().clean(value).splitlines()]
        return [line for line in lines if line] or None


def setting_field(known: models.Field[Any, Any], zone: ZoneInfo) -> forms.Field | None:
    """None for what no form shows."""
    shared: dict[str, Any] = {
        "label": LABELS.get(known.name, capfirst(str(known.verbose_name))),
        "help_text": str(known.help_text),
        "required": False,
        "show_hidden_initial": True,
    }
    if known.name == "card_required":
        return forms.MultipleChoiceField(
            choices=list(REQUIRABLE.items()), widget=forms.CheckboxSelectMultiple, **shared
        )
    if known.name == "type" or known.choices:
        is_type = known.name == "type"
        choices = _types() if is_type else _choices(known)
        return forms.ChoiceField(choices=choices, **shared | {"required": is_type})
    if isinstance(known, models.BooleanField):
        return forms.BooleanField(**shared)
    if isinstance(known, models.DateTimeField):
        return MomentField(zone=zone, **shared | {"required": not known.null})
    if isinstance(known, models.PositiveIntegerField):
        return forms.IntegerField(min_value=1, **shared)
    if isinstance(known, models.JSONField):
        return LinesField(**shared) if known.get_default() == [] else None
    if isinstance(known, models.TextField):
        return forms.CharField(max_length=50_000, widget=forms.Textarea(attrs={"rows": 6}), **shared)
    return forms.CharField(max_length=known.max_length, **shared | {"required": known.name == "title"})


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


def _types() -> list[tuple[str, str]]:
    return [(slug, f"{known.title} ({slug})") for slug, known in task_types().items()]


def _choices(known: models.Field[Any, Any]) -> list[tuple[str, str]]:
    choices = [(str(value), capfirst(str(words))) for value, words in known.flatchoices]
    return [("", capfirst(str(BLANK))), *choices] if known.blank else choices


class MomentsForm(forms.Form):
    """A form with instants, each as the clocks of one zone show it; another zone may be named behind it."""

    def moment(self, name: str) -> dt.datetime | None:
        """The instant that was given; a field that was left as it was keeps what it does not show."""
        field, known = self.fields[name], self.initial.get(name)
        if known is not None and self.data.get(name) == field.prepare_value(known):
            return known  # type: ignore[no-any-return]
        return self.cleaned_data[name]  # type: ignore[no-any-return]
