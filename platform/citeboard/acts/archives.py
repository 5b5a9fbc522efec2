"""Create the archive of a season."""

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, build_organiser_action
from citeboard.background.kinds import queue_archive


class ArchiveForm(ActForm):
    """The options of a season's archive."""

    version = forms.CharField(
        label=_("Version, of a deposit"), max_length=40, initial="1"
    )
    with_gold = forms.BooleanField(
        label=_("With all gold that no phase keeps secret"), required=False
    )
    api = {
        "version": {"required": False, "default": "1", "help_text": "Of a deposit."},
        "with_gold": {
            "default": False,
            "help_text": "With all gold that no phase keeps secret.",
        },
    }


MAKE_ARCHIVE = build_organiser_action(
    queue_archive,
    "Make the archive of what is public of a season; for organisers.",
    form=ArchiveForm,
    subject="season",
)
