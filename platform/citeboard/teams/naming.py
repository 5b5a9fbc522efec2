"""What a person is called, asked at the sign-up, and where they are from; all of it is changed later."""

from __future__ import annotations

import re

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from citeboard.core import language
from citeboard.teams.models import User


class NameForm(forms.Form):
    """One field, which the sign-up's form takes over."""

    name = forms.CharField(
        label=gettext_lazy("Your name"),
        required=False,
        max_length=120,
        help_text=gettext_lazy(
            "Your team and the organisers of its seasons see it. Without one they see the part of your "
            "address before the @."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )

    def signup(self, request: HttpRequest, user: User) -> None:
        user.language = translation.get_language()
        user.save(update_fields=["language"])
        rename(user=user, name=self.cleaned_data["name"])


class ProfileForm(NameForm):
    affiliation = forms.CharField(
        label=gettext_lazy("Affiliation"),
        required=False,
        max_length=200,
        help_text=gettext_lazy(
            "Organisers of the seasons that your team enters see it, with your name and address."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )
    orcid = forms.CharField(
        label=gettext_lazy("ORCID iD"),
        required=False,
        max_length=60,
        help_text=gettext_lazy("Such as 0000-0002-1825-0097."),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        choices=settings.LANGUAGES,
        required=False,
        help_text=gettext_lazy("Of e-mails to you, and of pages wherever you sign in."),
    )
    is_listed = forms.BooleanField(
        label=gettext_lazy(
            "My name, affiliation and ORCID iD may be published in lists of a season's participants."
        ),
        required=False,
    )

    def clean_orcid(self) -> str:
        return checked_orcid(self.cleaned_data["orcid"])


def checked_orcid(text: str) -> str:
    """The iD as it is written, from an iD or its address. Raises ValidationError where a digit is wrong.

    The last of its sixteen digits follows from the others by ISO 7064, MOD 11-2.
    """
    digits = text.strip().rstrip("/").rpartition("/")[2].replace("-", "").upper()
    if not digits:
        return ""
    if not re.fullmatch(r"[0-9]{15}[0-9X]", digits):
        raise ValidationError(_("An ORCID iD has sixteen digits, such as 0000-0002-1825-0097."))
    total = 0
    for digit in digits[:-1]:
        total = (total + int(digit)) * 2
    if digits[-1] != "0123456789X"[(12 - total % 11) % 11]:
        raise ValidationError(_("This is no ORCID iD; a digit is mistyped."))
    return "-".join(digits[start : start + 4] for start in range(0, 16, 4))


def describe(*, user: User, name: str, affiliation: str, orcid: str, language: str, is_listed: bool) -> None:
    user.name, user.affiliation = " ".join(name.split()), " ".join(affiliation.split())
    user.orcid, user.language, user.is_listed = orcid, language or user.language, is_listed
    user.save(update_fields=["name", "affiliation", "orcid", "language", "is_listed"])


def rename(*, user: User, name: str) -> None:
    user.name = " ".join(name.split())
    user.save(update_fields=["name"])


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def name(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)
    facts = {field: getattr(request.user, field) for field in ProfileForm.base_fields}
    facts["language"] = facts["language"] or settings.LANGUAGE_CODE
    form = ProfileForm(request.POST if request.method == "POST" else None, initial=facts)
    if request.method == "POST" and form.is_valid():
        describe(user=request.user, **form.cleaned_data)
        with translation.override(form.cleaned_data["language"] or translation.get_language()):
            messages.success(request, _("You are called %(name)s here now.") % {"name": request.user})
        response = redirect("account-name")
        if form.cleaned_data["language"]:
            language.remember(response, form.cleaned_data["language"])
        return response
    return render(request, "account/name.html", {"form": form}, status=422 if form.errors else 200)
