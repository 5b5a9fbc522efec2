"""Fields of the declaration form for the section [task.view]."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _, gettext_lazy

from citeboard.acts.declared import TextLinesField
from tasks.types.declared.read_view import VIEW_TABLE_KEY
from tasks.types.toml_lines import TomlKeyPath
from tasks.types.views import (
    PAIR_LAYOUT,
    PASSAGE_LAYOUT,
    POST_LAYOUT,
    REFERENCE_LAYOUT,
    TABLE_LAYOUT,
)

JsonObject = dict[str, Any]
VIEW_KIND_CHOICES = [
    ("", gettext_lazy("what suits the form and the fields")),
    (PASSAGE_LAYOUT, gettext_lazy("a passage of text")),
    (POST_LAYOUT, gettext_lazy("a post")),
    (PAIR_LAYOUT, gettext_lazy("two texts side by side")),
    (REFERENCE_LAYOUT, gettext_lazy("a bibliographic reference")),
    (TABLE_LAYOUT, gettext_lazy("a table of its fields")),
]
VIEW_KEYS_BY_FIELD: Mapping[str, Mapping[str, str]] = {
    "view_first": {PASSAGE_LAYOUT: "text", POST_LAYOUT: "text", PAIR_LAYOUT: "first"},
    "view_second": {PAIR_LAYOUT: "second"},
}


class FieldLabelsField(TextLinesField):
    """A form field with lines such as `tweet_text = Post`.

    Each line of the text contains a field of the gold and the label that readers see.
    """

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return "\n".join(f"{name} = {label}" for name, label in value.items())
        return value

    def clean(self, value: Any) -> Any:
        labels: dict[str, str] = {}
        for line in super().clean(value) or ():
            name, sign, label = (part.strip() for part in line.partition("="))
            if not (sign and name and label):
                message = _("“%(line)s” is no line such as tweet_text = Post.")
                raise ValidationError(message % {"line": line[:100]})
            labels[name] = label
        return labels


def add_view_fields(
    form: forms.Form, task: JsonObject, fields: list[tuple[str, str]]
) -> None:
    view = task.get(VIEW_TABLE_KEY, {})
    kind = view.get("as", "")
    labels = view.get("labels", {})
    form.initial.update(
        {
            "view_as": kind,
            "view_labels": {
                name: label for name, label in labels.items() if isinstance(label, str)
            },
            **{
                name: view.get(roles.get(kind, ""), "")
                for name, roles in VIEW_KEYS_BY_FIELD.items()
            },
        }
    )
    form.fields["view_as"] = forms.ChoiceField(
        label=_("An instance is drawn as"), choices=VIEW_KIND_CHOICES, required=False
    )
    words = {
        "view_first": _("Field with the passage, the post or the first of two texts"),
        "view_second": _("Field with the second of two texts"),
    }
    for name, label in words.items():
        own = form.initial[name]
        more = [(own, own)] if own and own not in dict(fields) else []
        form.fields[name] = forms.ChoiceField(
            label=label, choices=[("", _("none")), *fields, *more], required=False
        )
    form.fields["view_labels"] = FieldLabelsField(
        label=_("Names of fields for readers"),
        required=False,
        help_text=_(
            "A field and its name, one a line: tweet_text = Post. No number depends on "
            "it."
        ),
    )


def apply_view_fields(form: forms.Form, view: JsonObject) -> JsonObject:
    """Return the declaration's table [task.view] with the values of the form.

    Keys of the table [task.view] that have no form field stay unchanged.
    """
    given = form.cleaned_data
    kind = given["view_as"]
    asked = {key for roles in VIEW_KEYS_BY_FIELD.values() for key in roles.values()}
    changed = kind != view.get("as", "")
    kept = {
        name: value
        for name, value in view.items()
        if name not in {*asked, "as", "labels"} and (name == "fields" or not changed)
    }
    said: JsonObject = {"as": kind, **kept}
    for name, roles in VIEW_KEYS_BY_FIELD.items():
        if kind in roles and given[name]:
            said[roles[kind]] = given[name]
    languages = {
        name: own
        for name, own in view.get("labels", {}).items()
        if isinstance(own, dict)
    }
    said["labels"] = {**given["view_labels"], **languages}
    return {name: value for name, value in said.items() if value not in ("", {}, [])}


def find_form_field_of_view_key(path: TomlKeyPath) -> str:
    if path[1:2] != (VIEW_TABLE_KEY,):
        return ""
    key = path[2] if len(path) > 2 else "as"
    if key == "labels":
        return "view_labels"
    return next(
        (name for name, roles in VIEW_KEYS_BY_FIELD.items() if key in roles.values()),
        "view_as",
    )
