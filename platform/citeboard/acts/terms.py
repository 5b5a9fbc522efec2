"""Publish and accept the terms of a season."""

from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import (
    ActForm,
    DateTimeTextField,
    build_reader_action,
    build_rehearsed_action,
)
from citeboard.teams.accounts import ProfileForm
from citeboard.teams.models import FIELDS_ASKED_BY_TERMS
from tasks import models
from tasks.registration import entries


class TermsForm(ActForm):
    """The terms of a season. A changed text becomes a new version of the terms."""

    text = forms.CharField(
        label=_("Terms"),
        max_length=entries.MAX_TERMS_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 16}),
        help_text=_(
            "Markdown. Another text is a new version, to be accepted before data are "
            "released again."
        ),
        error_messages={"required": _("Write the terms.")},
    )
    counts_from = DateTimeTextField(
        label=_("Counts from"),
        required=False,
        help_text=_(
            "Until then the previous version applies to those who have accepted it. "
            "Empty: the new version applies at once, to everybody."
        ),
    )
    api = {"text": "Markdown."}

    def __init__(
        self, data: Any = None, files: Any = None, *, of: models.Season
    ) -> None:
        current = entries.get_newest_terms(of)
        super().__init__(data, of=of, initial={"text": current.text if current else ""})


class AcceptForm(ActForm):
    """The version of the terms that a user accepts, and the personal data that the
    season requires.
    """

    version = forms.IntegerField(
        min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput
    )
    affiliation, country, legal_name = (
        ProfileForm.base_fields[name] for name in FIELDS_ASKED_BY_TERMS
    )
    api = dict.fromkeys(
        FIELDS_ASKED_BY_TERMS,
        "Where the season asks for it; empty: as your account has it.",
    )

    def __init__(
        self, data: Any = None, files: Any = None, *, of: models.Season, **options: Any
    ) -> None:
        super().__init__(data, of=of, **options)
        for name in FIELDS_ASKED_BY_TERMS:
            self.fields[name].required = True
            if name not in of.asks:
                del self.fields[name]


PUBLISH_TERMS = build_rehearsed_action(
    entries.publish_terms,
    "Publish the terms of a season, which whoever takes part accepts; for organisers.",
    lambda terms, _filled: (
        _("Version %(number)s of the terms is published.")
        if terms.counts_from and terms.counts_from > timezone.now()
        else _("Version %(number)s of the terms applies now.")
    ),
    form=TermsForm,
    subject="season",
)
ACCEPT_TERMS = build_reader_action(
    lambda season, version, by, **given: entries.accept_terms(
        season=season, number=version, user=by, **given
    ),
    "Accept the terms of a season.",
    _("You have accepted the terms of %(season)s."),
    form=AcceptForm,
    subject="season",
)
