"""Send e-mails to teams, and retry failed e-mails."""

from typing import Any

from django import forms
from django.db.models import BigIntegerField
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import (
    ActForm,
    UserAction,
    build_long_text_field,
    build_rehearsed_action,
)
from citeboard.core.words import count_with_noun, format_as_sentence
from citeboard.ops import group_mails
from tasks import models
from tasks.jobs.mails import requeue_failed_mails
from tasks.seasons.access import require_staff


class MailForm(ActForm):
    """The text of an e-mail, and the teams whose members receive the e-mail."""

    group = forms.ChoiceField(label=_("To"), choices=group_mails.TeamGroup.choices)
    phase = forms.IntegerField(
        label=_("By runs and results of"),
        required=False,
        min_value=1,
        max_value=BigIntegerField.MAX_BIGINT,
    )
    subject = forms.CharField(
        label=_("Subject"), max_length=group_mails.MAX_MAIL_SUBJECT_LENGTH
    )
    text = build_long_text_field(
        _("Text, without markup"), group_mails.MAX_MAIL_TEXT_LENGTH, 8
    )
    api = {
        "phase": "The number of a phase, whose runs and results decide; all, where it is left out."
    }

    def __init__(
        self, data: Any = None, files: Any = None, *, of: models.Season
    ) -> None:
        super().__init__(data, of=of)
        phases = models.Phase.objects.filter(task__season=of).order_by(
            "task__position", "position"
        )
        named = [
            (phase.pk, f"{phase.task}, {phase}")
            for phase in phases.select_related("task")
        ]
        self.fields["phase"].widget = forms.Select(
            choices=[("", _("all phases")), *named]
        )


SEND_MAIL_TO_TEAMS = build_rehearsed_action(
    group_mails.mail_teams,
    "Send a mail to the members of teams that a query finds; for organisers.",
    _("The e-mail goes out after ten minutes; until then it can be taken back."),
    form=MailForm,
    subject="season",
)
RETRY_FAILED_MAILS = UserAction(
    requeue_failed_mails,
    "Try e-mails again that could not be sent; for staff.",
    lambda mails, _filled: format_as_sentence(
        gettext("%(mails)s will be tried again")
        % {"mails": count_with_noun(mails, "e-mail")}
    ),
    role=require_staff,
    subject="by",
)
