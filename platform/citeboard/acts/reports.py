"""Report a page to the operators of the site."""

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, build_long_text_field
from tasks.seasons import announcements as news


class ReportForm(ActForm):
    """A report of a problem, with the URL of the page that it concerns."""

    address = forms.CharField(
        label=_("Page that it is about"),
        required=False,
        max_length=news.MAX_REPORTED_ADDRESS_CHARACTERS,
        help_text=_("Its address."),
    )
    text = build_long_text_field(
        _("What is wrong"),
        news.MAX_MESSAGE_CHARACTERS,
        6,
        help_text=_("The site's staff read it, with your name and address."),
    )
    api = {"address": "The page."}
