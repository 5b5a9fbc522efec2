"""Acknowledge failures of runs, and withdraw acknowledgements."""

from django import forms
from django.db.models import BigIntegerField
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, build_helper_action
from citeboard.core.query import parse_whole_number
from citeboard.teams.models import User
from tasks import models
from tasks.models.jobs import MAX_ACKNOWLEDGEMENT_CHARACTERS
from tasks.submissions import run_acts


class AcknowledgeForm(ActForm):
    """The failed run or job that an organiser acknowledges, and a note."""

    submission = forms.IntegerField(min_value=1, max_value=BigIntegerField.MAX_BIGINT)
    job = forms.IntegerField(
        required=False, min_value=1, max_value=BigIntegerField.MAX_BIGINT
    )
    note = forms.CharField(required=False, max_length=MAX_ACKNOWLEDGEMENT_CHARACTERS)


def _acknowledge(
    *, season: models.Season, submission: int, note: str, by: User, job: object = None
) -> models.Acknowledgement:
    run = get_object_or_404(
        models.Submission, pk=submission, phase__task__season=season
    )
    scoring = (
        get_object_or_404(models.Job, pk=parse_whole_number(str(job)), submission=run)
        if job is not None
        else None
    )
    return run_acts.acknowledge_failure(run=run, job=scoring, note=note, by=by)


ACKNOWLEDGE_FAILURE = build_helper_action(
    _acknowledge,
    "Acknowledge a failure; it comes back if it fails again.",
    _("Acknowledged. It comes back if it fails again."),
    form=AcknowledgeForm,
    subject="season",
)
WITHDRAW_ACKNOWLEDGEMENT = build_helper_action(
    run_acts.take_acknowledgement_back,
    "Let a failure need attention again.",
    _("The failure needs attention again."),
    subject="acknowledgement",
)
