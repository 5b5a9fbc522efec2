"""Publish, edit and delete announcements on the page of a season."""

from django import forms
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import ActForm, by_helpers, long_text
from tasks.seasons import announcements as news


def _announcement_text(*, required: bool) -> forms.CharField:
    help_text = _("Markdown. Leave it empty to remove the announcement.")
    return long_text(
        _("Announcement"), news.MAX_TEXT, 8, required=required, help_text=help_text
    )


class AnnouncementForm(ActForm):
    """A new announcement, which appears at the top of a season's page."""

    text = _announcement_text(required=False)
    api = {"text": {"help_text": "Markdown; empty to take it away.", "required": True}}
    begins_with = {"text": "announcement"}


class EditForm(ActForm):
    """The new text of a published announcement."""

    text = _announcement_text(required=True)
    api = {"text": "Markdown."}
    begins_with = {"text": "text"}


ANNOUNCE = by_helpers(
    news.announce,
    "Announce something on a season's page; for organisers.",
    lambda season, _filled: (
        gettext("The announcement stands on the season's page now.")
        if season.announcement
        else gettext("The announcement is removed.")
    ),
    form=AnnouncementForm,
    subject="season",
)
EDIT_ANNOUNCEMENT = by_helpers(
    news.edit_announcement,
    "Change what an announcement says; for organisers.",
    _("The announcement is edited; its earlier text can still be read."),
    form=EditForm,
    subject="announcement",
)
TAKE_BACK_ANNOUNCEMENT = by_helpers(
    news.take_back_announcement,
    "Take an announcement back; for organisers.",
    _("The announcement is taken back."),
    subject="announcement",
)
