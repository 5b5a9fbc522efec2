from typing import Any

from django import forms

from citeboard.teams.models import Token

#: In days; an empty choice is for ever.
LIFETIMES = [
    ("", "never"),
    ("7", "in a week"),
    ("30", "in 30 days"),
    ("90", "in 90 days"),
    ("365", "in a year"),
]


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]
    """What the token is for, in its owner's words, what it may do, and until when."""

    lifetime = forms.TypedChoiceField(
        label="When does it expire?", choices=LIFETIMES, coerce=int, empty_value=None, required=False
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
        labels = {"name": "What is it for?", "scope": "What may it do?"}
        help_texts = {"name": "For example the machine or the program that will use it."}
