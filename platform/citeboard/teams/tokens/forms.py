from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.teams.models import Token

#: In days; an empty choice is for ever.
LIFETIMES = [
    ("", _("never")),
    ("7", _("in a week")),
    ("30", _("in 30 days")),
    ("90", _("in 90 days")),
    ("365", _("in a year")),
]


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]
    lifetime = forms.TypedChoiceField(
        label=_("When does it expire?"), choices=LIFETIMES, coerce=int, empty_value=None, required=False
    )

    def __init__(self, data: Any = None) -> None:
        super().__init__(data, label_suffix="")
        # A program that was written before there were scopes may leave it out.
        self.fields["scope"].required = False

    def clean_scope(self) -> str:
        return self.cleaned_data["scope"] or Token.Scope.SUBMIT

    class Meta:
        model = Token
        fields = ["name", "scope"]
        labels = {"name": _("What is it for?"), "scope": _("What may it do?")}
        help_texts = {"name": _("For example the machine or the program that will use it.")}
