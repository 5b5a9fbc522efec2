"""Report a page to the operators of the site."""

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, long_text
from tasks.seasons import announcements as news


class ReportForm(ActForm):
    """A report of a problem, with the URL of the page that it concerns."""

    address = forms.CharField(
        label=_("Page that it is about"),
        required=False,
        max_length=news.MAX_ADDRESS,
        help_text=_("Its address."),
    )
    text = long_text(
        _("What is wrong"),
        news.MAX_TEXT,
        6,
        help_text=_("The site's staff read it, with your name and address."),
    )
    api = {"address": "The page."}
