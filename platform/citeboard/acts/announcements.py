"""Publish, edit and delete announcements on the page of a season."""

from django import forms
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import ActForm, build_helper_action, build_long_text_field
from tasks.seasons import announcements as news


def build_announcement_text_field(*, required: bool) -> forms.CharField:
    help_text = _("Markdown. Leave it empty to remove the announcement.")
    return build_long_text_field(
        _("Announcement"),
        news.MAX_MESSAGE_CHARACTERS,
        8,
        required=required,
        help_text=help_text,
    )


class AnnouncementForm(ActForm):
    """A new announcement, which appears at the top of a season's page."""

    text = build_announcement_text_field(required=False)
    api = {"text": {"help_text": "Markdown; empty to take it away.", "required": True}}
    begins_with = {"text": "announcement"}


class EditForm(ActForm):
    """The new text of a published announcement."""

    text = build_announcement_text_field(required=True)
    api = {"text": "Markdown."}
    begins_with = {"text": "text"}


PUBLISH_ANNOUNCEMENT = build_helper_action(
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
EDIT_ANNOUNCEMENT = build_helper_action(
    news.edit_announcement,
    "Change what an announcement says; for organisers.",
    _("The announcement is edited; its earlier text can still be read."),
    form=EditForm,
    subject="announcement",
)
WITHDRAW_ANNOUNCEMENT = build_helper_action(
    news.take_back_announcement,
    "Take an announcement back; for organisers.",
    _("The announcement is taken back."),
    subject="announcement",
)
