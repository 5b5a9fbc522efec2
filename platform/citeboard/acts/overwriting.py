"""Forms that several people may edit at the same time.

Users must see a value that another user saved before they can overwrite the value.
"""

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _

from citeboard.acts.declared import DateTimeTextField


def _format_posted_value(value: Any) -> str:
    """Return the text that a form posts for a field's value. The text contains each
    list item on a separate line.
    """
    if value is None:
        return ""
    values = value if isinstance(value, list) else [value]
    return "\n".join(str(value).replace("\r\n", "\n").strip() for value in values)


class OverwritingForm(forms.Form):
    """A form that detects concurrent edits.

    Fields with ``show_hidden_initial`` also send the value that the form showed.
    """

    def displayed_time_zone(self, field: DateTimeTextField) -> ZoneInfo:
        return field.zone

    def has_concurrent_edits(self) -> bool:
        """Return True if another user has saved a new value since the form was
        rendered.

        The error message contains the new value. If the user submits the form again,
        the user's value replaces the new value.
        """
        newer = {}
        for name in self.changed_data:
            field, shown = self.fields[name], self.add_initial_prefix(name)
            if not field.show_hidden_initial or shown not in self.data:
                continue
            hidden = field.hidden_widget()
            value = self.get_initial_for_field(field, name)
            if isinstance(field, DateTimeTextField) and isinstance(value, dt.datetime):
                value = field.written(value, self.displayed_time_zone(field))
            present = _format_posted_value(field.prepare_value(value))
            before = _format_posted_value(
                hidden.value_from_datadict(self.data, self.files, shown)
            )
            if present not in (before, _format_posted_value(self[name].data)):
                newer[shown] = hidden, present
                message = _(
                    "Somebody has changed it meanwhile to “%(value)s”. Save again to replace that."
                )
                self.add_error(name, message % {"value": present})
        if newer:
            data = QueryDict(mutable=True)
            for name in self.data:
                data.setlist(name, self.data.getlist(name))  # type: ignore[attr-defined]
            self.data = data
            for shown, (hidden, present) in newer.items():
                is_list = isinstance(hidden, forms.MultipleHiddenInput)
                data.setlist(shown, present.split("\n") if is_list else [present])
        return bool(newer)
